// SPDX-License-Identifier: BSD-3-Clause
#include "steps/unfold_step.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include <executorch/runtime/core/checked_size.h>

namespace executorch {
namespace backends {
namespace xnnpack {

using runtime::internal::CheckedSize;

OptionalShape UnfoldStep::shape(const std::vector<Shape>& in) const {
  if (in.size() != 1 || in[0].size() != 4 || slices_.depth == 0 || in[0][0] % slices_.depth != 0) {
    return std::nullopt;
  }
  Window window;
  window.height = slices_.count;
  window.stride_height = slices_.stride;
  window.dilation_height = slices_.dilation;
  window.padding_top = window.padding_bottom = slices_.padding;
  const size_t volumes = in[0][0] / slices_.depth;
  const CheckedSize channels = CheckedSize(in[0][3]) * slices_.count;
  const OptionalShape places =
      slices_.count == 0 ? std::nullopt : window_shape({volumes, slices_.depth, 1, 1}, window, 1);
  const CheckedSize images = CheckedSize(volumes) * (places ? (*places)[1] : 0);
  constexpr size_t kMost = std::numeric_limits<size_t>::max() / 2;
  if (!places || !channels.at_most(kMost) || !images.at_most(kMost)) {
    return std::nullopt;
  }
  return Shape{static_cast<size_t>(images.value()), in[0][1], in[0][2], static_cast<size_t>(channels.value())};
}

void UnfoldStep::measure(const std::vector<Shape>& in) {
  const Shape out = *shape(in);
  const size_t volumes = in[0][0] / slices_.depth;
  places_ = volumes == 0 ? 1 : out[0] / volumes;
  height_ = in[0][1];
  columns_ = in[0][2];
  channels_ = in[0][3];
  rows_ = out[0] * height_;
  width_ = columns_ * out[3];
}

void UnfoldStep::run_rows(const StepData& data, size_t first, size_t count) {
  const size_t row_size = columns_ * channels_, step = slices_.count * channels_;
  for (size_t row = first; row < first + count; ++row) {
    const size_t place = row / height_ % places_, volume = row / height_ / places_;
    for (size_t slice = 0; slice < slices_.count; ++slice) {
      // Before the volume, this wraps to a huge number.
      const size_t depth = place * slices_.stride + slice * slices_.dilation - slices_.padding;
      float* to = static_cast<float*>(data.out) + row * width_ + slice * channels_;
      if (depth >= slices_.depth) {
        for (size_t x = 0; x < columns_; ++x, to += step) {
          std::fill_n(to, channels_, 0.0f);
        }
        continue;
      }
      const float* from = static_cast<const float*>(data.in[0]) +
                          ((volume * slices_.depth + depth) * height_ + row % height_) * row_size;
      for (size_t x = 0; x < columns_; ++x, to += step, from += channels_) {
        std::memcpy(to, from, channels_ * sizeof(float));
      }
    }
  }
}

}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch
