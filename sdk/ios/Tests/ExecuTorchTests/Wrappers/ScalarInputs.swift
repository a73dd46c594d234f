// Written by sdk.export for model.pte; do not edit.
import ExecuTorch

/// The program model.pte: 1,812 bytes, SHA-256 42674be688cf2cd0576ea7a7bbc7b2e18c712ab0774a49ca8106e9c603c4aebb.
///
/// `forward(input_0: float32[2, 3], input_1: int, input_2: double, input_3: bool) -> float32[2, 3]`, with 80 bytes of planned memory.
public final class ScalarInputs {
  public static let fileName = "model.pte"
  public static let fileSize = 1812
  public static let sha256 = "42674be688cf2cd0576ea7a7bbc7b2e18c712ab0774a49ca8106e9c603c4aebb"

  public let module: Module

  /// - Throws: `invalidProgram` when the file's program takes or gives something else than this class was written for.
  public init(filePath: String, loadMode: ModuleLoadMode = .mmap) throws {
    module = Module(filePath: filePath, loadMode: loadMode)
    try ScalarInputs.check(
      module.methodMetadata("forward"), inputs: [(6, [2, 3]), nil, nil, nil],
      outputs: [(6, [2, 3])])
  }

  /// - Parameters:
  ///   - input0: float32[2, 3]
  ///   - input1: int
  ///   - input2: double
  ///   - input3: bool
  /// - Returns: float32[2, 3]
  public func forward(input0: Tensor<Float>, input1: Int, input2: Double, input3: Bool) throws -> Tensor<Float> {
    try ScalarInputs.check(input0.shape, [2...2, 3...3], "input0")
    let outputs = try module.execute("forward", [input0, input1, input2, input3] as [ValueConvertible]) as [Value]
    return try Tensor<Float>(outputs[0])
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
