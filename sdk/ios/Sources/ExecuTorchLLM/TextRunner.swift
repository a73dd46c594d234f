// SPDX-License-Identifier: BSD-3-Clause
import CExecuTorch
import ExecuTorch
import Foundation

/// A language model with its tokenizer, and the conversation so far as its context.
///
///     let runner = TextRunner(modelPath: program, tokenizerPath: tokenizer)
///     for try await text in runner.stream("Once upon a time") { print(text, terminator: "") }
///
/// Functions may be called from any thread. A runner makes one call at a time: another one meanwhile throws
/// `invalidState`, except ``stop()``. Failures are `ExecuTorchError`s.
public final class TextRunner: @unchecked Sendable {
  private let modelPath: String
  private let tokenizerPath: String?
  private let specialTokens: [String]
  private let queue = DispatchQueue(label: "org.pytorch.executorch.llm", qos: .userInitiated)
  private let lock = NSLock()
  private var handle: OpaquePointer?  // under the lock; freed only with this object

  /// Loads nothing yet.
  /// - Parameters:
  ///   - tokenizerPath: a `tokenizer.json`, `tokenizer.model` or `tokenizer.bin`; nil: the tokenizer in the program.
  ///   - specialTokens: those of a tokenizer of tiktoken, in the order of their numbers; empty: those of Llama 3. Other
  ///     tokenizers have theirs in the file.
  public init(modelPath: String, tokenizerPath: String?, specialTokens: [String]) {
    self.modelPath = modelPath
    self.tokenizerPath = tokenizerPath
    self.specialTokens = specialTokens
  }

  public convenience init(modelPath: String, tokenizerPath: String? = nil) {
    self.init(modelPath: modelPath, tokenizerPath: tokenizerPath, specialTokens: [])
  }

  deinit {
    et_llm_free(handle)
  }

  /// Whether the library that is linked can run language models.
  public static var isSupported: Bool { et_has_llm() }

  public func isLoaded() -> Bool {
    lock.withLock { handle != nil }
  }

  /// Loads the program and the tokenizer, so that the first answer need not.
  public func load() throws {
    _ = try loaded()
  }

  /// Continues the conversation by a prompt and by the model's answer.
  /// - Parameter tokenCallback: receives the pieces of the answer, in this thread: whole characters, usually of one
  ///   token. It may call ``stop()``.
  /// - Throws: `invalidArgument` for a prompt that is too long for the context, among others. Call ``reset()`` then.
  public func generate(_ prompt: String, _ config: Config = Config(), tokenCallback: ((String) -> Void)? = nil) throws {
    let isWarming = config.isWarming
    try run(prompt, config.make()) {
      if !isWarming { tokenCallback?($0) }
      return true
    }
  }

  /// The model's answer to a prompt, piece by piece, without the prompt. Generation begins at once, in the background,
  /// and waits for the runner's other streams. It ends after the current token when the stream is no longer read: when
  /// the loop is left, or its task cancelled.
  /// - Parameter config: of it, ``Config/isEchoEnabled`` does not count.
  public func stream(_ prompt: String, _ config: Config = Config()) -> AsyncThrowingStream<String, Swift.Error> {
    let given = config.copy()
    given.isEchoEnabled = false
    let made = Swift.Result { Handle(try given.make()) }
    return AsyncThrowingStream { continuation in
      queue.async {
        continuation.finish(
          throwing: self.failure {
            try self.run(prompt, made.get().take()) { text in
              if case .terminated = continuation.yield(text) { return false }
              return true
            }
          })
      }
    }
  }

  /// Adds text to the context without an answer; ``generate(_:_:tokenCallback:)`` with an empty prompt goes on after it.
  public func prefill(_ prompt: String) throws {
    let runner = try loaded()
    try withExtendedLifetime(self) { try check { et_llm_prefill(runner, prompt, $0) } }
  }

  /// The prompt of a conversation, by the chat template in the program.
  /// - Parameter variables: a JSON object, `{"messages": [{"role": "user", "content": "Hi"}]}`.
  /// - Throws: `notFound` if the program has no template.
  public func applyChatTemplate(_ variables: String) throws -> String {
    let runner = try loaded()
    var prompt: UnsafePointer<CChar>?
    return try withExtendedLifetime(self) {
      try check { et_llm_apply_chat_template(runner, variables, &prompt, $0) }
      return String(cString: prompt!)
    }
  }

  /// Ends the current answer after the current token.
  public func stop() {
    lock.withLock { et_llm_stop(handle) }
  }

  /// Begins a new conversation. Also makes the runner usable again after an error. Has no effect before ``load()``, and
  /// while the runner generates.
  public func reset() {
    lock.withLock { _ = handle.map { et_llm_reset($0, nil) } }
  }

  private func loaded() throws -> OpaquePointer {
    try lock.withLock {
      if let handle { return handle }
      var made: OpaquePointer?
      let tokens = specialTokens.map { strdup($0) }
      defer { tokens.forEach { free($0) } }
      try tokens.map { UnsafePointer($0) }.withUnsafeBufferPointer { texts in
        try check {
          et_llm_load_file_with_special_tokens(modelPath, tokenizerPath, texts.baseAddress, texts.count, nil, &made, $0)
        }
      }
      handle = made
      return made!
    }
  }

  /// Generates, and frees `config`.
  private func run(_ prompt: String, _ config: OpaquePointer, onText: (String) -> Bool) throws {
    defer { et_llm_config_free(config) }
    let runner = try loaded()
    try withoutActuallyEscaping(onText) { onText in
      let receiver = Receiver(onText)
      try withExtendedLifetime((self, receiver)) {
        try check {
          et_llm_generate(
            runner, prompt, config,
            { text, size, context in
              let bytes = UnsafeRawBufferPointer(start: text, count: size)
              return Unmanaged<Receiver>.fromOpaque(context!).takeUnretainedValue().onText(
                String(decoding: bytes, as: UTF8.self))
            }, Unmanaged.passUnretained(receiver).toOpaque(), $0)
        }
      }
    }
  }

  private func failure(of body: () throws -> Void) -> Swift.Error? {
    do {
      try body()
      return nil
    } catch {
      return error
    }
  }
}

/// An earlier name of ``TextRunner``, which some of the documents have.
@available(*, deprecated, renamed: "TextRunner", message: "Use TextRunner instead. May be removed in 0.3 or later.")
public typealias TextLLMRunner = TextRunner

private final class Receiver {
  let onText: (String) -> Bool

  init(_ onText: @escaping (String) -> Bool) {
    self.onText = onText
  }
}

/// An `et_llm_config` on its way to the thread that uses it.
private final class Handle: @unchecked Sendable {
  private var config: OpaquePointer?

  init(_ config: OpaquePointer) {
    self.config = config
  }

  deinit {
    et_llm_config_free(config)
  }

  /// The configuration, which is the caller's from now on.
  func take() -> OpaquePointer {
    defer { config = nil }
    return config!
  }
}
