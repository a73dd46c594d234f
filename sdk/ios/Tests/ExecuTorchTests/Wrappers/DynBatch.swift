// Written by sdk.export for model.pte; do not edit.
import ExecuTorch

/// The program model.pte: 3,024 bytes, SHA-256 1b284b1a261508823f6bbae77254b8478e7ba4cdb2fe97151fe4c3c02d1a4d5c.
///
/// `forward(input_0: float32[0..32, 0..8]) -> float32[0..32, 0..4]`, with 4,096 bytes of planned memory.
public final class DynBatch {
  public static let fileName = "model.pte"
  public static let fileSize = 3024
  public static let sha256 = "1b284b1a261508823f6bbae77254b8478e7ba4cdb2fe97151fe4c3c02d1a4d5c"

  public let module: Module

  /// - Throws: `invalidProgram` when the file's program takes or gives something else than this class was written for.
  public init(filePath: String, loadMode: ModuleLoadMode = .mmap) throws {
    module = Module(filePath: filePath, loadMode: loadMode)
    try DynBatch.check(
      module.methodMetadata("forward"), inputs: [(6, [32, 8])],
      outputs: [(6, [32, 4])])
  }

  /// - Parameters:
  ///   - input0: float32[0..32, 0..8]
  /// - Returns: float32[0..32, 0..4]
  public func forward(input0: Tensor<Float>) throws -> Tensor<Float> {
    try DynBatch.check(input0.shape, [0...32, 0...8], "input0")
    let outputs = try module.execute("forward", [input0] as [ValueConvertible]) as [Value]
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
