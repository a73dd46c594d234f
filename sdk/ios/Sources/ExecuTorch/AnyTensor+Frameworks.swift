// SPDX-License-Identifier: BSD-3-Clause
// Tensors over memory of Apple's frameworks.
import Foundation

#if canImport(CoreML)
  import CoreML
#endif
#if canImport(Metal)
  import Metal
#endif

extension AnyTensor {
  /// A tensor of the elements in the memory of `owner`, which it keeps alive. They are used in place if they lie without
  /// gaps, in whatever order of the dimensions, and at a multiple of their size; otherwise they are copied.
  /// - Parameter strides: in elements.
  convenience init(
    of owner: AnyObject, at base: UnsafeMutableRawPointer, shape: [Int], strides: [Int], dataType: DataType
  ) throws {
    let elementSize = AnyTensor.elementSize(of: dataType)
    let copied = try TensorLayout(shape: shape, strides: [])
    if Int(bitPattern: base) % elementSize == 0, let layout = try? TensorLayout(shape: shape, strides: strides) {
      let storage = TensorStorage.part(of: owner, at: base, byteCount: layout.count * elementSize)
      self.init(storage: storage, layout: layout, dataType: dataType, shapeDynamism: .dynamicBound)
      return
    }
    let storage = TensorStorage.uninitialized(byteCount: copied.count * elementSize)
    var next = storage.base
    TensorLayout.forEachOffset(shape: shape, strides: strides) { offset in
      next.copyMemory(from: base + offset * elementSize, byteCount: elementSize)
      next += elementSize
    }
    self.init(storage: storage, layout: copied, dataType: dataType, shapeDynamism: .dynamicBound)
  }

  #if canImport(CoreML)
    /// The tensor of a multi-array, which it keeps alive. The elements are not copied if they lie without gaps, in any
    /// order of the dimensions, as in most multi-arrays; then each sees the other's changes.
    /// - Throws: `notSupported` for elements of an unknown type.
    public convenience init(_ array: MLMultiArray) throws {
      // Numbers, because the names of some are newer than the oldest systems.
      let types: [Int: DataType] = [65600: .double, 65568: .float, 65552: .half, 131104: .int, 131080: .char]
      guard let type = types[array.dataType.rawValue] else {
        throw ExecuTorchError(
          code: .notSupported,
          description: "expected a multi-array of double, float32, float16, int32 or int8, found the type "
            + "\(array.dataType.rawValue)")
      }
      try self.init(
        of: array, at: array.dataPointer, shape: array.shape.map(\.intValue), strides: array.strides.map(\.intValue),
        dataType: type)
    }
  #endif

  #if canImport(Metal)
    /// A tensor over the memory of a Metal buffer, without a copy. It keeps the buffer alive; before a run reads the
    /// GPU's results, wait for the GPU, and synchronize a buffer of managed storage.
    /// - Parameter offset: of the first element, in bytes: a multiple of the element's size.
    /// - Throws: `notSupported` for a buffer that the CPU cannot read, `invalidArgument` for one that is too small.
    public convenience init(_ buffer: MTLBuffer, offset: Int = 0, shape: [Int], dataType: DataType) throws {
      guard buffer.storageMode != .private, buffer.storageMode != .memoryless else {
        throw ExecuTorchError(
          code: .notSupported,
          description: "expected a buffer of shared or managed storage, found one that only the GPU can read: copy it to "
            + "a shared buffer")
      }
      let elementSize = AnyTensor.elementSize(of: dataType)
      let needed = try TensorLayout(shape: shape, strides: []).count * elementSize
      guard offset >= 0, offset % elementSize == 0, offset <= buffer.length, needed <= buffer.length - offset else {
        throw ExecuTorchError(
          code: .invalidArgument,
          description: "expected \(needed) bytes of the shape \(shape) at a multiple of \(elementSize), found a buffer of "
            + "\(buffer.length) bytes and the offset \(offset)")
      }
      try self.init(of: buffer, at: buffer.contents() + offset, shape: shape, strides: [], dataType: dataType)
    }
  #endif
}
