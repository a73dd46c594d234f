// SPDX-License-Identifier: BSD-3-Clause
import CExecuTorch
import Foundation

/// A picture: planes of numbers, [channels, height, width], of the size that the program takes.
public struct Image: Sendable {
  /// The numbers, bytes or floats.
  public let data: Data
  public let width: Int
  public let height: Int
  public let channels: Int
  /// Whether the numbers are floats, which the caller has normalised as the model's image processor does.
  public let isFloat: Bool

  /// Bytes from 0 to 255.
  public init(data: Data, width: Int, height: Int, channels: Int) {
    (self.data, self.width, self.height, self.channels, isFloat) = (data, width, height, channels, false)
  }

  /// Floats that the caller has normalised.
  public init(floatData: Data, width: Int, height: Int, channels: Int) {
    (data, self.width, self.height, self.channels, isFloat) = (floatData, width, height, channels, true)
  }
}

/// Features of sound, [batchSize, bins, frames]: a window for each of the batch.
public struct Audio: Sendable {
  /// The numbers, bytes or floats.
  public let data: Data
  public let batchSize: Int
  public let bins: Int
  public let frames: Int
  public let isFloat: Bool

  /// Bytes, for a program whose encoder takes whole numbers.
  public init(data: Data, batchSize: Int, bins: Int, frames: Int) {
    (self.data, self.batchSize, self.bins, self.frames, isFloat) = (data, batchSize, bins, frames, false)
  }

  /// Floats.
  public init(floatData: Data, batchSize: Int, bins: Int, frames: Int) {
    (data, self.batchSize, self.bins, self.frames, isFloat) = (floatData, batchSize, bins, frames, true)
  }

  /// The same, with the label that one of ExecuTorch's documents uses.
  public init(float data: Data, batchSize: Int, bins: Int, frames: Int) {
    self.init(floatData: data, batchSize: batchSize, bins: bins, frames: frames)
  }
}

/// Samples of sound, [batchSize, channels, samples], for a program that computes the features itself. Channels
/// are averaged.
public struct RawAudio: Sendable {
  /// Samples of one byte are unsigned numbers around 128, samples of two bytes signed numbers, samples of four bytes
  /// floats.
  public let data: Data
  public let batchSize: Int
  public let channels: Int
  public let samples: Int

  public init(data: Data, batchSize: Int, channels: Int, samples: Int) {
    (self.data, self.batchSize, self.channels, self.samples) = (data, batchSize, channels, samples)
  }

  /// One channel of samples from -1 to 1.
  public init(_ samples: [Float]) {
    self.init(
      data: samples.withUnsafeBytes { Data($0) }, batchSize: 1, channels: 1, samples: samples.count)
  }
}

/// The kind of a part of a prompt.
public enum MultimodalInputType: Int, Sendable {
  case text
  case image
  case audio
  /// Samples, which ExecuTorch's classes do not take.
  case rawAudio
  /// No input has this type.
  case unsupported
}

/// A part of a prompt of a ``MultimodalRunner``.
public struct MultimodalInput: Sendable {
  private enum Part {
    case text(String)
    case image(Image)
    case audio(Audio)
    case rawAudio(RawAudio)
  }

  private let part: Part

  public init(_ text: String) { part = .text(text) }
  public init(_ image: Image) { part = .image(image) }
  public init(_ audio: Audio) { part = .audio(audio) }
  public init(_ rawAudio: RawAudio) { part = .rawAudio(rawAudio) }

  public var type: MultimodalInputType {
    switch part {
    case .text: return .text
    case .image: return .image
    case .audio: return .audio
    case .rawAudio: return .rawAudio
    }
  }

  /// The text; nil for an input of another type. The other properties do the same.
  public var text: String? {
    if case .text(let text) = part { return text }
    return nil
  }

  public var image: Image? {
    if case .image(let image) = part { return image }
    return nil
  }

  public var audio: Audio? {
    if case .audio(let audio) = part { return audio }
    return nil
  }

  public var rawAudio: RawAudio? {
    if case .rawAudio(let rawAudio) = part { return rawAudio }
    return nil
  }

  /// The fields of an `et_llm_input`. The C interface refuses a size that does not fit its field.
  var content: (type: et_llm_input_type, sizes: (Int32, Int32, Int32), bytes: Data) {
    func sizes(_ first: Int, _ second: Int, _ third: Int) -> (Int32, Int32, Int32) {
      (Int32(clamping: first), Int32(clamping: second), Int32(clamping: third))
    }
    switch part {
    case .text(let text):
      return (et_llm_input_type(ET_LLM_INPUT_TEXT), sizes(0, 0, 0), Data(text.utf8))
    case .image(let image):
      let type = image.isFloat ? ET_LLM_INPUT_NORMALIZED_IMAGE : ET_LLM_INPUT_IMAGE
      return (et_llm_input_type(type), sizes(image.width, image.height, image.channels), image.data)
    case .audio(let audio):
      let type = audio.isFloat ? ET_LLM_INPUT_AUDIO : ET_LLM_INPUT_AUDIO_BYTES
      return (et_llm_input_type(type), sizes(audio.batchSize, audio.bins, audio.frames), audio.data)
    case .rawAudio(let sound):
      let type = et_llm_input_type(ET_LLM_INPUT_RAW_AUDIO)
      return (type, sizes(sound.batchSize, sound.channels, sound.samples), sound.data)
    }
  }
}
