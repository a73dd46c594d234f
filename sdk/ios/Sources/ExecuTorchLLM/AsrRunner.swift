// SPDX-License-Identifier: BSD-3-Clause
import CExecuTorch
import ExecuTorch
import Foundation

/// The settings of a transcription: `AsrTranscribeConfig { $0.maximumNewTokens = 64 }`. For nil, the program's setting
/// is used.
public struct AsrTranscribeConfig: Sendable {
  /// The most tokens of a window of sound.
  public var maximumNewTokens: Int = 128
  /// 0: always the likeliest token; higher values make the text more random.
  public var temperature: Double = 0
  /// The token that the text begins with.
  public var decoderStartTokenID: Int?
  /// Tokens of the prompt after the start token, such as a language and a task: ``AsrRunner/tokenID(_:)`` returns their
  /// numbers.
  public var promptTokenIDs: [Int]?
  /// Whether `segments` also finds the times of words.
  public var wordTimes = false

  public init() {}

  public init(_ block: (inout AsrTranscribeConfig) -> Void) {
    block(&self)
  }

  /// The settings of the program of `asr`, overridden by these. The caller frees them.
  fileprivate func make(for asr: OpaquePointer) throws -> OpaquePointer {
    var made: OpaquePointer?
    try check { et_asr_config_create(asr, &made, $0) }
    let config = made!
    do {
      try check { et_asr_config_set_int(config, "max_new_tokens", Int64(maximumNewTokens), $0) }
      try check { et_asr_config_set_double(config, "temperature", temperature, $0) }
      try check { et_asr_config_set_bool(config, "word_times", wordTimes, $0) }
      if let decoderStartTokenID {
        try check { et_asr_config_set_int(config, "decoder_start_token_id", Int64(decoderStartTokenID), $0) }
      }
      if let tokens = promptTokenIDs?.map(Int64.init) {
        try check { et_asr_config_set_tokens(config, "prompt_token_ids", tokens, tokens.count, $0) }
      }
    } catch {
      et_asr_config_free(config)
      throw error
    }
    return config
  }
}

/// A model that transcribes speech, such as Whisper: `sdk asr export` makes its program.
///
///     let runner = AsrRunner(modelPath: program)
///     print(try runner.transcribe("speech.wav"))
///
/// Functions may be called from any thread. A runner makes one call at a time: another one meanwhile throws
/// `invalidState`, except ``stop()``. Failures are `ExecuTorchError`s.
public final class AsrRunner: @unchecked Sendable {
  private let paths: (model: String, tokenizer: String?, data: String?, preprocessor: String?)
  private let queue = DispatchQueue(label: "org.pytorch.executorch.asr", qos: .userInitiated)
  private let lock = NSLock()
  private var handle: OpaquePointer?  // under the lock; freed only with this object

  /// Loads nothing yet.
  /// - Parameters:
  ///   - tokenizerPath: a `tokenizer.json`, `tokenizer.model` or `tokenizer.bin`; nil: the tokenizer in the program.
  ///   - dataPath: a `.ptd` file with weights; nil: none.
  ///   - preprocessorPath: a program whose method `forward` makes the encoder's input of samples; nil: the method
  ///     `preprocessor` of the program, or without one, an encoder that takes samples.
  public init(
    modelPath: String, tokenizerPath: String? = nil, dataPath: String? = nil, preprocessorPath: String? = nil
  ) {
    paths = (modelPath, tokenizerPath, dataPath, preprocessorPath)
  }

  deinit {
    et_asr_free(handle)
  }

  /// Whether the library that is linked can run models of speech.
  public static var isSupported: Bool { et_has_asr() }

  public func isLoaded() -> Bool {
    lock.withLock { handle != nil }
  }

  /// Loads the program and the tokenizer, so that the first text need not.
  public func load() throws {
    _ = try loaded()
  }

  /// The sampling rate that the model expects, in Hz.
  public func samplingRate() throws -> Int {
    let runner = try loaded()
    var rate: Int32 = 0
    try withExtendedLifetime(self) { try check { et_asr_sampling_rate(runner, &rate, $0) } }
    return Int(rate)
  }

  /// The id of a token, such as `<|en|>`; nil if the tokenizer does not have it.
  public func tokenID(_ token: String) throws -> Int? {
    let runner = try loaded()
    var found: Int64 = 0
    do {
      try withExtendedLifetime(self) { try check { et_asr_token_id(runner, token, &found, $0) } }
    } catch let error as ExecuTorchError where error.code == .notFound {
      return nil
    }
    return Int(found)
  }

  /// The text of a WAV file with the model's sampling rate, whose channels are averaged. A long file is transcribed in
  /// windows of as much sound as the model takes, each by itself.
  /// - Parameter tokenCallback: receives the text in pieces, too, in this thread. It may call ``stop()``.
  @discardableResult
  public func transcribe(
    _ wavPath: String, _ config: AsrTranscribeConfig = AsrTranscribeConfig(), tokenCallback: ((String) -> Void)? = nil
  ) throws -> String {
    try collect(.file(wavPath), config, tokenCallback)
  }

  /// The same for samples from -1 to 1 of one channel, ``samplingRate()`` a second.
  @discardableResult
  public func transcribe(
    _ samples: [Float], _ config: AsrTranscribeConfig = AsrTranscribeConfig(), tokenCallback: ((String) -> Void)? = nil
  ) throws -> String {
    try collect(.samples(samples), config, tokenCallback)
  }

  /// The text of a WAV file, piece by piece. It begins at once, in the background, and ends after the current token
  /// when the stream is no longer read.
  public func stream(
    _ wavPath: String, _ config: AsrTranscribeConfig = AsrTranscribeConfig()
  ) -> AsyncThrowingStream<String, Swift.Error> {
    stream(.file(wavPath), config)
  }

  /// The same for samples.
  public func stream(
    _ samples: [Float], _ config: AsrTranscribeConfig = AsrTranscribeConfig()
  ) -> AsyncThrowingStream<String, Swift.Error> {
    stream(.samples(samples), config)
  }

  /// The text of a WAV file in parts with their times. A window begins where the last complete part of the previous window
  /// ends, so that no word is cut.
  /// - Parameter segmentCallback: receives each part, too, in this thread. It may call ``stop()``.
  @discardableResult
  public func segments(
    _ wavPath: String, _ config: AsrTranscribeConfig = AsrTranscribeConfig(),
    segmentCallback: ((AsrSegment) -> Void)? = nil
  ) throws -> [AsrSegment] {
    try collectSegments(.file(wavPath), config, segmentCallback)
  }

  /// The same for samples from -1 to 1 of one channel, ``samplingRate()`` a second.
  @discardableResult
  public func segments(
    _ samples: [Float], _ config: AsrTranscribeConfig = AsrTranscribeConfig(),
    segmentCallback: ((AsrSegment) -> Void)? = nil
  ) throws -> [AsrSegment] {
    try collectSegments(.samples(samples), config, segmentCallback)
  }

  /// The token of the most likely language in the first window of samples, for the beginning of
  /// ``AsrTranscribeConfig/promptTokenIDs``: `tokenID("<|de|>")` for German. Throws `notSupported` if the program names no
  /// languages.
  public func detectLanguage(_ samples: [Float]) throws -> Int {
    let runner = try loaded()
    var token: Int64 = 0
    try withExtendedLifetime(self) {
      // One more element, because an empty array has no address.
      try check { et_asr_detect_language(runner, samples + [0], samples.count, &token, nil, $0) }
    }
    return Int(token)
  }

  /// Ends the current transcription after the current token.
  public func stop() {
    lock.withLock { et_asr_stop(handle) }
  }

  private enum Sound: Sendable {
    case file(String)
    case samples([Float])
  }

  private func loaded() throws -> OpaquePointer {
    try lock.withLock {
      if let handle { return handle }
      var options: OpaquePointer?
      try check { et_options_create(&options, $0) }
      defer { et_options_free(options) }
      if let data = paths.data {
        try check { et_options_add_data_file(options, data, $0) }
      }
      var made: OpaquePointer?
      try check { et_asr_load_file(paths.model, paths.tokenizer, paths.preprocessor, options, &made, $0) }
      handle = made
      return made!
    }
  }

  private func collect(
    _ sound: Sound, _ config: AsrTranscribeConfig, _ tokenCallback: ((String) -> Void)?
  ) throws -> String {
    var text = ""
    try run(sound, config) { piece in
      text += piece
      tokenCallback?(piece)
      return true
    }
    return text
  }

  private func stream(_ sound: Sound, _ config: AsrTranscribeConfig) -> AsyncThrowingStream<String, Swift.Error> {
    AsyncThrowingStream { continuation in
      queue.async { [self] in
        textStream(continuation) { give in try run(sound, config, onText: give) }
      }
    }
  }

  private func collectSegments(
    _ sound: Sound, _ config: AsrTranscribeConfig, _ segmentCallback: ((AsrSegment) -> Void)?
  ) throws -> [AsrSegment] {
    let runner = try loaded()
    let settings = try withExtendedLifetime(self) { try config.make(for: runner) }
    defer { et_asr_config_free(settings) }
    var found: [AsrSegment] = []
    try withSegmentReceiver({ segment in
      found.append(segment)
      segmentCallback?(segment)
    }) { receive, context in
      try withExtendedLifetime(self) {
        switch sound {
        case .file(let path):
          try check { et_asr_segments_file(runner, path, settings, receive, context, $0) }
        case .samples(let samples):
          // One more element, because an empty array has no address.
          try check {
            et_asr_segments_samples(runner, samples + [0], samples.count, settings, receive, context, $0)
          }
        }
      }
    }
    return found
  }

  private func run(_ sound: Sound, _ config: AsrTranscribeConfig, onText: (String) -> Bool) throws {
    let runner = try loaded()
    let settings = try withExtendedLifetime(self) { try config.make(for: runner) }
    defer { et_asr_config_free(settings) }
    try withTextReceiver(onText) { receive, context in
      try withExtendedLifetime(self) {
        switch sound {
        case .file(let path):
          try check { et_asr_transcribe_file(runner, path, settings, receive, context, $0) }
        case .samples(let samples):
          // One more element, because an empty array has no address.
          try check {
            et_asr_transcribe_samples(runner, samples + [0], samples.count, settings, receive, context, $0)
          }
        }
      }
    }
  }
}
