// SPDX-License-Identifier: BSD-3-Clause
import ExecuTorch
import ExecuTorchLLM
import Foundation
import XCTest

/// Text from speech. tests/data/make_speech.py makes the programs and has transformers' text for the sound.
final class AsrTests: XCTestCase {
  private let folder = Corpus.folder.deletingLastPathComponent().appendingPathComponent("speech")
  private let samples = (0..<16 * 200).map { Float($0 * 37 % 256) / 256 }
  private let few = AsrTranscribeConfig { $0.maximumNewTokens = 12 }

  override func setUpWithError() throws {
    try XCTSkipUnless(AsrRunner.isSupported, "built without EXECUTORCH_BUILD_EXTENSION_ASR_RUNNER")
  }

  private func path(_ name: String) -> String { folder.appendingPathComponent(name).path }

  private func runner() -> AsrRunner {
    AsrRunner(modelPath: path("whisper.pte"), preprocessorPath: path("preprocessor.pte"))
  }

  private func expected() throws -> String {
    let lines = try String(contentsOfFile: path("whisper.expected"), encoding: .utf8).split(separator: "\n")
    return String(lines[0].split(separator: " ").map { Character(UnicodeScalar(UInt8($0)! + 32)) })
  }

  /// A WAV file of float32 samples.
  private func wav(rate: UInt32 = 16000) throws -> String {
    func bytes<T: FixedWidthInteger>(_ number: T) -> Data { withUnsafeBytes(of: number.littleEndian) { Data($0) } }
    let size = UInt32(4 * samples.count)
    var file = Data("RIFF".utf8) + bytes(36 + size) + Data("WAVEfmt ".utf8) + bytes(UInt32(16))
    file += bytes(UInt16(3)) + bytes(UInt16(1)) + bytes(rate) + bytes(4 * rate) + bytes(UInt16(4)) + bytes(UInt16(32))
    file += Data("data".utf8) + bytes(size) + samples.withUnsafeBytes { Data($0) }
    let path = NSTemporaryDirectory() + "\(UUID().uuidString).wav"
    try file.write(to: URL(fileURLWithPath: path))
    addTeardownBlock { try? FileManager.default.removeItem(atPath: path) }
    return path
  }

  func testTheTextIsThatOfTransformers() throws {
    let runner = runner()
    XCTAssertFalse(runner.isLoaded())
    try runner.load()
    XCTAssertTrue(runner.isLoaded())
    XCTAssertEqual(try runner.samplingRate(), 16000)
    var pieces = ""
    XCTAssertEqual(try runner.transcribe(wav(), few) { pieces += $0 }, try expected())
    XCTAssertEqual(pieces, try expected())
    XCTAssertEqual(try runner.transcribe(samples + samples, few), try expected() + expected())  // two windows
    XCTAssertTrue(try runner.transcribe(samples).hasPrefix(expected()))
  }

  func testSettingsChangeTheText() throws {
    let runner = runner()
    let english = try XCTUnwrap(runner.tokenID("<en>"))
    XCTAssertNil(try runner.tokenID("<|xx|>"))
    var config = few
    config.promptTokenIDs = [english]
    config.decoderStartTokenID = 92
    XCTAssertEqual(try runner.transcribe(samples, config), try expected())
    config.promptTokenIDs = []
    XCTAssertNotEqual(try runner.transcribe(samples, config), try expected())
    config = few
    config.decoderStartTokenID = 5
    XCTAssertNotEqual(try runner.transcribe(samples, config), try expected())
  }

  private func lines(_ segments: [AsrSegment]) -> [String] {
    func line(_ kind: String, _ start: Double, _ end: Double, _ text: String) -> String {
      kind + String(format: "\t%.4f\t%.4f\t", start, end) + text
    }
    return segments.flatMap { segment in
      [line("part", segment.start, segment.end, segment.text)]
        + segment.words.map { line("word", $0.start, $0.end, $0.text) }
    }
  }

  func testPartsAndWordsHaveTheTimesOfTransformers() throws {
    let runner = AsrRunner(modelPath: path("timed.pte"), preprocessorPath: path("preprocessor.pte"))
    var config = few
    config.wordTimes = true
    let file = try String(contentsOfFile: path("timed.expected"), encoding: .utf8)
    let wanted = file.split(separator: "\n").map(String.init)
    var given: [AsrSegment] = []
    let found = try runner.segments(samples, config) { given.append($0) }
    XCTAssertGreaterThan(wanted.count, 1)
    XCTAssertEqual(Array(lines(found).prefix(wanted.count)), wanted)  // those of the first window
    XCTAssertEqual(given, found)
    XCTAssertEqual(try runner.segments(wav(), config), found)
    var count = 0
    try runner.segments(samples, config) { _ in
      count += 1
      runner.stop()
    }
    XCTAssertEqual(count, 1)
    config.wordTimes = false
    XCTAssertTrue(try runner.segments(samples, config).allSatisfy { $0.words.isEmpty })
    expectError(.notSupported, "does not name its timestamp tokens") { try self.runner().segments(self.samples) }
  }

  /// The encoder takes the samples themselves; each token is the previous token plus the sum of the samples.
  func testAModelWithoutAPreprocessor() throws {
    let runner = AsrRunner(modelPath: path("samples.pte"))
    XCTAssertEqual(try runner.transcribe([1, 2], AsrTranscribeConfig { $0.maximumNewTokens = 4 }), "#&),")
  }

  func testStopAndStreams() async throws {
    let runner = runner()
    runner.stop()
    var count = 0
    try runner.transcribe(samples, few) { _ in
      count += 1
      expectError(.invalidState, "in another call") { try runner.transcribe(self.samples) }
      runner.stop()
    }
    XCTAssertLessThanOrEqual(count, 2)
    var text = ""
    for try await piece in runner.stream(samples, few) { text += piece }
    XCTAssertEqual(text, try expected())
    for try await piece in try runner.stream(wav(), few) {
      XCTAssertTrue(try expected().hasPrefix(piece))
      break
    }
    do {
      for try await _ in runner.stream("/none.wav") { XCTFail("there is no text") }
      XCTFail("expected an error")
    } catch let error as ExecuTorchError {
      XCTAssertEqual(error.code, .accessFailed)
    }
  }

  func testWhatCannotBeUsedIsNamed() throws {
    let runner = runner()
    expectError(.accessFailed, "/none.wav") { try runner.transcribe("/none.wav") }
    expectError(.invalidArgument, "8000 samples a second") { try runner.transcribe(wav(rate: 8000)) }
    expectError(.invalidExternalData, "not a WAV file") { try runner.transcribe(path("whisper.pte")) }
    expectError(.invalidArgument, "no samples") { try runner.transcribe([Float]()) }
    expectError(.invalidArgument, "max_new_tokens is 0") {
      try runner.transcribe(samples, AsrTranscribeConfig { $0.maximumNewTokens = 0 })
    }
    expectError(.invalidArgument, "temperature") {
      try runner.transcribe(samples, AsrTranscribeConfig { $0.temperature = -1 })
    }
    expectError(.notSupported, "no method 'preprocessor'") {
      try AsrRunner(modelPath: path("whisper.pte")).transcribe(samples)
    }
    expectError(.invalidArgument, "no method 'encoder'") { try AsrRunner(modelPath: Corpus.path("add")).load() }
    expectError(.accessFailed, "/none.ptd") {
      try AsrRunner(modelPath: path("whisper.pte"), dataPath: "/none.ptd").load()
    }
    XCTAssertEqual(try runner.transcribe(samples, few), try expected())
  }
}
