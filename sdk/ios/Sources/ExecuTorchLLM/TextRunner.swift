// SPDX-License-Identifier: BSD-3-Clause
import CExecuTorch
import ExecuTorch

/// A language model with its tokenizer, and the conversation so far as its context.
///
///     let runner = TextRunner(modelPath: program, tokenizerPath: tokenizer)
///     for try await text in runner.stream("Once upon a time") { print(text, terminator: "") }
///
/// Functions may be called from any thread. A runner makes one call at a time: another one meanwhile throws
/// `invalidState`, except ``stop()``. Failures are `ExecuTorchError`s.
public final class TextRunner: Sendable {
  private let model: LanguageModel

  /// Loads nothing yet.
  /// - Parameters:
  ///   - tokenizerPath: a `tokenizer.json`, `tokenizer.model` or `tokenizer.bin`; nil: the tokenizer in the program.
  ///   - specialTokens: the special tokens of a tiktoken tokenizer, in the order of their numbers; empty: those of
  ///     Llama 3. Other tokenizers have theirs in the file.
  public init(modelPath: String, tokenizerPath: String?, specialTokens: [String]) {
    model = LanguageModel(modelPath: modelPath, tokenizerPath: tokenizerPath, specialTokens: specialTokens)
  }

  public convenience init(modelPath: String, tokenizerPath: String? = nil) {
    self.init(modelPath: modelPath, tokenizerPath: tokenizerPath, specialTokens: [])
  }

  /// Whether the library that is linked can run language models.
  public static var isSupported: Bool { et_has_llm() }

  public func isLoaded() -> Bool { model.isLoaded() }

  /// Loads the program and the tokenizer, so that the first answer need not.
  public func load() throws { _ = try model.loaded() }

  /// Continues the conversation by a prompt and by the model's answer.
  /// - Parameter tokenCallback: receives the pieces of the answer, in this thread: whole characters, usually of one
  ///   token. It may call ``stop()``.
  /// - Throws: `invalidArgument` for settings or a prompt that cannot be used, such as a prompt that is too long for
  ///   the context; the conversation is then as before. After a failure of the model itself, later calls may throw
  ///   `invalidState` until ``reset()``.
  public func generate(_ prompt: String, _ config: Config = Config(), tokenCallback: ((String) -> Void)? = nil) throws {
    let isWarming = config.isWarming
    try model.generate([MultimodalInput(prompt)], config.make()) {
      if !isWarming { tokenCallback?($0) }
      return true
    }
  }

  /// The model's answer to a prompt, piece by piece, without the prompt. Generation begins at once, in the background,
  /// and waits for the runner's other streams. It ends after the current token when the stream is no longer read: when
  /// the loop is left, or its task cancelled.
  /// - Parameter config: its ``Config/isEchoEnabled`` is ignored.
  public func stream(_ prompt: String, _ config: Config = Config()) -> AsyncThrowingStream<String, Swift.Error> {
    model.stream([MultimodalInput(prompt)], config)
  }

  /// Adds text to the context without an answer. Then ``generate(_:_:tokenCallback:)`` with an empty prompt continues
  /// after it.
  public func prefill(_ prompt: String) throws { try model.prefill([MultimodalInput(prompt)]) }

  /// The prompt of a conversation, by the chat template in the program.
  /// - Parameter variables: a JSON object, `{"messages": [{"role": "user", "content": "Hi"}]}`.
  /// - Throws: `notFound` if the program has no template.
  public func applyChatTemplate(_ variables: String) throws -> String {
    try model.text { et_llm_apply_chat_template($0, variables, $1, $2) }
  }

  /// An answer as a message of the conversation, with the calls of tools that it has: a JSON object `{"role":
  /// "assistant", "content": "", "tool_calls": [{"type": "function", "function": {"name": "f", "arguments": {}}}]}`,
  /// without `tool_calls` if there are none.
  /// - Throws: `notFound` if the program has no chat template, `notSupported` if that has no known form of calls.
  public func parseToolCalls(_ answer: String) throws -> String {
    try model.text { et_llm_parse_tool_calls($0, answer, $1, $2) }
  }

  /// Lets `draft`, a smaller model of the same vocabulary, draft tokens for this one; drafts change no answer. See
  /// ``Config/draftTokens``. This runner owns the model of `draft` from now on: `draft` cannot be used any more, unless
  /// the function throws. Neither runner may generate meanwhile.
  public func setDraft(_ draft: TextRunner) throws { try model.setDraft(draft.model) }

  /// Writes the conversation so far to a file.
  public func saveSession(_ path: String) throws { try model.call { et_llm_save_session($0, path, $1) } }

  /// Continues a conversation of ``saveSession(_:)`` of the same program. After an error, the conversation does not
  /// change.
  public func loadSession(_ path: String) throws { try model.call { et_llm_load_session($0, path, $1) } }

  /// Ends the current answer after the current token.
  public func stop() { model.stop() }

  /// Begins a new conversation. Also makes the runner usable again after an error. Has no effect before ``load()``, and
  /// while the runner generates.
  public func reset() { model.reset() }
}

/// An earlier name of ``TextRunner``, which some documents use.
@available(*, deprecated, renamed: "TextRunner", message: "Use TextRunner instead. May be removed in 0.3 or later.")
public typealias TextLLMRunner = TextRunner
