// SPDX-License-Identifier: BSD-3-Clause
import Foundation

/// The elements of a tensor as numbers, whatever their type: for filling, converting and printing.
protocol Elements {
  func get(_ index: Int) -> NSNumber
  func set(_ index: Int, _ value: NSNumber)
  func set(_ index: Int, _ value: Double)
}

private struct IntegerElements<T: FixedWidthInteger & Scalar>: Elements {
  let base: UnsafeMutablePointer<T>
  func get(_ index: Int) -> NSNumber { base[index].asNSNumber() }
  func set(_ index: Int, _ value: NSNumber) {
    // 64-bit integers are not converted through Double, which would round them.
    if CFNumberIsFloat(value) {
      set(index, value.doubleValue)
    } else if value.isUnsignedAndLarge {
      base[index] = T(truncatingIfNeeded: value.uint64Value)
    } else {
      base[index] = T(truncatingIfNeeded: value.int64Value)
    }
  }
  func set(_ index: Int, _ value: Double) {
    base[index] = T(exactly: value.rounded(.towardZero)) ?? (value > 0 ? T.max : value < 0 ? T.min : 0)
  }
}

private struct FloatElements<T: BinaryFloatingPoint & Scalar>: Elements {
  let base: UnsafeMutablePointer<T>
  func get(_ index: Int) -> NSNumber { base[index].asNSNumber() }
  func set(_ index: Int, _ value: NSNumber) { base[index] = T(value.doubleValue) }
  func set(_ index: Int, _ value: Double) { base[index] = T(value) }
}

private struct BoolElements: Elements {
  let base: UnsafeMutablePointer<UInt8>
  func get(_ index: Int) -> NSNumber { NSNumber(value: base[index] != 0) }
  func set(_ index: Int, _ value: NSNumber) { base[index] = value.doubleValue != 0 ? 1 : 0 }
  func set(_ index: Int, _ value: Double) { base[index] = value != 0 ? 1 : 0 }
}

/// Half-precision elements as bits: IEEE 754 binary16, or bfloat16, the upper half of a Float. Not every system has
/// Float16.
private struct HalfElements: Elements {
  let base: UnsafeMutablePointer<UInt16>
  let isBrain: Bool
  func get(_ index: Int) -> NSNumber {
    NSNumber(value: isBrain ? Float(bitPattern: UInt32(base[index]) << 16) : float(fromHalf: base[index]))
  }
  func set(_ index: Int, _ value: NSNumber) { set(index, value.doubleValue) }
  func set(_ index: Int, _ value: Double) {
    base[index] = isBrain ? brainBits(of: Float(value)) : halfBits(of: Float(value))
  }
}

/// Calls `body` with the elements at `base`.
/// - Precondition: `dataType` is a type of numbers or Booleans.
func withElements<Result>(
  of dataType: DataType, at base: UnsafeMutableRawPointer, _ body: (any Elements) throws -> Result
) rethrows -> Result {
  guard let elements = elements(of: dataType, at: base) else {
    preconditionFailure("elements of the type \(dataType) cannot be read as numbers")
  }
  return try body(elements)
}

/// Nil for types whose elements are not single numbers.
func elements(of dataType: DataType, at base: UnsafeMutableRawPointer) -> (any Elements)? {
  func integers<T: FixedWidthInteger & Scalar>(_: T.Type) -> any Elements {
    IntegerElements<T>(base: base.assumingMemoryBound(to: T.self))
  }
  switch dataType {
  case .byte: return integers(UInt8.self)
  case .char: return integers(Int8.self)
  case .short: return integers(Int16.self)
  case .int: return integers(Int32.self)
  case .long: return integers(Int64.self)
  case .uInt16: return integers(UInt16.self)
  case .uInt32: return integers(UInt32.self)
  case .uInt64: return integers(UInt64.self)
  case .float: return FloatElements<Float>(base: base.assumingMemoryBound(to: Float.self))
  case .double: return FloatElements<Double>(base: base.assumingMemoryBound(to: Double.self))
  case .bool: return BoolElements(base: base.assumingMemoryBound(to: UInt8.self))
  case .half: return HalfElements(base: base.assumingMemoryBound(to: UInt16.self), isBrain: false)
  case .bFloat16: return HalfElements(base: base.assumingMemoryBound(to: UInt16.self), isBrain: true)
  default: return nil
  }
}

private func CFNumberIsFloat(_ number: NSNumber) -> Bool {
  let type = UInt8(bitPattern: number.objCType.pointee)
  return type == UInt8(ascii: "f") || type == UInt8(ascii: "d")
}

extension NSNumber {
  fileprivate var isUnsignedAndLarge: Bool {
    UInt8(bitPattern: objCType.pointee) == UInt8(ascii: "Q") && uint64Value > UInt64(Int64.max)
  }
}

private func float(fromHalf bits: UInt16) -> Float {
  let sign: Float = bits >> 15 == 0 ? 1 : -1
  let exponent = Int(bits >> 10 & 31)
  let fraction = Float(bits & 1023)
  switch exponent {
  case 0: return sign * fraction * Float(sign: .plus, exponent: -24, significand: 1)
  case 31: return fraction != 0 ? .nan : sign * .infinity
  default: return sign * Float(sign: .plus, exponent: exponent - 25, significand: 1) * (1024 + fraction)
  }
}

/// Rounds to nearest, ties to even.
private func halfBits(of value: Float) -> UInt16 {
  let sign: UInt16 = value.sign == .minus ? 0x8000 : 0
  let magnitude = value.magnitude
  if value.isNaN { return 0x7E00 }
  if magnitude >= 65520 { return sign | 0x7C00 }
  let smallestNormal: Float = 0x1p-14
  if magnitude < smallestNormal {
    return sign | UInt16((magnitude * 0x1p24).rounded(.toNearestOrEven))
  }
  let exponent = Int(magnitude.exponent)
  let scaled = (magnitude * Float(sign: .plus, exponent: 10 - exponent, significand: 1)).rounded(.toNearestOrEven)
  return sign | UInt16(Int(scaled) - 1024 + (exponent + 15) << 10)
}

private func brainBits(of value: Float) -> UInt16 {
  if value.isNaN { return 0x7FC0 }
  let bits = value.bitPattern
  return UInt16((UInt64(bits) + 0x7FFF + UInt64(bits >> 16 & 1)) >> 16)
}

extension AnyTensor {
  /// A copy with converted elements. Values that fit are converted as in PyTorch: fractions are truncated for integers,
  /// and everything but 0 is true.
  public func copy(to dataType: DataType) -> AnyTensor {
    let result = AnyTensor.empty(like: self, dataType: dataType)
    withElements(of: self.dataType, at: storage.base) { from in
      withElements(of: dataType, at: result.storage.base) { to in
        for index in 0..<count { to.set(index, from.get(index)) }
      }
    }
    return result
  }
}

extension AnyTensor: CustomStringConvertible {
  /// The type, the shape and the first elements.
  public var description: String {
    let shown = 100
    guard let elements = elements(of: dataType, at: storage.base) else {
      return "Tensor(dataType: \(dataType), shape: \(shape), count: \(count))"
    }
    var texts: [String] = []
    layout.forEachOffset { offset in
      guard texts.count < shown else { return }
      texts.append(dataType == .bool ? "\(elements.get(offset).boolValue)" : "\(elements.get(offset))")
    }
    let rest = count > shown ? ", ... \(count - shown) more" : ""
    return "Tensor(dataType: \(dataType), shape: \(shape), scalars: [\(texts.joined(separator: ", "))\(rest)])"
  }
}
