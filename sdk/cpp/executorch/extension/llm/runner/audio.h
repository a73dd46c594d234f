// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include <executorch/extension/llm/runner/media_data.h>

namespace executorch {
namespace extension {
namespace llm {

/// Samples of sound as bytes, [batch_size, n_channels, n_samples]: one byte per sample is uint8 around 128, two are
/// int16, four float32, in the byte order of the machine.
struct RawAudio {
  std::vector<uint8_t> data;
  int32_t batch_size = 0;
  int32_t n_channels = 0;
  int32_t n_samples = 0;

  /// Not in ExecuTorch: the samples from -1 to 1, [batch_size, n_samples], the mean of the channels. InvalidArgument if
  /// the number of bytes differs from the sizes.
  runtime::Result<std::vector<float>> samples() const;
};

/// Features of sound, uint8 or float32: [batch_size, n_bins, n_frames].
class Audio final : public internal::MediaData {
 public:
  Audio() = default;
  Audio(std::vector<uint8_t>&& data, int32_t batch_size, int32_t n_bins, int32_t n_frames)
      : MediaData(std::move(data), batch_size, n_bins, n_frames) {}
  Audio(std::vector<float>&& data, int32_t batch_size, int32_t n_bins, int32_t n_frames)
      : MediaData(std::move(data), batch_size, n_bins, n_frames) {}

  int32_t get_batch_size() const { return size(0); }
  int32_t get_n_bins() const { return size(1); }
  int32_t get_n_frames() const { return size(2); }

  /// A view, [batch_size, n_bins, n_frames], or with a leading dimension of 1. InvalidArgument if the number of
  /// elements differs from the shape's.
  runtime::Result<TensorPtr> toTensor(bool with_batch = false) const {
    return with_batch ? view({1, get_batch_size(), get_n_bins(), get_n_frames()})
                      : view({get_batch_size(), get_n_bins(), get_n_frames()});
  }
};

}  // namespace llm
}  // namespace extension
}  // namespace executorch
