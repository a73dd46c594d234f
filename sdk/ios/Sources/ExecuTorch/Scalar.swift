// SPDX-License-Identifier: BSD-3-Clause
import Foundation

/// A Swift type that a tensor's elements can have.
public protocol Scalar: Sendable {
  static var dataType: DataType { get }
  func asNSNumber() -> NSNumber
}

extension UInt8: Scalar {
  public static var dataType: DataType { .byte }
  public func asNSNumber() -> NSNumber { NSNumber(value: self) }
}

extension Int8: Scalar {
  public static var dataType: DataType { .char }
  public func asNSNumber() -> NSNumber { NSNumber(value: self) }
}

extension Int16: Scalar {
  public static var dataType: DataType { .short }
  public func asNSNumber() -> NSNumber { NSNumber(value: self) }
}

extension Int32: Scalar {
  public static var dataType: DataType { .int }
  public func asNSNumber() -> NSNumber { NSNumber(value: self) }
}

extension Int64: Scalar {
  public static var dataType: DataType { .long }
  public func asNSNumber() -> NSNumber { NSNumber(value: self) }
}

extension Int: Scalar {
  public static var dataType: DataType { .long }
  public func asNSNumber() -> NSNumber { NSNumber(value: self) }
}

extension UInt16: Scalar {
  public static var dataType: DataType { .uInt16 }
  public func asNSNumber() -> NSNumber { NSNumber(value: self) }
}

extension UInt32: Scalar {
  public static var dataType: DataType { .uInt32 }
  public func asNSNumber() -> NSNumber { NSNumber(value: self) }
}

extension UInt64: Scalar {
  public static var dataType: DataType { .uInt64 }
  public func asNSNumber() -> NSNumber { NSNumber(value: self) }
}

extension UInt: Scalar {
  public static var dataType: DataType { .uInt64 }
  public func asNSNumber() -> NSNumber { NSNumber(value: self) }
}

extension Float: Scalar {
  public static var dataType: DataType { .float }
  public func asNSNumber() -> NSNumber { NSNumber(value: self) }
}

extension Double: Scalar {
  public static var dataType: DataType { .double }
  public func asNSNumber() -> NSNumber { NSNumber(value: self) }
}

extension Bool: Scalar {
  public static var dataType: DataType { .bool }
  public func asNSNumber() -> NSNumber { NSNumber(value: self) }
}

// Intel Macs do not have Float16.
#if !(os(macOS) && arch(x86_64))
  @available(iOS 14, macOS 11, tvOS 14, watchOS 7, *)
  extension Float16: Scalar {
    public static var dataType: DataType { .half }
    public func asNSNumber() -> NSNumber { NSNumber(value: Float(self)) }
  }
#endif
