// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <executorch/runtime/core/result.h>

namespace executorch {
namespace extension {
namespace llm {

constexpr uint16_t kWavFormatPcm = 0x0001;
constexpr uint16_t kWavFormatIeeeFloat = 0x0003;
constexpr float kOneOverIntMax = 1 / static_cast<float>(INT32_MAX);
constexpr float kOneOverShortMax = 1 / static_cast<float>(INT16_MAX);

/// The fields of a WAV file that describe its sound. `fmt` and `Subchunk1Size` are those of the format chunk;
/// `dataOffset` and `Subchunk2Size` are the offset and size of the samples. `AudioFormat` of an extensible file is the
/// format of its samples.
struct WavHeader {
  uint8_t RIFF[4];
  uint32_t ChunkSize;
  uint8_t WAVE[4];
  uint8_t fmt[4];
  uint32_t Subchunk1Size;
  uint16_t AudioFormat;
  uint16_t NumOfChan;
  uint32_t SamplesPerSec;
  uint32_t bytesPerSec;
  uint16_t blockAlign;
  uint16_t bitsPerSample;
  uint32_t dataOffset;
  uint32_t Subchunk2Size;
};

/// The header of a WAV file in memory. Null, after a log line, if it is not one or is cut before its samples.
std::unique_ptr<WavHeader> load_wav_header(const char* data, size_t data_size);
/// Like the function above, for a file.
std::unique_ptr<WavHeader> load_wav_header(const std::string& fp);

/// The samples of a WAV file from -1 to 1, interleaved if it has several channels: integers of 8, 16, 24 or 32 bits, or
/// floats of 32 or 64. Empty, after a log line, for a file that cannot be used.
std::vector<float> load_wav_audio_data(const std::string& fp);

// Not in ExecuTorch.

/// Sound of one channel.
struct Sound {
  std::vector<float> samples;
  int32_t sample_rate = 0;
};

/// The sound of a WAV file, the mean of its channels. AccessFailed if the file cannot be read; InvalidExternalData,
/// after a log line, for one that is cut or of another format.
runtime::Result<Sound> read_wav(const std::string& path);

/// InvalidArgument, after a log line that says how to convert the file, unless the sound has this sample rate.
runtime::Error check_sample_rate(const Sound& sound, int32_t expected);

}  // namespace llm
}  // namespace extension
}  // namespace executorch
