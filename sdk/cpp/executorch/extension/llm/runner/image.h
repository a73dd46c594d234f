// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include <executorch/extension/llm/runner/media_data.h>

namespace executorch {
namespace extension {
namespace llm {

/// An image as planes of uint8 or float32 numbers: [channels, height, width].
class Image : public internal::MediaData {
 public:
  Image() = default;
  Image(std::vector<uint8_t>&& data, int32_t width, int32_t height, int32_t channels)
      : MediaData(std::move(data), width, height, channels) {}
  Image(std::vector<float>&& data, int32_t width, int32_t height, int32_t channels)
      : MediaData(std::move(data), width, height, channels) {}

  int32_t width() const { return size(0); }
  int32_t height() const { return size(1); }
  int32_t channels() const { return size(2); }

  /// Whether a model's image processor made it, so that it already has the size that the program takes (not in
  /// ExecuTorch).
  bool is_prepared() const { return is_prepared_; }
  void mark_prepared() { is_prepared_ = true; }

  /// A view, [channels, height, width] or with a leading batch of 1. InvalidArgument if the data's size differs.
  runtime::Result<TensorPtr> toTensor(bool with_batch = false) const {
    return with_batch ? view({1, channels(), height(), width()}) : view({channels(), height(), width()});
  }

 private:
  bool is_prepared_ = false;
};

}  // namespace llm
}  // namespace extension
}  // namespace executorch
