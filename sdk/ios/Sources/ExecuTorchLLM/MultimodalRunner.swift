// SPDX-License-Identifier: BSD-3-Clause
import CExecuTorch
import ExecuTorch

/// A language model that also takes pictures or sound, with its tokenizer, and the conversation so far as its context.
///
///     let runner = MultimodalRunner(modelPath: program, tokenizerPath: tokenizer)
///     let picture = Image(data: pixels, width: 336, height: 336, channels: 3)
///     let prompt = [MultimodalInput("USER: "), MultimodalInput(picture), MultimodalInput("\nWhat is this? ASSISTANT:")]
///     for try await text in runner.stream(prompt) { print(text, terminator: "") }
///
/// The rules on threads and errors are those of ``TextRunner``. A prompt with a part that cannot be used, such as a
/// picture of another size (`invalidArgument`), or one for a program without pictures (`notSupported`), leaves the
/// conversation as it was. Each position of a picture or of sound counts as a token.
public final class MultimodalRunner: Sendable {
  private let model: LanguageModel

  /// Loads nothing yet.
  /// - Parameter tokenizerPath: a `tokenizer.json`, `tokenizer.model` or `tokenizer.bin`; nil: the tokenizer in the
  ///   program.
  public init(modelPath: String, tokenizerPath: String? = nil) {
    model = LanguageModel(modelPath: modelPath, tokenizerPath: tokenizerPath, specialTokens: [])
  }

  public func isLoaded() -> Bool { model.isLoaded() }

  /// Loads the program and the tokenizer, so that the first answer need not.
  public func load() throws { _ = try model.loaded() }

  /// Continues the conversation by a prompt and by the model's answer.
  /// - Parameter tokenCallback: receives the pieces of the answer, in this thread: whole characters, usually of one
  ///   token. It may call ``stop()``.
  public func generate(
    _ inputs: [MultimodalInput], _ config: Config = Config(), tokenCallback: ((String) -> Void)? = nil
  ) throws {
    let isWarming = config.isWarming
    try model.generate(inputs, config.make()) {
      if !isWarming { tokenCallback?($0) }
      return true
    }
  }

  /// The model's answer to a prompt, piece by piece, without the prompt, as of ``TextRunner/stream(_:_:)``.
  public func stream(
    _ inputs: [MultimodalInput], _ config: Config = Config()
  ) -> AsyncThrowingStream<String, Swift.Error> {
    model.stream(inputs, config)
  }

  /// Adds parts of a prompt to the context without an answer.
  public func prefill(_ inputs: [MultimodalInput]) throws { try model.prefill(inputs) }

  /// Ends the current answer after the current token.
  public func stop() { model.stop() }

  /// Begins a new conversation. Also makes the runner usable again after an error. Has no effect before ``load()``, and
  /// while the runner generates.
  public func reset() { model.reset() }

  /// The prompt of a conversation, by the chat template in the program: see ``TextRunner/applyChatTemplate(_:)``.
  public func applyChatTemplate(_ variables: String) throws -> String {
    try model.text { et_llm_apply_chat_template($0, variables, $1, $2) }
  }

  /// The calls of tools in an answer: see ``TextRunner/parseToolCalls(_:)``.
  public func parseToolCalls(_ answer: String) throws -> String {
    try model.text { et_llm_parse_tool_calls($0, answer, $1, $2) }
  }

  /// Writes the conversation so far to a file.
  public func saveSession(_ path: String) throws { try model.call { et_llm_save_session($0, path, $1) } }

  /// Continues a conversation of ``saveSession(_:)`` of the same program. After an error, the conversation does not
  /// change.
  public func loadSession(_ path: String) throws { try model.call { et_llm_load_session($0, path, $1) } }
}
