// SPDX-License-Identifier: BSD-3-Clause
import CExecuTorch
import Foundation

/// The kind of a ``Value``.
public enum ValueTag: UInt32, Sendable {
  case none = 0
  case tensor = 1
  case string = 2
  case double = 3
  case integer = 4
  case boolean = 5
  case booleanList = 6
  case doubleList = 7
  case integerList = 8
  case tensorList = 9
  case optionalTensorList = 11
}

/// An input or output of a method. Lists are outputs only.
public final class Value: Equatable {
  enum Payload: Equatable {
    case none
    case tensor(AnyTensor)
    case string(String)
    case double(Double)
    case integer(Int)
    case boolean(Bool)
    case booleans([Bool])
    case doubles([Double])
    case integers([Int])
    case tensors([AnyTensor?], hasAbsent: Bool)
  }

  let payload: Payload

  init(payload: Payload) {
    self.payload = payload
  }

  /// No value.
  public convenience init() { self.init(payload: .none) }
  public convenience init(_ tensor: AnyTensor) { self.init(payload: .tensor(tensor)) }
  public convenience init<T: Scalar>(_ tensor: Tensor<T>) { self.init(payload: .tensor(tensor.anyTensor)) }
  public convenience init(_ string: String) { self.init(payload: .string(string)) }
  public convenience init(_ boolean: Bool) { self.init(payload: .boolean(boolean)) }
  public convenience init(_ integer: Int) { self.init(payload: .integer(integer)) }
  public convenience init(_ double: Double) { self.init(payload: .double(double)) }
  public convenience init(_ float: Float) { self.init(payload: .double(Double(float))) }

  /// A Boolean, a double or an integer, whichever `number` was made from.
  public convenience init(_ number: NSNumber) {
    switch UInt8(bitPattern: number.objCType.pointee) {
    case UInt8(ascii: "B"): self.init(number.boolValue)
    case UInt8(ascii: "c") where number === NSNumber(value: number.boolValue): self.init(number.boolValue)
    case UInt8(ascii: "f"), UInt8(ascii: "d"): self.init(number.doubleValue)
    default: self.init(number.intValue)
    }
  }

  public var tag: ValueTag {
    switch payload {
    case .none: return .none
    case .tensor: return .tensor
    case .string: return .string
    case .double: return .double
    case .integer: return .integer
    case .boolean: return .boolean
    case .booleans: return .booleanList
    case .doubles: return .doubleList
    case .integers: return .integerList
    case .tensors(_, let hasAbsent): return hasAbsent ? .optionalTensorList : .tensorList
    }
  }

  public var isNone: Bool { tag == .none }
  public var isTensor: Bool { tag == .tensor }
  public var isString: Bool { tag == .string }
  public var isScalar: Bool { isDouble || isInteger || isBoolean }
  public var isBoolean: Bool { tag == .boolean }
  public var isInteger: Bool { tag == .integer }
  public var isDouble: Bool { tag == .double }
  /// The same as ``isDouble``, because the runtime has one floating-point type.
  public var isFloat: Bool { isDouble }

  /// The tensor; nil for another kind of value. ``string``, ``scalar`` and the lists do the same.
  public var anyTensor: AnyTensor? {
    if case .tensor(let tensor) = payload { return tensor }
    return nil
  }

  /// The tensor; nil also if its elements are of another type.
  public func tensor<T: Scalar>() -> Tensor<T>? {
    anyTensor?.asTensor()
  }

  public var string: String? {
    if case .string(let string) = payload { return string }
    return nil
  }

  public var scalar: NSNumber? {
    switch payload {
    case .double(let double): return NSNumber(value: double)
    case .integer(let integer): return NSNumber(value: integer)
    case .boolean(let boolean): return NSNumber(value: boolean)
    default: return nil
    }
  }

  /// The Boolean; false for another kind of value. ``scalar`` tells the two apart.
  public var boolean: Bool {
    if case .boolean(let boolean) = payload { return boolean }
    return false
  }

  /// The integer; 0 for another kind of value.
  public var integer: Int {
    if case .integer(let integer) = payload { return integer }
    return 0
  }

  /// The double; 0 for another kind of value.
  public var double: Double {
    if case .double(let double) = payload { return double }
    return 0
  }

  public var float: Float { Float(double) }

  public var booleans: [Bool]? {
    if case .booleans(let booleans) = payload { return booleans }
    return nil
  }

  public var integers: [Int]? {
    if case .integers(let integers) = payload { return integers }
    return nil
  }

  public var doubles: [Double]? {
    if case .doubles(let doubles) = payload { return doubles }
    return nil
  }

  /// The tensors of a list; nil in it for an absent tensor.
  public var tensors: [AnyTensor?]? {
    if case .tensors(let tensors, _) = payload { return tensors }
    return nil
  }

  /// A copy of the value, tensors included.
  public func copy() -> Value {
    switch payload {
    case .tensor(let tensor): return Value(tensor.copy())
    case .tensors(let tensors, let hasAbsent):
      return Value(payload: .tensors(tensors.map { $0?.copy() }, hasAbsent: hasAbsent))
    default: return Value(payload: payload)
    }
  }

  public static func == (lhs: Value, rhs: Value) -> Bool {
    lhs.payload == rhs.payload
  }
}

extension Value: CustomStringConvertible {
  public var description: String {
    switch payload {
    case .none: return "none"
    case .tensor(let tensor): return "\(tensor)"
    case .string(let string): return "\"\(string)\""
    case .double(let double): return "\(double)"
    case .integer(let integer): return "\(integer)"
    case .boolean(let boolean): return "\(boolean)"
    case .booleans(let booleans): return "\(booleans)"
    case .doubles(let doubles): return "\(doubles)"
    case .integers(let integers): return "\(integers)"
    case .tensors(let tensors, _): return "\(tensors)"
    }
  }
}

extension Value {
  /// An output of `result`, whose tensors are not copied.
  convenience init(_ value: et_value, of result: ExecutionResult) {
    func list<T>(_: T.Type) -> UnsafeBufferPointer<T> {
      let span = value.payload.as_span
      return UnsafeBufferPointer(start: span.data?.assumingMemoryBound(to: T.self), count: span.size)
    }
    switch Int(value.tag) {
    case Int(ET_TAG_TENSOR): self.init(AnyTensor(value.payload.as_tensor, of: result))
    case Int(ET_TAG_STRING): self.init(String(decoding: list(UInt8.self), as: UTF8.self))
    case Int(ET_TAG_DOUBLE): self.init(value.payload.as_double)
    case Int(ET_TAG_INT): self.init(Int(value.payload.as_int))
    case Int(ET_TAG_BOOL): self.init(value.payload.as_bool != 0)
    case Int(ET_TAG_LIST_BOOL): self.init(payload: .booleans(list(UInt8.self).map { $0 != 0 }))
    case Int(ET_TAG_LIST_DOUBLE): self.init(payload: .doubles(Array(list(Double.self))))
    case Int(ET_TAG_LIST_INT): self.init(payload: .integers(list(Int64.self).map { Int($0) }))
    case Int(ET_TAG_LIST_TENSOR), Int(ET_TAG_LIST_OPTIONAL_TENSOR):
      let tensors = list(OpaquePointer?.self).map { $0.map { AnyTensor($0, of: result) } }
      self.init(payload: .tensors(tensors, hasAbsent: Int(value.tag) == Int(ET_TAG_LIST_OPTIONAL_TENSOR)))
    default: self.init()
    }
  }

  /// The tensors in it.
  var allTensors: [AnyTensor] {
    switch payload {
    case .tensor(let tensor): return [tensor]
    case .tensors(let tensors, _): return tensors.compactMap { $0 }
    default: return []
    }
  }
}

extension AnyTensor {
  /// A tensor of `result`.
  convenience init(_ tensor: OpaquePointer, of result: ExecutionResult) {
    let rank = et_tensor_rank(tensor)
    let shape = UnsafeBufferPointer(start: et_tensor_sizes(tensor), count: rank).map { Int($0) }
    let order = UnsafeBufferPointer(start: et_tensor_dim_order(tensor), count: rank).map { Int($0) }
    let storage = TensorStorage.output(
      at: UnsafeMutableRawPointer(mutating: et_tensor_data(tensor)), byteCount: et_tensor_nbytes(tensor), of: result)
    self.init(
      storage: storage, layout: TensorLayout(shape: shape, dimensionOrder: order),
      dataType: DataType(number: et_tensor_dtype(tensor)), shapeDynamism: .dynamicBound)
  }
}
