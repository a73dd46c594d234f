// SPDX-License-Identifier: BSD-3-Clause
import ExecuTorch
import ExecuTorchLLM
import Foundation
import XCTest

/// Pictures and sound. tests/data/make_multimodal.py makes the programs and says what transformers makes of the prompt
/// "ab", the picture or sound, and "cd".
final class MultimodalTests: XCTestCase {
  private let folder = Corpus.folder.deletingLastPathComponent().appendingPathComponent("multimodal")
  private let bytes = Data((0..<3 * 28 * 28).map { UInt8($0 * 37 % 256) })
  private let features = (0..<16 * 200).map { Float($0 * 37 % 256) / 256 }.withUnsafeBytes { Data($0) }
  private let greedy = Config {
    $0.temperature = 0
    $0.isEchoEnabled = false
    $0.maximumNewTokens = 8
  }

  override func setUpWithError() throws {
    try XCTSkipUnless(TextRunner.isSupported, "built without EXECUTORCH_BUILD_EXTENSION_LLM_RUNNER")
  }

  private func path(_ name: String) -> String { folder.appendingPathComponent(name).path }

  private func expected(_ name: String) throws -> String {
    let lines = try String(contentsOfFile: path("\(name).expected"), encoding: .utf8).split(separator: "\n")
    return String(lines[0].split(separator: " ").map { Character(UnicodeScalar(UInt8($0)! + 32)) })
  }

  private func prompt(_ media: MultimodalInput) -> [MultimodalInput] {
    [MultimodalInput("ab"), media, MultimodalInput("cd")]
  }

  private func answer(_ runner: MultimodalRunner, _ inputs: [MultimodalInput]) throws -> String {
    var text = ""
    try runner.generate(inputs, greedy) { text += $0 }
    return text
  }

  /// LI-10: inputs say what they are.
  func testLI10Inputs() {
    let image = Image(data: bytes, width: 28, height: 28, channels: 3)
    XCTAssertEqual([image.width, image.height, image.channels, image.data.count], [28, 28, 3, 2352])
    XCTAssertFalse(image.isFloat)
    XCTAssertTrue(Image(floatData: features, width: 1, height: 1, channels: 1).isFloat)
    let audio = Audio(floatData: features, batchSize: 1, bins: 16, frames: 200)
    XCTAssertEqual([audio.batchSize, audio.bins, audio.frames, audio.data.count], [1, 16, 200, 12800])
    XCTAssertTrue(audio.isFloat && Audio(float: features, batchSize: 1, bins: 16, frames: 200).isFloat)
    XCTAssertFalse(Audio(data: bytes, batchSize: 1, bins: 1, frames: 1).isFloat)
    let inputs = [
      MultimodalInput("a"), MultimodalInput(image), MultimodalInput(audio), MultimodalInput(RawAudio([0.5, 1])),
    ]
    XCTAssertEqual(inputs.map(\.type), [.text, .image, .audio, .rawAudio])
    XCTAssertEqual(inputs[0].text, "a")
    XCTAssertEqual(inputs[1].image?.width, 28)
    XCTAssertEqual(inputs[2].audio?.bins, 16)
    XCTAssertEqual(inputs[3].rawAudio?.samples, 2)
    XCTAssertNil(inputs[0].image)
    XCTAssertNil(inputs[1].text)
    XCTAssertNil(inputs[1].audio)
    XCTAssertNil(inputs[2].rawAudio)
  }

  /// LI-09, LI-11: from picture and from sound to text, as transformers does.
  func testLI09LI11PicturesAndSound() throws {
    let picture = MultimodalInput(Image(data: bytes, width: 28, height: 28, channels: 3))
    let sound = MultimodalInput(Audio(floatData: features, batchSize: 1, bins: 16, frames: 200))
    for (name, media) in [("llava", picture), ("voxtral", sound)] {
      let runner = MultimodalRunner(modelPath: path("\(name).pte"))
      XCTAssertFalse(runner.isLoaded())
      try runner.load()
      XCTAssertTrue(runner.isLoaded())
      XCTAssertEqual(try answer(runner, prompt(media)), try expected(name))
      runner.reset()
      try runner.prefill(Array(prompt(media).prefix(2)))
      XCTAssertEqual(try answer(runner, [MultimodalInput("cd")]), try expected(name))
    }
  }

  func testAStreamHasThePieces() async throws {
    let runner = MultimodalRunner(modelPath: path("llava.pte"))
    let picture = MultimodalInput(Image(data: bytes, width: 28, height: 28, channels: 3))
    var text = ""
    for try await piece in runner.stream(prompt(picture), greedy) { text += piece }
    XCTAssertEqual(text, try expected("llava"))
  }

  func testStopAndSessions() throws {
    let runner = MultimodalRunner(modelPath: path("llava.pte"))
    let picture = MultimodalInput(Image(data: bytes, width: 28, height: 28, channels: 3))
    runner.stop()
    var count = 0
    try runner.generate(prompt(picture), greedy) { _ in
      count += 1
      runner.stop()
    }
    XCTAssertLessThanOrEqual(count, 2)
    runner.reset()
    try runner.prefill([MultimodalInput("abc")])
    let file = NSTemporaryDirectory() + "\(UUID().uuidString).session"
    defer { try? FileManager.default.removeItem(atPath: file) }
    try runner.saveSession(file)
    let wanted = try answer(runner, [MultimodalInput("de")])
    let other = MultimodalRunner(modelPath: path("llava.pte"))
    try other.loadSession(file)
    XCTAssertEqual(try answer(other, [MultimodalInput("de")]), wanted)
    expectError(.accessFailed, "/none") { try other.loadSession("/none") }
  }

  func testWhatCannotBeUsedLeavesTheConversation() throws {
    let runner = MultimodalRunner(modelPath: path("voxtral.pte"))
    let sound = MultimodalInput(Audio(floatData: features, batchSize: 1, bins: 16, frames: 200))
    let picture = MultimodalInput(Image(data: bytes, width: 28, height: 28, channels: 3))
    let cut = MultimodalInput(Audio(floatData: features, batchSize: 1, bins: 16, frames: 199))
    let huge = MultimodalInput(Audio(floatData: features, batchSize: Int.max, bins: Int.max, frames: 1))
    expectError(.notSupported, "takes no pictures") { try runner.generate(prompt(picture), greedy) }
    expectError(.notSupported, "front end") { try runner.prefill([MultimodalInput(RawAudio([0.5]))]) }
    expectError(.invalidArgument, "need 12736 bytes, found 12800") { try runner.prefill([cut]) }
    expectError(.invalidArgument, "expected positive ones") { try runner.prefill([huge]) }
    expectError(.invalidArgument, "found none") { try runner.generate([], greedy) }
    expectError(.accessFailed, "/none.pte") { try MultimodalRunner(modelPath: "/none.pte").load() }
    XCTAssertEqual(try answer(runner, prompt(sound)), try expected("voxtral"))
  }
}
