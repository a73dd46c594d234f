// SPDX-License-Identifier: BSD-3-Clause
import Foundation

public enum MLMultiArrayDataType: Int {
  case double = 65600
  case float32 = 65568
  case float16 = 65552
  case int32 = 131104
  case int8 = 131080
}

public class MLMultiArray {
  public let dataPointer: UnsafeMutableRawPointer
  public let dataType: MLMultiArrayDataType
  public let shape: [NSNumber]
  /// In elements.
  public let strides: [NSNumber]
  private let deallocator: ((UnsafeMutableRawPointer) -> Void)?

  public init(
    dataPointer: UnsafeMutableRawPointer, shape: [NSNumber], dataType: MLMultiArrayDataType, strides: [NSNumber],
    deallocator: ((UnsafeMutableRawPointer) -> Void)? = nil
  ) throws {
    self.dataPointer = dataPointer
    self.shape = shape
    self.dataType = dataType
    self.strides = strides
    self.deallocator = deallocator
  }

  deinit {
    deallocator?(dataPointer)
  }
}
