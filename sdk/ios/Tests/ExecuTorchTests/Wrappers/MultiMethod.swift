// Written by sdk.export for model.pte; do not edit.
import ExecuTorch

/// The program model.pte: 5,088 bytes, SHA-256 0aa4f7e315b44f978e054caf248c8f4a16c474b184aaeeb2fdfe94a4017e4d7c.
///
/// `decode(input_0: float32[2, 4], input_1: float32[2, 4]) -> float32[2, 4]`, with 160 bytes of planned memory.
/// `forward(input_0: float32[2, 4]) -> float32[2, 4]`, with 128 bytes of planned memory.
/// `get_max_seq_len() -> int`, with 0 bytes of planned memory.
/// `get_scale() -> double`, with 0 bytes of planned memory.
/// `use_kv() -> bool`, with 0 bytes of planned memory.
/// `get_tensor() -> float32[4]`, with 0 bytes of planned memory.
/// `get_list() -> int, int, int`, with 0 bytes of planned memory.
/// `get_two() -> int, double`, with 0 bytes of planned memory.
public final class MultiMethod {
  public static let fileName = "model.pte"
  public static let fileSize = 5088
  public static let sha256 = "0aa4f7e315b44f978e054caf248c8f4a16c474b184aaeeb2fdfe94a4017e4d7c"

  public let module: Module

  /// - Throws: `invalidProgram` when the file's program takes or gives something else than this class was written for.
  public init(filePath: String, loadMode: ModuleLoadMode = .mmap) throws {
    module = Module(filePath: filePath, loadMode: loadMode)
    try MultiMethod.check(
      module.methodMetadata("decode"), inputs: [(6, [2, 4]), (6, [2, 4])],
      outputs: [(6, [2, 4])])
    try MultiMethod.check(
      module.methodMetadata("forward"), inputs: [(6, [2, 4])],
      outputs: [(6, [2, 4])])
    try MultiMethod.check(
      module.methodMetadata("get_max_seq_len"), inputs: [],
      outputs: [nil])
    try MultiMethod.check(
      module.methodMetadata("get_scale"), inputs: [],
      outputs: [nil])
    try MultiMethod.check(
      module.methodMetadata("use_kv"), inputs: [],
      outputs: [nil])
    try MultiMethod.check(
      module.methodMetadata("get_tensor"), inputs: [],
      outputs: [(6, [4])])
    try MultiMethod.check(
      module.methodMetadata("get_list"), inputs: [],
      outputs: [nil, nil, nil])
    try MultiMethod.check(
      module.methodMetadata("get_two"), inputs: [],
      outputs: [nil, nil])
  }

  /// - Parameters:
  ///   - input0: float32[2, 4]
  ///   - input1: float32[2, 4]
  /// - Returns: float32[2, 4]
  public func decode(input0: Tensor<Float>, input1: Tensor<Float>) throws -> Tensor<Float> {
    try MultiMethod.check(input0.shape, [2...2, 4...4], "input0")
    try MultiMethod.check(input1.shape, [2...2, 4...4], "input1")
    let outputs = try module.execute("decode", [input0, input1] as [ValueConvertible]) as [Value]
    return try Tensor<Float>(outputs[0])
  }

  /// - Parameters:
  ///   - input0: float32[2, 4]
  /// - Returns: float32[2, 4]
  public func forward(input0: Tensor<Float>) throws -> Tensor<Float> {
    try MultiMethod.check(input0.shape, [2...2, 4...4], "input0")
    let outputs = try module.execute("forward", [input0] as [ValueConvertible]) as [Value]
    return try Tensor<Float>(outputs[0])
  }

  /// - Returns: int
  public func getMaxSeqLen() throws -> Int {
    let outputs = try module.execute("get_max_seq_len", [] as [ValueConvertible]) as [Value]
    return try Int(outputs[0])
  }

  /// - Returns: double
  public func getScale() throws -> Double {
    let outputs = try module.execute("get_scale", [] as [ValueConvertible]) as [Value]
    return try Double(outputs[0])
  }

  /// - Returns: bool
  public func useKv() throws -> Bool {
    let outputs = try module.execute("use_kv", [] as [ValueConvertible]) as [Value]
    return try Bool(outputs[0])
  }

  /// - Returns: float32[4]
  public func getTensor() throws -> Tensor<Float> {
    let outputs = try module.execute("get_tensor", [] as [ValueConvertible]) as [Value]
    return try Tensor<Float>(outputs[0])
  }

  /// The outputs of ``getList``.
  public struct GetListOutput {
    /// int
    public let output0: Int
    /// int
    public let output1: Int
    /// int
    public let output2: Int
  }

  public func getList() throws -> GetListOutput {
    let outputs = try module.execute("get_list", [] as [ValueConvertible]) as [Value]
    return GetListOutput(
      output0: try Int(outputs[0]),
      output1: try Int(outputs[1]),
      output2: try Int(outputs[2]))
  }

  /// The outputs of ``getTwo``.
  public struct GetTwoOutput {
    /// int
    public let output0: Int
    /// double
    public let output1: Double
  }

  public func getTwo() throws -> GetTwoOutput {
    let outputs = try module.execute("get_two", [] as [ValueConvertible]) as [Value]
    return GetTwoOutput(
      output0: try Int(outputs[0]),
      output1: try Double(outputs[1]))
  }

  private static func check(_ shape: [Int], _ sizes: [ClosedRange<Int>], _ name: String) throws {
    guard shape.count == sizes.count, zip(shape, sizes).allSatisfy({ $1.contains($0) }) else {
      throw ExecuTorchError(code: .invalidArgument, description: "\(name): expected a shape of \(sizes), found \(shape)")
    }
  }

  private static func check(
    _ metadata: MethodMetadata, inputs: [(type: Int8, shape: [Int])?], outputs: [(type: Int8, shape: [Int])?]
  ) throws {
    func fits(_ found: [Int: TensorMetadata], _ count: Int, _ expected: [(type: Int8, shape: [Int])?]) -> Bool {
      count == expected.count
        && expected.enumerated().allSatisfy { index, value in
          found[index]?.dataType.rawValue == value?.type && found[index]?.shape == value?.shape
        }
    }
    guard fits(metadata.inputTensorMetadata, metadata.inputValueTags.count, inputs),
      fits(metadata.outputTensorMetadata, metadata.outputValueTags.count, outputs)
    else {
      throw ExecuTorchError(
        code: .invalidProgram,
        description: "method '\(metadata.name)' of the file is not that of \(fileName), which this class was written for: "
          + "export both together")
    }
  }
}
