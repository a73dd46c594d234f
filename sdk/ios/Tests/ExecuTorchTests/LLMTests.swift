// SPDX-License-Identifier: BSD-3-Clause
import ExecuTorch
import ExecuTorchLLM
import Foundation
import XCTest

/// Text from a language model. tests/data/make_language_model.py makes it and has eager mode's text for the prompt.
final class LLMTests: XCTestCase {
  private let program = Corpus.folder.deletingLastPathComponent().appendingPathComponent("language_model.pte").path
  private let prompt = "Once upon a time"
  private let eager = "pDl*!Vn8{l9W{l9W{l9W"
  private let greedy = Config {
    $0.temperature = 0
    $0.isEchoEnabled = false
    $0.maximumNewTokens = 20
  }

  override func setUpWithError() throws {
    try XCTSkipUnless(TextRunner.isSupported, "built without EXECUTORCH_BUILD_EXTENSION_LLM_RUNNER")
  }

  private func answer(_ runner: TextRunner, _ prompt: String, _ config: Config) throws -> String {
    var text = ""
    try runner.generate(prompt, config) { text += $0 }
    return text
  }

  func testAModelDrafts() throws {
    let runner = TextRunner(modelPath: program)
    let draft = TextRunner(modelPath: program)
    expectError(.invalidArgument, "cannot draft for itself") { try runner.setDraft(runner) }
    let drafted = greedy.copy()
    drafted.draftTokens = 3
    expectError(.invalidState, "call set_draft() first") { try runner.generate(prompt, drafted.copy()) }
    runner.reset()
    try runner.setDraft(draft)
    XCTAssertFalse(draft.isLoaded())
    expectError(.invalidState, "drafts for another runner") { try draft.load() }
    // The program gives the logits of one token only, so that drafts cannot be checked.
    expectError(.notSupported, "generate_full_logits") { try runner.generate(prompt, drafted) }
    runner.reset()
    XCTAssertEqual(try answer(runner, prompt, greedy), eager)
    // The template of this program has no form of calls; tests/python/llm/test_tool_calls.py has those that have one.
    expectError(.notSupported, "no known form") { _ = try runner.parseToolCalls("a") }
  }

  func testAnswersFollowAGrammar() throws {
    let runner = TextRunner(modelPath: program, tokenizerPath: nil)
    let config = Config {
      $0.isEchoEnabled = false
      $0.grammar = "[0-9]{3}"
      $0.grammarType = "regex"
    }
    let text = try answer(runner, prompt, config.copy())
    XCTAssertNotNil(text.range(of: "^[0-9]{3}$", options: .regularExpression), text)
    config.grammar = "("
    expectError(.invalidArgument, "position 2") { try runner.generate(prompt, config) }
  }

  /// LI-02, LI-03, LI-04, LI-05: nothing is loaded before it is needed, and the callback receives each token.
  func testLI05ContinuesAsEagerDoes() throws {
    let runner = TextRunner(modelPath: program, tokenizerPath: nil, specialTokens: [])
    XCTAssertFalse(runner.isLoaded())
    try runner.load()
    XCTAssertTrue(runner.isLoaded())
    var pieces: [String] = []
    try runner.generate(prompt, greedy) { pieces.append($0) }
    XCTAssertEqual(pieces.joined(), eager)
    XCTAssertEqual(pieces.count, 20)
    expectError(.accessFailed, "/none.pte") { try TextRunner(modelPath: "/none.pte").load() }
    expectError(.invalidArgument, "/none.json") {
      try TextRunner(modelPath: program, tokenizerPath: "/none.json").load()
    }
    expectError(.invalidArgument, "contains no tokenizer") { try TextRunner(modelPath: Corpus.path("add")).load() }
  }

  /// LIFE-09: the earlier name is there, marked as deprecated, and names its successor: using it in a function that is
  /// not deprecated itself is a warning.
  @available(*, deprecated)
  func testLIFE09TheEarlierNameIsDeprecated() throws {
    let runner = TextLLMRunner(modelPath: program)
    XCTAssertTrue(type(of: runner) == TextRunner.self)
    XCTAssertEqual(try answer(runner, prompt, greedy), eager)
  }

  /// LI-03: the special tokens of tiktoken are one token each.
  func testLI03SpecialTokens() throws {
    let file = NSTemporaryDirectory() + "letters-\(UUID().uuidString).tiktoken"
    let lines = (0..<93).map { "\(Data([UInt8(32 + $0)]).base64EncodedString()) \($0)\n" }
    try lines.joined().write(toFile: file, atomically: true, encoding: .utf8)
    defer { try? FileManager.default.removeItem(atPath: file) }
    // If <a> is one token, 64 of them fill the context. As three tokens each they would not fit.
    let full = String(repeating: "<a>", count: 64)
    let special = TextRunner(modelPath: program, tokenizerPath: file, specialTokens: ["<a>", "<b>"])
    try special.prefill(full)
    // With Llama 3's 256 special tokens, the tokenizer does not fit the model.
    expectError(.invalidArgument, "it has 349 tokens") {
      try TextRunner(modelPath: program, tokenizerPath: file).load()
    }
  }

  /// LI-06: the settings change the answer.
  func testLI06Settings() throws {
    let runner = TextRunner(modelPath: program)
    XCTAssertEqual(Config().temperature, 0.8)
    let echo = greedy.copy()
    echo.isEchoEnabled = true
    XCTAssertEqual(try answer(runner, prompt, echo), prompt + eager)
    runner.reset()
    XCTAssertTrue(try answer(runner, "On\u{0}ce", echo).hasPrefix("On\u{0}ce"))
    runner.reset()
    let short = Config {
      $0.temperature = 0
      $0.isEchoEnabled = false
      $0.sequenceLength = 20
    }
    XCTAssertEqual(try answer(runner, prompt, short), String(eager.prefix(4)))
    runner.reset()
    short.isWarming = true
    XCTAssertEqual(try answer(runner, prompt, short), "")
    runner.reset()
    XCTAssertEqual(try runner.applyChatTemplate(#"{"messages": [{"role": "user", "content": "Hi"}]}"#), "<user>Hi")
    expectError(.invalidArgument, "the prompt is too long: it has 100 tokens") {
      try runner.generate(String(repeating: "x", count: 100), greedy)
    }
    runner.reset()
    expectError(.invalidArgument, "temperature") { try runner.generate(prompt, Config { $0.temperature = -1 }) }
  }

  /// LI-07: stop() ends the answer, from the callback and from another thread.
  func testLI07Stop() throws {
    let runner = TextRunner(modelPath: program)
    runner.stop()
    var text = ""
    try runner.generate(prompt, greedy) {
      text += $0
      runner.stop()
    }
    XCTAssertLessThanOrEqual(text.count, 2)
    runner.reset()
    text = ""
    try runner.generate(prompt, greedy) {
      text += $0
      let stopped = self.expectation(description: "another thread stops")
      Thread.detachNewThread {
        runner.stop()
        stopped.fulfill()
      }
      self.wait(for: [stopped], timeout: 10)
    }
    XCTAssertLessThanOrEqual(text.count, 2)
    // Another call meanwhile is an error, and does not disturb this one.
    runner.reset()
    text = ""
    try runner.generate(prompt, greedy) {
      text += $0
      expectError(.invalidState, "in another call") { try runner.prefill("x") }
    }
    XCTAssertEqual(text, eager)
  }

  /// LI-08: after reset() an answer is that of a new runner; without it, the conversation goes on.
  func testLI08Reset() throws {
    let runner = TextRunner(modelPath: program)
    let few = greedy.copy()
    few.maximumNewTokens = 8
    XCTAssertEqual(try answer(runner, prompt, few), String(eager.prefix(8)))
    XCTAssertEqual(try answer(runner, "", few), String(eager.dropFirst(8).prefix(8)))
    runner.reset()
    XCTAssertEqual(try answer(runner, prompt, few), String(eager.prefix(8)))
    runner.reset()
    try runner.prefill(prompt)
    XCTAssertEqual(try answer(runner, "", few), String(eager.prefix(8)))
  }

  func testAStreamHasThePieces() async throws {
    let runner = TextRunner(modelPath: program)
    var pieces: [String] = []
    for try await text in runner.stream(prompt, greedy) { pieces.append(text) }
    XCTAssertEqual(pieces.joined(), eager)
    XCTAssertEqual(pieces.count, 20)
    runner.reset()
    // Leaving the loop stops the model. This model is so fast that it may have finished by then: both answers have to
    // fit into the context of 64 tokens.
    let few = Config {
      $0.temperature = 0
      $0.maximumNewTokens = 8
    }
    for try await text in runner.stream(prompt, few) {
      XCTAssertEqual(text, "p")
      break
    }
    let task = Task {
      var count = 0
      for try await _ in runner.stream("x", few) { count += 1 }
      return count
    }
    task.cancel()
    _ = try await task.value
    // The runner's streams take turns, so this one begins after those, and reads what they left in the context.
    var last = ""
    for try await text in runner.stream("", Config { $0.maximumNewTokens = 1 }) { last += text }
    XCTAssertEqual(last.count, 1)
    runner.reset()
    pieces = []
    for try await text in runner.stream(prompt, greedy) { pieces.append(text) }
    XCTAssertEqual(pieces.joined(), eager)
  }

  func testAStreamThrowsWhatFails() async throws {
    let runner = TextRunner(modelPath: program)
    do {
      for try await _ in runner.stream(String(repeating: "x", count: 100)) { XCTFail("there is no answer") }
      XCTFail("expected an error")
    } catch let error as ExecuTorchError {
      XCTAssertEqual(error.code, .invalidArgument)
      XCTAssertTrue(error.message.contains("it has 100 tokens"), error.message)
    }
  }
}
