// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/extension/llm/runner/audio.h>

#include <cstring>

namespace executorch {
namespace extension {
namespace llm {

using runtime::Error;
using runtime::Result;

namespace {

float sample_at(const uint8_t* data, size_t width) {
  if (width == 1) {
    return (static_cast<float>(*data) - 128.0F) / 128.0F;
  }
  if (width == 2) {
    int16_t value = 0;
    std::memcpy(&value, data, sizeof(value));
    return static_cast<float>(value) / 32768.0F;
  }
  float value = 0;
  std::memcpy(&value, data, sizeof(value));
  return value;
}

}  // namespace

Result<std::vector<float>> RawAudio::samples() const {
  const bool positive = batch_size > 0 && n_channels > 0 && n_samples > 0;
  const size_t count = positive ? data.size() / static_cast<size_t>(n_channels) / static_cast<size_t>(n_samples) /
                                      static_cast<size_t>(batch_size)
                                : 0;
  const bool whole = count > 0 && data.size() == count * static_cast<size_t>(n_channels) *
                                                     static_cast<size_t>(n_samples) * static_cast<size_t>(batch_size);
  ET_CHECK_OR_RETURN_ERROR(whole && (count == 1 || count == 2 || count == 4), InvalidArgument,
                           "%zu bytes are not sound of %d x %d x %d samples (batch, channels, samples) with 1, 2 or 4 "
                           "bytes each",
                           data.size(), static_cast<int>(batch_size), static_cast<int>(n_channels),
                           static_cast<int>(n_samples));
  const auto length = static_cast<size_t>(n_samples);
  std::vector<float> mixed(static_cast<size_t>(batch_size) * length, 0.0F);
  const uint8_t* from = data.data();
  for (size_t batch = 0; batch < static_cast<size_t>(batch_size); batch++) {
    for (int32_t channel = 0; channel < n_channels; channel++) {
      for (size_t i = 0; i < length; i++, from += count) {
        mixed[batch * length + i] += sample_at(from, count) / static_cast<float>(n_channels);
      }
    }
  }
  return mixed;
}

}  // namespace llm
}  // namespace extension
}  // namespace executorch
