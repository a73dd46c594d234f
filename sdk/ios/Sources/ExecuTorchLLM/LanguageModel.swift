// SPDX-License-Identifier: BSD-3-Clause
import CExecuTorch
import ExecuTorch
import Foundation

/// The runner of the C interface, which is loaded at first use. ``TextRunner`` and ``MultimodalRunner`` wrap it.
final class LanguageModel: @unchecked Sendable {
  private let modelPath: String
  private let tokenizerPath: String?
  private let specialTokens: [String]
  private let queue = DispatchQueue(label: "org.pytorch.executorch.llm", qos: .userInitiated)
  private let lock = NSLock()
  private var handle: OpaquePointer?  // under the lock; freed only with this object
  private var isGivenAway = false  // under the lock

  init(modelPath: String, tokenizerPath: String?, specialTokens: [String]) {
    self.modelPath = modelPath
    self.tokenizerPath = tokenizerPath
    self.specialTokens = specialTokens
  }

  deinit {
    et_llm_free(handle)
  }

  func isLoaded() -> Bool {
    lock.withLock { handle != nil }
  }

  func loaded() throws -> OpaquePointer {
    try lock.withLock {
      if let handle { return handle }
      guard !isGivenAway else {
        throw ExecuTorchError(code: .invalidState, description: "the model drafts for another runner: make a new one")
      }
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

  func stop() {
    lock.withLock { et_llm_stop(handle) }
  }

  func reset() {
    lock.withLock { _ = handle.map { et_llm_reset($0, nil) } }
  }

  /// Calls a function of the C interface with the model, which is loaded if necessary.
  func call(_ function: (OpaquePointer, UnsafeMutablePointer<OpaquePointer?>) -> et_status) throws {
    let model = try loaded()
    try withExtendedLifetime(self) { try check { function(model, $0) } }
  }

  /// The text that a function of the C interface returns, which belongs to the model until the next call.
  func text(
    _ function: (OpaquePointer, UnsafeMutablePointer<UnsafePointer<CChar>?>, UnsafeMutablePointer<OpaquePointer?>) ->
      et_status
  ) throws -> String {
    let model = try loaded()
    var text: UnsafePointer<CChar>?
    return try withExtendedLifetime(self) {
      try check { function(model, &text, $0) }
      return String(cString: text!)
    }
  }

  /// Transfers `draft` to this model; its runner cannot use it any more.
  func setDraft(_ draft: LanguageModel) throws {
    guard draft !== self else {
      throw ExecuTorchError(code: .invalidArgument, description: "a model cannot draft for itself: load a smaller one")
    }
    let (model, drafting) = (try loaded(), try draft.loaded())
    try draft.lock.withLock {
      guard draft.handle != nil else {
        throw ExecuTorchError(code: .invalidState, description: "the model drafts for another runner: make a new one")
      }
      try withExtendedLifetime(self) { try check { et_llm_set_draft(model, drafting, $0) } }
      draft.handle = nil
      draft.isGivenAway = true
    }
  }

  /// Adds a prompt and the answer to the conversation. The answer ends when `onText` returns false.
  func generate(_ prompt: [MultimodalInput], _ config: LanguageModelConfig, onText: (String) -> Bool) throws {
    let model = try loaded()
    try withTextReceiver(onText) { receive, context in
      try withExtendedLifetime((self, config)) {
        // A text goes with its size, because it may have a NUL inside.
        try withParts(prompt) { parts in
          try check {
            et_llm_generate_inputs(model, parts.baseAddress, parts.count, config.pointer, receive, context, $0)
          }
        }
      }
    }
  }

  /// The answer as a stream, which begins at once, and waits for the other streams of this model.
  func stream(_ prompt: [MultimodalInput], _ config: Config) -> AsyncThrowingStream<String, Swift.Error> {
    let given = config.copy()
    given.isEchoEnabled = false
    let made = Swift.Result { try given.make() }
    return AsyncThrowingStream { continuation in
      queue.async {
        textStream(continuation) { give in try self.generate(prompt, made.get(), onText: give) }
      }
    }
  }

  func prefill(_ inputs: [MultimodalInput]) throws {
    try withParts(inputs) { parts in
      try call { et_llm_prefill_inputs($0, parts.baseAddress, parts.count, $1) }
    }
  }
}

/// An `et_llm_config`.
final class LanguageModelConfig: @unchecked Sendable {
  let pointer: OpaquePointer

  init(_ pointer: OpaquePointer) {
    self.pointer = pointer
  }

  deinit {
    et_llm_config_free(pointer)
  }
}

/// The inputs for the C interface, while `body` runs.
private func withParts<R>(
  _ inputs: [MultimodalInput], _ body: (UnsafeBufferPointer<et_llm_input>) throws -> R
) rethrows -> R {
  var parts: [et_llm_input] = []
  defer { parts.forEach { UnsafeMutableRawPointer(mutating: $0.data)?.deallocate() } }
  for input in inputs {
    let (type, sizes, bytes) = input.content
    // One more element, because an empty part must have an address.
    let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count + 1, alignment: 16)
    bytes.withUnsafeBytes { copy.copyMemory(from: $0) }
    parts.append(
      et_llm_input(type: type, sizes: (sizes.0, sizes.1, sizes.2), data: copy.baseAddress, size: bytes.count))
  }
  return try parts.withUnsafeBufferPointer(body)
}
