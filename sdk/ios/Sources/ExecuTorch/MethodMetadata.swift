// SPDX-License-Identifier: BSD-3-Clause
import CExecuTorch

/// The type, the shape and the memory of a tensor, as the program declares them.
public struct TensorMetadata: Hashable, Sendable {
  /// The largest sizes where a shape is dynamic.
  public let shape: [Int]
  public let dimensionOrder: [Int]
  public let dataType: DataType
  /// Whether the method's memory plan includes it; otherwise the caller supplies the memory.
  public let isMemoryPlanned: Bool
  /// The name of an attribute in the model; empty for inputs and outputs.
  public let name: String

  init(_ info: et_value_info, name: String = "") {
    shape = UnsafeBufferPointer(start: info.sizes, count: info.rank).map { Int($0) }
    dimensionOrder = UnsafeBufferPointer(start: info.dim_order, count: info.rank).map { Int($0) }
    dataType = DataType(number: info.dtype)
    isMemoryPlanned = info.is_memory_planned != 0
    self.name = name
  }
}

/// The inputs and outputs of a method, and the memory and backends that it needs.
public struct MethodMetadata: Hashable, Sendable {
  public let name: String
  /// The kind of each input. `.none` is a number of any kind, or an argument that was None at export.
  public let inputValueTags: [ValueTag]
  public let outputValueTags: [ValueTag]
  /// The metadata of the inputs that are tensors, by their position among all inputs.
  public let inputTensorMetadata: [Int: TensorMetadata]
  public let outputTensorMetadata: [Int: TensorMetadata]
  /// The metadata of the method's named state, such as a cache.
  public let attributeTensorMetadata: [TensorMetadata]
  /// The size in bytes of each buffer that the method's tensors share.
  public let memoryPlannedBufferSizes: [Int]
  /// The backends to which parts of the method are delegated.
  public let backendNames: [String]
  public let instructionCount: Int

  /// - Parameter meta: an `et_method_meta` of a module that is alive.
  init(_ meta: OpaquePointer) throws {
    name = et_method_meta_name(meta).map { String(cString: $0) } ?? ""
    (inputValueTags, inputTensorMetadata) = try MethodMetadata.values(et_method_meta_input_count(meta)) {
      et_method_meta_input(meta, $0, $1, $2)
    }
    (outputValueTags, outputTensorMetadata) = try MethodMetadata.values(et_method_meta_output_count(meta)) {
      et_method_meta_output(meta, $0, $1, $2)
    }
    attributeTensorMetadata = try (0..<et_method_meta_attribute_count(meta)).map { index in
      var info = et_value_info()
      try check { et_method_meta_attribute(meta, index, &info, $0) }
      return TensorMetadata(info, name: et_method_meta_attribute_name(meta, index).map { String(cString: $0) } ?? "")
    }
    memoryPlannedBufferSizes = (0..<et_method_meta_planned_buffer_count(meta)).map {
      Int(et_method_meta_planned_buffer_bytes(meta, $0))
    }
    backendNames = (0..<et_method_meta_backend_count(meta)).compactMap { index in
      et_method_meta_backend(meta, index).map { String(cString: $0) }
    }
    instructionCount = et_method_meta_instruction_count(meta)
  }

  private static func values(
    _ count: Int,
    _ describe: (Int, UnsafeMutablePointer<et_value_info>, UnsafeMutablePointer<OpaquePointer?>) -> et_status
  ) throws -> ([ValueTag], [Int: TensorMetadata]) {
    var tags: [ValueTag] = []
    var tensors: [Int: TensorMetadata] = [:]
    for index in 0..<count {
      var info = et_value_info()
      try check { describe(index, &info, $0) }
      let tag = UInt32(exactly: info.tag).flatMap(ValueTag.init(rawValue:)) ?? .none
      tags.append(tag)
      if tag == .tensor { tensors[index] = TensorMetadata(info) }
    }
    return (tags, tensors)
  }
}
