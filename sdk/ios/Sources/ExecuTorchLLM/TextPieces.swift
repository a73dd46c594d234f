// SPDX-License-Identifier: BSD-3-Clause
// Pieces of text that the C interface gives while it works.
import CExecuTorch
import Foundation

/// Calls `body` with a callback for the C interface and its context. The callback passes each piece of text to `onText`,
/// which returns false to end the text.
func withTextReceiver(
  _ onText: (String) -> Bool, _ body: (@escaping et_llm_text, UnsafeMutableRawPointer) throws -> Void
) rethrows {
  try withoutActuallyEscaping(onText) { onText in
    let receiver = Receiver(onText)
    try withExtendedLifetime(receiver) {
      try body(
        { text, size, context in
          let bytes = UnsafeRawBufferPointer(start: text, count: size)
          return Unmanaged<Receiver>.fromOpaque(context!).takeUnretainedValue().onText(
            String(decoding: bytes, as: UTF8.self))
        }, Unmanaged.passUnretained(receiver).toOpaque())
    }
  }
}

/// Passes the pieces that `make` produces to a stream, until the stream is no longer read.
func textStream(
  _ continuation: AsyncThrowingStream<String, Swift.Error>.Continuation,
  _ make: ((String) -> Bool) throws -> Void
) {
  do {
    try make { text in
      if case .terminated = continuation.yield(text) { return false }
      return true
    }
    continuation.finish()
  } catch {
    continuation.finish(throwing: error)
  }
}

private final class Receiver {
  let onText: (String) -> Bool

  init(_ onText: @escaping (String) -> Bool) {
    self.onText = onText
  }
}
