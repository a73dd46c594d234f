// SPDX-License-Identifier: BSD-3-Clause
import ExecuTorch
import ExecuTorchLLM
import Foundation
import XCTest

/// The code of docs/ios.md.
final class GuideTests: XCTestCase {
  func classify(_ image: [Float], with model: URL) throws -> [Float] {
    let module = Module(filePath: model.path, loadMode: .mmap)
    let input = Tensor(image, shape: [1, 3, 6, 6])
    let scores: Tensor<Float> = try module.forward(input)
    return scores.scalars()
  }

  func testTheFirstLines() throws {
    let model = URL(fileURLWithPath: Corpus.path("channels_last_in"))
    XCTAssertEqual(try Module(filePath: model.path).methodMetadata("forward").inputTensorMetadata[0]?.shape, [1, 3, 6, 6])
    // That model expects channels last; the error says so.
    expectError(.invalidArgument, "Input 0") { _ = try classify([Float](repeating: 1, count: 108), with: model) }
    let other = URL(fileURLWithPath: Corpus.path("linear"))
    let shape = try Module(filePath: other.path).methodMetadata("forward").inputTensorMetadata[0]!.shape
    let scores: Tensor<Float> = try Module(filePath: other.path).forward(Tensor<Float>.ones(shape: shape))
    XCTAssertGreaterThan(scores.count, 0)
  }

  func testMetadata() throws {
    let module = Corpus.module("add")
    let metadata = try module.methodMetadata("forward")
    let inputs = metadata.inputTensorMetadata.sorted { $0.key < $1.key }.map {
      AnyTensor.rand(shape: $0.value.shape, dataType: $0.value.dataType)
    }
    let outputs = try module.forward(inputs)  // [Value]
    let first: Tensor<Float>? = outputs[0].tensor()
    XCTAssertEqual(first?.count, 6)
  }

  func testLanguageModels() async throws {
    try XCTSkipUnless(TextRunner.isSupported, "built without EXECUTORCH_BUILD_EXTENSION_LLM_RUNNER")
    let program = Corpus.folder.deletingLastPathComponent().appendingPathComponent("language_model.pte").path
    let runner = TextRunner(modelPath: program)  // with `tokenizerPath:` where the program has no tokenizer in it
    let prompt = try runner.applyChatTemplate(#"{"messages": [{"role": "user", "content": "Hi"}]}"#)
    for try await text in runner.stream(prompt, Config { $0.maximumNewTokens = 64 }) {
      print(text, terminator: "")
    }
    XCTAssertEqual(prompt, "<user>Hi")
  }

  func testPicturesAndSpeech() async throws {
    try XCTSkipUnless(TextRunner.isSupported, "built without EXECUTORCH_BUILD_EXTENSION_LLM_RUNNER")
    let data = Corpus.folder.deletingLastPathComponent()
    let program = data.appendingPathComponent("multimodal/llava.pte").path
    let pixels = Data(count: 3 * 28 * 28)
    let runner = MultimodalRunner(modelPath: program)
    let picture = Image(data: pixels, width: 28, height: 28, channels: 3)
    let prompt = [MultimodalInput("USER: "), MultimodalInput(picture), MultimodalInput("What is this?")]
    var answer = ""
    for try await text in runner.stream(prompt) { answer += text }
    XCTAssertFalse(answer.isEmpty)
    let recording = [Float](repeating: 0, count: 3200)
    let whisper = AsrRunner(
      modelPath: data.appendingPathComponent("speech/whisper.pte").path,
      preprocessorPath: data.appendingPathComponent("speech/preprocessor.pte").path)
    for try await text in whisper.stream(recording) { print(text, terminator: "") }
  }

  func testAsynchronousCode() async throws {
    let path = Corpus.path("add")
    let (x, y) = (Tensor<Float>.ones(shape: [2, 3]), Tensor<Float>.ones(shape: [2, 3]))
    let module = AsyncModule(filePath: path)
    let output: Tensor<Float> = try await module.forward([x, y])
    XCTAssertEqual(output.scalars(), [2, 2, 2, 2, 2, 2])
  }
}
