// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/extension/llm/runner/wav_loader.h>

#include <algorithm>
#include <cinttypes>
#include <cstring>
#include <limits>

#include <executorch/extension/llm/runner/util.h>
#include <executorch/runtime/core/error.h>
#include <executorch/runtime/platform/log.h>

namespace executorch {
namespace extension {
namespace llm {

using runtime::Error;
using runtime::Result;

namespace {

constexpr uint16_t kExtensible = 0xFFFE;
constexpr size_t kFormatSize = 16;
constexpr size_t kExtensibleSize = 40;
constexpr size_t kSubFormat = 24;  // offset in an extensible format chunk

uint32_t number_at(const char* data, size_t bytes) {
  uint32_t value = 0;
  for (size_t i = 0; i < bytes; i++) {
    value |= static_cast<uint32_t>(static_cast<uint8_t>(data[i])) << (8 * i);
  }
  return value;
}

bool is_named(const char* data, const char* name) {
  return std::memcmp(data, name, 4) == 0;
}

void read_format(WavHeader& header, const char* chunk, uint32_t size) {
  std::memcpy(header.fmt, chunk, 4);
  const char* const data = chunk + 8;
  header.Subchunk1Size = size;
  header.AudioFormat = static_cast<uint16_t>(number_at(data, 2));
  header.NumOfChan = static_cast<uint16_t>(number_at(data + 2, 2));
  header.SamplesPerSec = number_at(data + 4, 4);
  header.bytesPerSec = number_at(data + 8, 4);
  header.blockAlign = static_cast<uint16_t>(number_at(data + 12, 2));
  header.bitsPerSample = static_cast<uint16_t>(number_at(data + 14, 2));
  if (header.AudioFormat == kExtensible && size >= kExtensibleSize) {
    header.AudioFormat = static_cast<uint16_t>(number_at(data + kSubFormat, 2));
  }
}

const char* text_of(const std::vector<uint8_t>& data) {
  return reinterpret_cast<const char*>(data.data());
}

float integer_sample(const char* data, size_t bytes) {
  if (bytes == 1) {
    return (static_cast<float>(static_cast<uint8_t>(*data)) - 128.0F) / 127.0F;
  }
  // The last byte has the sign: shift it to the top.
  const auto value = static_cast<int32_t>(number_at(data, bytes) << (8 * (4 - bytes)));
  if (bytes == 2) {
    return static_cast<float>(value / 65536) * kOneOverShortMax;
  }
  return static_cast<float>(value) * kOneOverIntMax;
}

float float_sample(const char* data, size_t bytes) {
  if (bytes == 4) {
    float value = 0;
    std::memcpy(&value, data, sizeof(value));
    return value;
  }
  double value = 0;
  std::memcpy(&value, data, sizeof(value));
  return static_cast<float>(value);
}

/// The samples of all channels, interleaved.
Result<std::vector<float>> samples_of(const std::vector<uint8_t>& data, const WavHeader& header) {
  const bool is_float = header.AudioFormat == kWavFormatIeeeFloat;
  const size_t bytes = header.bitsPerSample / 8U;
  const bool known = header.bitsPerSample % 8 == 0 && (is_float ? bytes == 4 || bytes == 8 : bytes >= 1 && bytes <= 4);
  ET_CHECK_OR_RETURN_ERROR((header.AudioFormat == kWavFormatPcm || is_float) && known, InvalidExternalData,
                           "WAV samples of format %u with %u bits are not supported; expected integers of 8, 16, 24 or "
                           "32 bits (format 1), or floats of 32 or 64 (format 3)",
                           static_cast<unsigned>(header.AudioFormat), static_cast<unsigned>(header.bitsPerSample));
  ET_CHECK_OR_RETURN_ERROR(
      header.NumOfChan > 0 && header.SamplesPerSec > 0 && header.blockAlign == bytes * header.NumOfChan,
      InvalidExternalData, "WAV: %u channels at %" PRIu32 " Hz in blocks of %u bytes do not fit %zu bytes per sample",
      static_cast<unsigned>(header.NumOfChan), header.SamplesPerSec, static_cast<unsigned>(header.blockAlign), bytes);
  ET_CHECK_OR_RETURN_ERROR(header.Subchunk2Size <= data.size() - header.dataOffset, InvalidExternalData,
                           "the WAV file is cut: its samples take %" PRIu32 " bytes, but only %zu follow",
                           header.Subchunk2Size, data.size() - header.dataOffset);
  ET_CHECK_OR_RETURN_ERROR(header.Subchunk2Size % header.blockAlign == 0, InvalidExternalData,
                           "the WAV file is cut inside of a sample: %" PRIu32 " bytes in blocks of %u",
                           header.Subchunk2Size, static_cast<unsigned>(header.blockAlign));
  std::vector<float> samples(header.Subchunk2Size / bytes);
  const char* from = text_of(data) + header.dataOffset;
  for (float& sample : samples) {
    sample = is_float ? float_sample(from, bytes) : integer_sample(from, bytes);
    from += bytes;
  }
  return samples;
}

struct File {
  WavHeader header;
  std::vector<float> samples;
};

Result<File> read(const std::string& path) {
  ET_ASSIGN_OR_RETURN(data, internal::read_file(path));
  const auto header = load_wav_header(text_of(data), data.size());
  ET_CHECK_OR_RETURN_ERROR(header != nullptr, InvalidExternalData, "%s is not a WAV file that can be used",
                           path.c_str());
  Result<std::vector<float>> samples = samples_of(data, *header);
  ET_CHECK_OR_RETURN_ERROR(samples.ok(), InvalidExternalData, "%s is not a WAV file that can be used", path.c_str());
  return File{*header, std::move(*samples)};
}

}  // namespace

std::unique_ptr<WavHeader> load_wav_header(const char* data, size_t data_size) {
  if (data == nullptr || data_size < 12 || !is_named(data, "RIFF") || !is_named(data + 8, "WAVE")) {
    ET_LOG(Error, "not a WAV file: expected RIFF and WAVE in its first 12 bytes");
    return nullptr;
  }
  auto header = std::make_unique<WavHeader>();
  std::memcpy(header->RIFF, data, 4);
  header->ChunkSize = number_at(data + 4, 4);
  std::memcpy(header->WAVE, data + 8, 4);
  bool has_format = false;
  for (size_t at = 12; data_size - at >= 8;) {
    const uint32_t size = number_at(data + at + 4, 4);
    const size_t left = data_size - at - 8;
    if (is_named(data + at, "fmt ") && size >= kFormatSize && size <= left) {
      read_format(*header, data + at, size);
      has_format = true;
    } else if (is_named(data + at, "data") && has_format && at + 8 <= std::numeric_limits<uint32_t>::max()) {
      header->dataOffset = static_cast<uint32_t>(at + 8);
      header->Subchunk2Size = size;
      return header;
    }
    const size_t padded = static_cast<size_t>(size) + size % 2;
    if (padded >= left) {
      break;
    }
    at += 8 + padded;
  }
  ET_LOG(Error, "the WAV file has no %s",
         has_format ? "samples: its data chunk is missing" : "format before its samples");
  return nullptr;
}

std::unique_ptr<WavHeader> load_wav_header(const std::string& fp) {
  const auto data = internal::read_file(fp);
  return data.ok() ? load_wav_header(text_of(*data), data->size()) : nullptr;
}

std::vector<float> load_wav_audio_data(const std::string& fp) {
  Result<File> file = read(fp);
  return file.ok() ? std::move(file->samples) : std::vector<float>();
}

Result<Sound> read_wav(const std::string& path) {
  ET_ASSIGN_OR_RETURN(file, read(path));
  const size_t channels = file.header.NumOfChan;
  ET_CHECK_OR_RETURN_ERROR(!file.samples.empty(), InvalidExternalData, "%s has no samples", path.c_str());
  ET_CHECK_OR_RETURN_ERROR(file.header.SamplesPerSec <= static_cast<uint32_t>(INT32_MAX), InvalidExternalData,
                           "%s has %" PRIu32 " samples a second", path.c_str(), file.header.SamplesPerSec);
  Sound sound;
  sound.sample_rate = static_cast<int32_t>(file.header.SamplesPerSec);
  sound.samples.resize(file.samples.size() / channels);
  for (size_t i = 0; i < sound.samples.size(); i++) {
    float sum = 0;
    for (size_t channel = 0; channel < channels; channel++) {
      sum += file.samples[i * channels + channel];
    }
    sound.samples[i] = sum / static_cast<float>(channels);
  }
  return sound;
}

Error check_sample_rate(const Sound& sound, int32_t expected) {
  ET_CHECK_OR_RETURN_ERROR(sound.sample_rate == expected, InvalidArgument,
                           "the sound has %d samples a second, the model takes %d: convert it, for example with "
                           "`ffmpeg -i in.wav -ar %d out.wav`",
                           static_cast<int>(sound.sample_rate), static_cast<int>(expected), static_cast<int>(expected));
  return Error::Ok;
}

}  // namespace llm
}  // namespace extension
}  // namespace executorch
