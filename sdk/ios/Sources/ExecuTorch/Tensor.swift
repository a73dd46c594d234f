// SPDX-License-Identifier: BSD-3-Clause
import Foundation

/// A tensor with elements of type `T`. Memory, threads and wrong arguments are handled as in ``AnyTensor``.
public final class Tensor<T: Scalar>: Equatable, CustomStringConvertible {
  /// The same tensor without the type of its elements; both refer to the same memory.
  public let anyTensor: AnyTensor

  public var dataType: DataType { anyTensor.dataType }
  public var shape: [Int] { anyTensor.shape }
  public var strides: [Int] { anyTensor.strides }
  public var dimensionOrder: [Int] { anyTensor.dimensionOrder }
  public var shapeDynamism: ShapeDynamism { anyTensor.shapeDynamism }
  public var count: Int { anyTensor.count }

  /// - Precondition: the elements of `tensor` are of type `T`. ``AnyTensor/asTensor()`` returns nil where this fails.
  public init(_ tensor: AnyTensor) {
    precondition(
      tensor.dataType == T.dataType,
      "expected a tensor of \(T.dataType), found one of \(tensor.dataType): use copy(to:), or asTensor() to test")
    anyTensor = tensor
  }

  /// A view: another tensor over the same memory; `shape`, if given, has at most as many elements.
  public convenience init(
    _ tensor: Tensor<T>, shape: [Int] = [], dimensionOrder: [Int] = [], strides: [Int] = []
  ) {
    self.init(AnyTensor(tensor.anyTensor, shape: shape, dimensionOrder: dimensionOrder, strides: strides))
  }

  /// Uses the caller's memory without a copy. It must stay valid as long as the tensor and all views of it.
  public convenience init(
    bytesNoCopy pointer: UnsafeMutableRawPointer, shape: [Int], strides: [Int] = [], dimensionOrder: [Int] = [],
    shapeDynamism: ShapeDynamism = .dynamicBound
  ) {
    self.init(
      AnyTensor(
        bytesNoCopy: pointer, shape: shape, strides: strides, dimensionOrder: dimensionOrder, dataType: T.dataType,
        shapeDynamism: shapeDynamism))
  }

  /// Copies the elements from `pointer`.
  public convenience init(
    bytes pointer: UnsafeRawPointer, shape: [Int], strides: [Int] = [], dimensionOrder: [Int] = [],
    shapeDynamism: ShapeDynamism = .dynamicBound
  ) {
    self.init(
      AnyTensor(
        bytes: pointer, shape: shape, strides: strides, dimensionOrder: dimensionOrder, dataType: T.dataType,
        shapeDynamism: shapeDynamism))
  }

  /// Uses the bytes of `data`, without a copy where possible: see ``AnyTensor``.
  public convenience init(
    data: Data, shape: [Int], strides: [Int] = [], dimensionOrder: [Int] = [],
    shapeDynamism: ShapeDynamism = .dynamicBound
  ) {
    self.init(
      AnyTensor(
        data: data, shape: shape, strides: strides, dimensionOrder: dimensionOrder, dataType: T.dataType,
        shapeDynamism: shapeDynamism))
  }

  /// Copies `scalars`; without a shape the tensor has one dimension.
  public convenience init(
    _ scalars: [T], shape: [Int] = [], strides: [Int] = [], dimensionOrder: [Int] = [],
    shapeDynamism: ShapeDynamism = .dynamicBound
  ) {
    let shape = Tensor.shape(shape, of: scalars.count)
    self.init(
      scalars.withUnsafeBytes {
        // An empty array may have no address. Any address will do then, because nothing is read.
        AnyTensor(
          bytes: $0.baseAddress ?? UnsafeRawPointer(bitPattern: 64)!, shape: shape, strides: strides,
          dimensionOrder: dimensionOrder, dataType: T.dataType, shapeDynamism: shapeDynamism)
      })
  }

  /// Uses the memory of `scalars` without a copy: the array must not be changed in size or freed as long as the tensor
  /// or a view of it is in use.
  public convenience init(
    _ scalars: inout [T], shape: [Int] = [], strides: [Int] = [], dimensionOrder: [Int] = [],
    shapeDynamism: ShapeDynamism = .dynamicBound
  ) {
    let shape = Tensor.shape(shape, of: scalars.count)
    self.init(
      scalars.withUnsafeMutableBytes {
        AnyTensor(
          bytesNoCopy: $0.baseAddress ?? UnsafeMutableRawPointer(bitPattern: 64)!, shape: shape, strides: strides,
          dimensionOrder: dimensionOrder, dataType: T.dataType, shapeDynamism: shapeDynamism)
      })
  }

  /// A tensor without dimensions.
  public convenience init(_ scalar: T) {
    self.init(
      Swift.withUnsafeBytes(of: scalar) { AnyTensor(bytes: $0.baseAddress!, shape: [], dataType: T.dataType) })
  }

  /// A copy in new memory, with the same elements.
  public func copy() -> Tensor<T> {
    Tensor(anyTensor.copy())
  }

  /// A copy whose elements are converted, see ``AnyTensor/copy(to:)``.
  public func copy<U: Scalar>(to: U.Type) -> Tensor<U> {
    Tensor<U>(anyTensor.copy(to: U.dataType))
  }

  /// Reads the elements, in the order of ``dimensionOrder``. The buffer is valid until `body` returns.
  public func withUnsafeBytes<Result>(_ body: (UnsafeBufferPointer<T>) throws -> Result) rethrows -> Result {
    try anyTensor.bytes { pointer, count, _ in
      try body(UnsafeBufferPointer(start: pointer.assumingMemoryBound(to: T.self), count: count))
    }
  }

  /// Reads and changes the elements. The buffer is valid until `body` returns.
  public func withUnsafeMutableBytes<Result>(
    _ body: (UnsafeMutableBufferPointer<T>) throws -> Result
  ) rethrows -> Result {
    try anyTensor.mutableBytes { pointer, count, _ in
      try body(UnsafeMutableBufferPointer(start: pointer.assumingMemoryBound(to: T.self), count: count))
    }
  }

  /// A copy of the elements, in the order of ``dimensionOrder``.
  public func scalars() -> [T] {
    withUnsafeBytes { Array($0) }
  }

  /// Gives the tensor another shape with the same number of elements, see ``AnyTensor/resize(to:)``.
  public func resize(to shape: [Int]) throws {
    try anyTensor.resize(to: shape)
  }

  public static func == (lhs: Tensor<T>, rhs: Tensor<T>) -> Bool {
    lhs.anyTensor == rhs.anyTensor
  }

  public var description: String { anyTensor.description }

  /// - Precondition: the number of scalars is the number of elements of the shape.
  private static func shape(_ shape: [Int], of count: Int) -> [Int] {
    let shape = shape.isEmpty && count != 1 ? [count] : shape.isEmpty ? [1] : shape
    precondition(
      elementCount(ofShape: shape) == count,
      "a tensor of the shape \(shape) has \(elementCount(ofShape: shape)) elements, found \(count) scalars")
    return shape
  }
}

extension Tensor {
  /// Elements of undefined value.
  public static func empty(
    shape: [Int], strides: [Int] = [], shapeDynamism: ShapeDynamism = .dynamicBound
  ) -> Tensor<T> {
    Tensor(AnyTensor.empty(shape: shape, strides: strides, dataType: T.dataType, shapeDynamism: shapeDynamism))
  }

  public static func full(
    shape: [Int], scalar: T, strides: [Int] = [], shapeDynamism: ShapeDynamism = .dynamicBound
  ) -> Tensor<T> {
    let tensor = empty(shape: shape, strides: strides, shapeDynamism: shapeDynamism)
    tensor.withUnsafeMutableBytes { $0.update(repeating: scalar) }
    return tensor
  }

  public static func ones(
    shape: [Int], strides: [Int] = [], shapeDynamism: ShapeDynamism = .dynamicBound
  ) -> Tensor<T> {
    Tensor(AnyTensor.ones(shape: shape, strides: strides, dataType: T.dataType, shapeDynamism: shapeDynamism))
  }

  public static func zeros(
    shape: [Int], strides: [Int] = [], shapeDynamism: ShapeDynamism = .dynamicBound
  ) -> Tensor<T> {
    Tensor(AnyTensor.zeros(shape: shape, strides: strides, dataType: T.dataType, shapeDynamism: shapeDynamism))
  }

  /// Random numbers, uniform in [0, 1).
  public static func rand(
    shape: [Int], strides: [Int] = [], shapeDynamism: ShapeDynamism = .dynamicBound
  ) -> Tensor<T> {
    Tensor(AnyTensor.rand(shape: shape, strides: strides, dataType: T.dataType, shapeDynamism: shapeDynamism))
  }

  /// Random numbers of the normal distribution with mean 0 and variance 1.
  public static func randn(
    shape: [Int], strides: [Int] = [], shapeDynamism: ShapeDynamism = .dynamicBound
  ) -> Tensor<T> {
    Tensor(AnyTensor.randn(shape: shape, strides: strides, dataType: T.dataType, shapeDynamism: shapeDynamism))
  }

  /// Random whole numbers in [low, high).
  public static func randint(
    low: Int, high: Int, shape: [Int], strides: [Int] = [], shapeDynamism: ShapeDynamism = .dynamicBound
  ) -> Tensor<T> {
    Tensor(
      AnyTensor.randint(
        low: low, high: high, shape: shape, strides: strides, dataType: T.dataType, shapeDynamism: shapeDynamism))
  }

  /// The `like:` factories give a tensor of the same shape and strides as `tensor`, and of its dynamism unless another
  /// is given.
  public static func empty(like tensor: Tensor<T>, shapeDynamism: ShapeDynamism? = nil) -> Tensor<T> {
    Tensor(AnyTensor.empty(like: tensor.anyTensor, shapeDynamism: shapeDynamism))
  }

  public static func full(like tensor: Tensor<T>, scalar: T, shapeDynamism: ShapeDynamism? = nil) -> Tensor<T> {
    full(
      shape: tensor.shape, scalar: scalar, strides: tensor.strides,
      shapeDynamism: shapeDynamism ?? tensor.shapeDynamism)
  }

  public static func ones(like tensor: Tensor<T>, shapeDynamism: ShapeDynamism? = nil) -> Tensor<T> {
    Tensor(AnyTensor.ones(like: tensor.anyTensor, shapeDynamism: shapeDynamism))
  }

  public static func zeros(like tensor: Tensor<T>, shapeDynamism: ShapeDynamism? = nil) -> Tensor<T> {
    Tensor(AnyTensor.zeros(like: tensor.anyTensor, shapeDynamism: shapeDynamism))
  }

  public static func rand(like tensor: Tensor<T>, shapeDynamism: ShapeDynamism? = nil) -> Tensor<T> {
    Tensor(AnyTensor.rand(like: tensor.anyTensor, shapeDynamism: shapeDynamism))
  }

  public static func randn(like tensor: Tensor<T>, shapeDynamism: ShapeDynamism? = nil) -> Tensor<T> {
    Tensor(AnyTensor.randn(like: tensor.anyTensor, shapeDynamism: shapeDynamism))
  }

  public static func randint(
    like tensor: Tensor<T>, low: Int, high: Int, shapeDynamism: ShapeDynamism? = nil
  ) -> Tensor<T> {
    Tensor(AnyTensor.randint(like: tensor.anyTensor, low: low, high: high, shapeDynamism: shapeDynamism))
  }
}
