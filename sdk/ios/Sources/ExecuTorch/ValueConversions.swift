// SPDX-License-Identifier: BSD-3-Clause
import Foundation

/// A type whose values can be inputs of a method.
public protocol ValueConvertible {
  func asValue() -> Value
}

/// A type to which an output of a method can be converted.
public protocol ValueConstructible {
  /// - Throws: `invalidType` for another kind of value.
  static func from(_ value: Value) throws -> Self
}

/// A type to which all outputs of a method together can be converted.
public protocol ValueSequenceConstructible {
  /// - Throws: `invalidType` for other values, or another number of them.
  static func from(_ values: [Value]) throws -> Self
}

extension ValueConstructible {
  public init(_ value: Value) throws {
    self = try Self.from(value)
  }
}

extension ValueSequenceConstructible {
  public init(_ values: [Value]) throws {
    self = try Self.from(values)
  }
}

/// A type to which one value can be converted also accepts the outputs of a method with a single output.
extension ValueSequenceConstructible where Self: ValueConstructible {
  public static func from(_ values: [Value]) throws -> Self {
    guard values.count == 1 else {
      throw ExecuTorchError(
        code: .invalidType, description: "expected one value to make \(Self.self) of, found \(values.count)")
    }
    return try from(values[0])
  }
}

extension Array: ValueSequenceConstructible where Element: ValueConstructible {
  public static func from(_ values: [Value]) throws -> [Element] {
    try values.map { try Element.from($0) }
  }
}

private func expected<Result>(_ what: Any.Type, _ value: Value, _ found: Result?) throws -> Result {
  guard let found else {
    let type = value.anyTensor.map { "a tensor of \($0.dataType)" } ?? "\(value.tag)"
    throw ExecuTorchError(code: .invalidType, description: "expected a value to make \(what) of, found \(type)")
  }
  return found
}

// MARK: - Conformances

// Only a final class can return its own type if the protocol says `Self`; these classes also offer a convenience
// initialiser.

extension Value: ValueConvertible, ValueConstructible, ValueSequenceConstructible {
  public func asValue() -> Value { self }
  public static func from(_ value: Value) throws -> Value { value }
}

extension AnyTensor: ValueConvertible, ValueConstructible, ValueSequenceConstructible {
  public func asValue() -> Value { Value(self) }
  public static func from(_ value: Value) throws -> AnyTensor { try expected(AnyTensor.self, value, value.anyTensor) }

  public convenience init(_ value: Value) throws { self.init(try AnyTensor.from(value)) }
  public convenience init(_ values: [Value]) throws { self.init(try AnyTensor.from(values)) }
}

extension Tensor: ValueConvertible, ValueConstructible, ValueSequenceConstructible {
  public func asValue() -> Value { Value(anyTensor) }
  public static func from(_ value: Value) throws -> Tensor<T> { try expected(Tensor<T>.self, value, value.tensor()) }

  public convenience init(_ value: Value) throws { self.init(try Tensor<T>.from(value)) }
  public convenience init(_ values: [Value]) throws { self.init(try Tensor<T>.from(values)) }
}

extension String: ValueConvertible, ValueConstructible, ValueSequenceConstructible {
  public func asValue() -> Value { Value(self) }
  public static func from(_ value: Value) throws -> String { try expected(String.self, value, value.string) }
}

extension Bool: ValueConvertible, ValueConstructible, ValueSequenceConstructible {
  public func asValue() -> Value { Value(self) }
  public static func from(_ value: Value) throws -> Bool {
    try expected(Bool.self, value, value.isBoolean ? value.boolean : nil)
  }
}

extension Double: ValueConvertible, ValueConstructible, ValueSequenceConstructible {
  public func asValue() -> Value { Value(self) }
  public static func from(_ value: Value) throws -> Double {
    try expected(Double.self, value, value.isDouble ? value.double : nil)
  }
}

extension Float: ValueConvertible, ValueConstructible, ValueSequenceConstructible {
  public func asValue() -> Value { Value(self) }
  public static func from(_ value: Value) throws -> Float {
    try expected(Float.self, value, value.isFloat ? value.float : nil)
  }
}

/// Integers of every width. A value that does not fit is of the wrong type.
extension ValueConvertible where Self: FixedWidthInteger {
  /// - Precondition: the number is at most `Int.max`, the largest one that the runtime has.
  public func asValue() -> Value { Value(Int(self)) }
}

extension ValueConstructible where Self: FixedWidthInteger {
  public static func from(_ value: Value) throws -> Self {
    try expected(Self.self, value, value.isInteger ? Self(exactly: value.integer) : nil)
  }
}

extension Int: ValueConvertible, ValueConstructible, ValueSequenceConstructible {}
extension Int8: ValueConvertible, ValueConstructible, ValueSequenceConstructible {}
extension Int16: ValueConvertible, ValueConstructible, ValueSequenceConstructible {}
extension Int32: ValueConvertible, ValueConstructible, ValueSequenceConstructible {}
extension Int64: ValueConvertible, ValueConstructible, ValueSequenceConstructible {}
extension UInt: ValueConvertible, ValueConstructible, ValueSequenceConstructible {}
extension UInt8: ValueConvertible, ValueConstructible, ValueSequenceConstructible {}
extension UInt16: ValueConvertible, ValueConstructible, ValueSequenceConstructible {}
extension UInt32: ValueConvertible, ValueConstructible, ValueSequenceConstructible {}
extension UInt64: ValueConvertible, ValueConstructible, ValueSequenceConstructible {}

extension NSNumber: ValueConvertible, ValueConstructible, ValueSequenceConstructible {
  public func asValue() -> Value { Value(self) }
  public static func from(_ value: Value) throws -> Self { try expected(Self.self, value, value.scalar as? Self) }
}
