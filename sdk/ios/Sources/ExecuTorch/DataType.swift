// SPDX-License-Identifier: BSD-3-Clause
import CExecuTorch

/// The type of a tensor's elements, with PyTorch's numbers.
public enum DataType: Int8, CaseIterable, Sendable {
  case byte = 0
  case char = 1
  case short = 2
  case int = 3
  case long = 4
  case half = 5
  case float = 6
  case double = 7
  case complexHalf = 8
  case complexFloat = 9
  case complexDouble = 10
  case bool = 11
  case qInt8 = 12
  case qUInt8 = 13
  case qInt32 = 14
  case bFloat16 = 15
  case qUInt4x2 = 16
  case qUInt2x4 = 17
  case bits1x8 = 18
  case bits2x4 = 19
  case bits4x2 = 20
  case bits8 = 21
  case bits16 = 22
  case uInt16 = 27
  case uInt32 = 28
  case uInt64 = 29
  case undefined = 30

  /// `undefined` for a number that this version does not know.
  init(number: et_dtype) {
    self = Int8(exactly: number).flatMap(DataType.init(rawValue:)) ?? .undefined
  }

  /// Whether the elements are of one of Swift's integer types.
  var isInteger: Bool {
    switch self {
    case .byte, .char, .short, .int, .long, .uInt16, .uInt32, .uInt64: return true
    default: return false
    }
  }
}

/// PyTorch's name for the type.
public typealias ScalarType = DataType

/// The size of an element in bytes; 0 for a type that tensors do not have.
public func size(ofDataType dataType: DataType) -> Int {
  dataType == .undefined ? 0 : et_dtype_size(et_dtype(dataType.rawValue))
}

/// The number of elements of a tensor of this shape: the product of its sizes, 1 for `[]`.
public func elementCount(ofShape shape: [Int]) -> Int {
  shape.reduce(1, *)
}

/// Whether and how a tensor's shape may change.
public enum ShapeDynamism: UInt8, Sendable {
  /// Never.
  case `static` = 0
  /// To other shapes with the number of elements that it was made with.
  case dynamicBound = 1
  /// The same as `dynamicBound`, because the runtime has no memory that grows.
  case dynamicUnbound = 2
}
