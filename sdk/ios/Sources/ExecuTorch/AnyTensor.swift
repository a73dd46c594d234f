// SPDX-License-Identifier: BSD-3-Clause
import CExecuTorch
import Foundation

/// A tensor whose element type is known only at run time. Use ``Tensor`` where the type is known at compile time.
///
/// A tensor refers to its own memory, to the caller's or, if it is an output of a module, to the module's. When the
/// method runs again, outputs that are still in use are copied first, so that they never change.
///
/// Arguments that contradict each other, such as a shape of more elements than there are bytes, stop the program with a
/// message, as an index out of range does. A tensor may be used by one thread at a time.
public final class AnyTensor {
  public let dataType: DataType
  public let shapeDynamism: ShapeDynamism
  private(set) var layout: TensorLayout
  let storage: TensorStorage

  /// The runtime's tensor over the storage's memory, made when it is first needed.
  private var handle: OpaquePointer?
  private var handleGeneration = 0

  /// The size of each dimension.
  public var shape: [Int] { layout.shape }
  /// The distance, in elements, between neighbours along each dimension.
  public var strides: [Int] { layout.strides }
  /// The dimensions from the outermost in memory to the innermost; `[0, 1, ...]` is row-major.
  public var dimensionOrder: [Int] { layout.dimensionOrder }
  /// The number of elements.
  public var count: Int { layout.count }

  init(storage: TensorStorage, layout: TensorLayout, dataType: DataType, shapeDynamism: ShapeDynamism) {
    self.storage = storage
    self.layout = layout
    self.dataType = dataType
    self.shapeDynamism = shapeDynamism
  }

  deinit {
    et_tensor_free(handle)
  }

  /// A view: another tensor over the same memory; `shape`, if given, has at most as many elements.
  public convenience init(
    _ tensor: AnyTensor, shape: [Int] = [], dimensionOrder: [Int] = [], strides: [Int] = []
  ) {
    let isSame = shape.isEmpty && dimensionOrder.isEmpty && strides.isEmpty
    let layout =
      isSame
      ? tensor.layout
      : valid { try TensorLayout(shape: shape.isEmpty ? tensor.shape : shape, dimensionOrder: dimensionOrder, strides: strides) }
    precondition(
      layout.count <= tensor.count,
      "a view of the shape \(layout.shape) has more elements than the \(tensor.count) of the tensor it shows")
    self.init(
      storage: tensor.storage, layout: layout, dataType: tensor.dataType, shapeDynamism: tensor.shapeDynamism)
  }

  /// Uses the caller's memory without a copy. It must be aligned to the element's size, and stay valid as long as the
  /// tensor and all views of it.
  public convenience init(
    bytesNoCopy pointer: UnsafeMutableRawPointer, shape: [Int], strides: [Int] = [], dimensionOrder: [Int] = [],
    dataType: DataType, shapeDynamism: ShapeDynamism = .dynamicBound
  ) {
    let layout = valid { try TensorLayout(shape: shape, dimensionOrder: dimensionOrder, strides: strides) }
    let elementSize = AnyTensor.elementSize(of: dataType)
    precondition(
      Int(bitPattern: pointer) % elementSize == 0,
      "expected memory at a multiple of \(elementSize) bytes, found \(pointer): use init(bytes:), which copies")
    self.init(
      storage: .borrowing(pointer, byteCount: layout.count * elementSize), layout: layout, dataType: dataType,
      shapeDynamism: shapeDynamism)
  }

  /// Copies the elements from `pointer`.
  public convenience init(
    bytes pointer: UnsafeRawPointer, shape: [Int], strides: [Int] = [], dimensionOrder: [Int] = [],
    dataType: DataType, shapeDynamism: ShapeDynamism = .dynamicBound
  ) {
    let layout = valid { try TensorLayout(shape: shape, dimensionOrder: dimensionOrder, strides: strides) }
    let storage = TensorStorage.copy(
      of: pointer, byteCount: layout.count * AnyTensor.elementSize(of: dataType))
    self.init(storage: storage, layout: layout, dataType: dataType, shapeDynamism: shapeDynamism)
  }

  /// Uses the bytes of `data` in place, or copies them if they are fewer than 64 or not aligned to the element's size.
  /// Bytes that are used in place are copied before the tensor is first changed.
  public convenience init(
    data: Data, shape: [Int], strides: [Int] = [], dimensionOrder: [Int] = [], dataType: DataType,
    shapeDynamism: ShapeDynamism = .dynamicBound
  ) {
    let layout = valid { try TensorLayout(shape: shape, dimensionOrder: dimensionOrder, strides: strides) }
    let elementSize = AnyTensor.elementSize(of: dataType)
    let byteCount = layout.count * elementSize
    precondition(
      data.count >= byteCount, "a tensor of the shape \(shape) takes \(byteCount) bytes, found \(data.count)")
    self.init(
      storage: .sharing(data, byteCount: byteCount, alignment: elementSize), layout: layout, dataType: dataType,
      shapeDynamism: shapeDynamism)
  }

  /// A copy in new memory, with the same elements, shape and dimension order.
  public func copy() -> AnyTensor {
    AnyTensor(
      storage: .copy(of: storage.base, byteCount: byteCount), layout: layout, dataType: dataType,
      shapeDynamism: shapeDynamism)
  }

  /// Reads the elements. The pointer is valid until `body` returns; they lie in the order of ``dimensionOrder``.
  public func bytes<Result>(
    _ body: (_ pointer: UnsafeRawPointer, _ count: Int, _ dataType: DataType) throws -> Result
  ) rethrows -> Result {
    try withExtendedLifetime(self) { try body(storage.base, count, dataType) }
  }

  /// Reads and changes the elements. The pointer is valid until `body` returns.
  public func mutableBytes<Result>(
    _ body: (_ pointer: UnsafeMutableRawPointer, _ count: Int, _ dataType: DataType) throws -> Result
  ) rethrows -> Result {
    storage.prepareForMutation()
    return try withExtendedLifetime(self) { try body(storage.base, count, dataType) }
  }

  /// Gives the tensor another shape with the same number of elements, which do not change.
  /// - Throws: `notSupported` for a tensor of static shape, `invalidArgument` for another number of elements.
  public func resize(to shape: [Int]) throws {
    guard shape != self.shape else { return }
    guard shapeDynamism != .static else {
      throw ExecuTorchError(
        code: .notSupported,
        description: "the tensor's shape is static and stays \(self.shape); found \(shape): make a view of that shape")
    }
    let order = shape.count == self.shape.count ? dimensionOrder : []
    let resized = try TensorLayout(shape: shape, dimensionOrder: order, strides: [])
    guard resized.count == count else {
      throw ExecuTorchError(
        code: .invalidArgument,
        description: "expected a shape of \(count) elements, as \(self.shape) has; found \(shape) with \(resized.count)")
    }
    layout = resized
    dropHandle()
  }

  /// Returns the same tensor with a static element type, or nil if its elements have another type.
  public func asTensor<T: Scalar>() -> Tensor<T>? {
    dataType == T.dataType ? Tensor<T>(self) : nil
  }

  // MARK: -

  var byteCount: Int { count * size(ofDataType: dataType) }

  /// The runtime's tensor. It is valid as long as this one lives and its storage does not move.
  func runtimeTensor() throws -> OpaquePointer {
    if handleGeneration != storage.generation { dropHandle() }
    if let handle { return handle }
    let sizes = shape.map { Int32($0) }
    let order = dimensionOrder.map { UInt8($0) }
    var made: OpaquePointer?
    let owner = Unmanaged.passRetained(storage)  // the release function releases it, also on failure
    try check {
      et_tensor_wrap(
        et_dtype(dataType.rawValue), sizes, sizes.count, order, storage.base, storage.byteCount,
        { _, context in Unmanaged<TensorStorage>.fromOpaque(context!).release() }, owner.toOpaque(), &made, $0)
    }
    handle = made
    handleGeneration = storage.generation
    return made!
  }

  private func dropHandle() {
    et_tensor_free(handle)
    handle = nil
  }

  static func elementSize(of dataType: DataType) -> Int {
    let size = size(ofDataType: dataType)
    precondition(size > 0, "tensors cannot have elements of the type \(dataType)")
    return size
  }
}

/// Returns the result of `make`, or stops the program with the error's message if arguments contradict each other.
func valid<Result>(_ make: () throws -> Result) -> Result {
  do {
    return try make()
  } catch {
    preconditionFailure("\(error)")
  }
}

extension AnyTensor: Equatable {
  /// Whether element type, shape, strides, dimension order and all elements are equal. Bytes are compared: a NaN equals
  /// itself, and 0 is not -0.
  public static func == (lhs: AnyTensor, rhs: AnyTensor) -> Bool {
    lhs === rhs
      || lhs.dataType == rhs.dataType && lhs.layout == rhs.layout
        && memcmp(lhs.storage.base, rhs.storage.base, lhs.byteCount) == 0
  }
}
