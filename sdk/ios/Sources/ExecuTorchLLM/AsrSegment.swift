// SPDX-License-Identifier: BSD-3-Clause
import CExecuTorch

/// A part of a text, such as a sentence, with its times in seconds from the beginning of the sound.
public struct AsrSegment: Sendable, Equatable {
  public let start: Double
  public let end: Double
  public let text: String
  /// The words of the text, if ``AsrTranscribeConfig/wordTimes`` is set.
  public let words: [AsrWord]

  init(_ segment: et_asr_segment) {
    start = segment.start
    end = segment.end
    text = string(segment.text, segment.text_size)
    words = UnsafeBufferPointer(start: segment.words, count: segment.word_count).map {
      AsrWord(start: $0.start, end: $0.end, text: string($0.text, $0.text_size))
    }
  }
}

private func string(_ text: UnsafePointer<CChar>, _ size: Int) -> String {
  String(decoding: UnsafeRawBufferPointer(start: text, count: size), as: UTF8.self)
}

/// A word and its times in seconds from the beginning of the sound.
public struct AsrWord: Sendable, Equatable {
  public let start: Double
  public let end: Double
  /// The word, with the space before it and the punctuation after it.
  public let text: String
}

/// Calls `body` with a callback for the C interface and its context. The callback passes each segment to `onSegment`.
func withSegmentReceiver(
  _ onSegment: (AsrSegment) -> Void, _ body: (@escaping et_asr_segment_callback, UnsafeMutableRawPointer) throws -> Void
) rethrows {
  try withoutActuallyEscaping(onSegment) { onSegment in
    let receiver = SegmentReceiver(onSegment)
    try withExtendedLifetime(receiver) {
      try body(
        { segment, context in
          Unmanaged<SegmentReceiver>.fromOpaque(context!).takeUnretainedValue().onSegment(AsrSegment(segment!.pointee))
          return true
        }, Unmanaged.passUnretained(receiver).toOpaque())
    }
  }
}

private final class SegmentReceiver {
  let onSegment: (AsrSegment) -> Void

  init(_ onSegment: @escaping (AsrSegment) -> Void) {
    self.onSegment = onSegment
  }
}
