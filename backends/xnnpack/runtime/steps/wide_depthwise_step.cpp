// SPDX-License-Identifier: BSD-3-Clause
#include "steps/wide_depthwise_step.h"

#include <algorithm>

#include "private/xnnpack_kernels.h"
#include "steps/depthwise_blocks.h"

namespace executorch {
namespace backends {
namespace xnnpack {

using runtime::internal::CheckedSize;

namespace {

/// Limits windows, paddings and strides, so that sizes cannot overflow.
constexpr size_t kMostSide = 64;
constexpr size_t kMostDilation = 16;
/// Bytes of the padded image rows of a unit: the intended size, and the limit.
constexpr size_t kPaddedSize = size_t{192} << 10;
constexpr size_t kMostPaddedSize = size_t{1} << 28;
/// The fewest output rows of a unit, because neighbouring units both copy the image rows that their windows share.
constexpr size_t kFewestRows = 8;

/// Whether XNNPACK has a depthwise kernel for a window of this size.
bool has_kernel(size_t taps) {
  const xnn_dwconv_config* const kernels = xnn_init_f32_dwconv_config();
  return kernels != nullptr &&
         std::any_of(kernels, kernels + XNN_MAX_F32_DWCONV_UKERNELS,
                     [&](const xnn_dwconv_config& kernel) { return kernel.primary_tile >= taps; });
}

}  // namespace

WideDepthwiseStep::WideDepthwiseStep(const Convolution& convolution)
    : convolution_(convolution), block_channels_(depthwise_block_channels()) {}

std::unique_ptr<WideDepthwiseStep> WideDepthwiseStep::make(const Convolution& convolution, const Shape& image) {
  const Window& window = convolution.window;
  const bool applies =
      !window.same && convolution.in_channels == convolution.out_channels &&
      std::max({window.height, window.width, window.padding_top, window.padding_right, window.padding_bottom,
                window.padding_left, window.stride_height, window.stride_width}) <= kMostSide &&
      std::max(window.dilation_height, window.dilation_width) <= kMostDilation &&
      convolution.least < convolution.most && !has_kernel(window.height * window.width);
  if (!applies) {
    return nullptr;
  }
  std::unique_ptr<WideDepthwiseStep> step(new WideDepthwiseStep(convolution));
  return step->shape({image}) ? std::move(step) : nullptr;
}

xnn_status WideDepthwiseStep::pack(const StepData& constants, xnn_weights_cache_t weights) {
  const CheckedSize floats = CheckedSize(taps() + 1) * blocks() * block_channels_;
  const uint32_t seed = UINT32_C(0x77000000) ^ static_cast<uint32_t>(block_channels_);
  const void* packed = nullptr;
  const xnn_status status = find_or_pack(
      weights, seed, constants, floats * sizeof(float),
      [&](void* memory) {
        const auto* filter = static_cast<const float*>(constants.in[1]);
        const auto* bias = static_cast<const float*>(constants.in[2]);
        auto* to = static_cast<float*>(memory);
        for (size_t first = 0; first < convolution_.in_channels; first += block_channels_) {
          const size_t count = std::min(block_channels_, convolution_.in_channels - first);
          if (bias != nullptr) {
            std::copy_n(bias + first, count, to);
          }
          to += block_channels_;
          for (size_t tap = 0; tap < taps(); ++tap, to += block_channels_) {
            std::copy_n(filter + tap * convolution_.in_channels + first, count, to);
          }
        }
      },
      &packed);
  packed_ = static_cast<const float*>(packed);
  return status;
}

size_t WideDepthwiseStep::padded_height(size_t results) const {
  const Window& window = convolution_.window;
  return (results - 1) * window.stride_height + (window.height - 1) * window.dilation_height + 1;
}

size_t WideDepthwiseStep::padded_width(size_t results) const {
  const Window& window = convolution_.window;
  return (results - 1) * window.stride_width + (window.width - 1) * window.dilation_width + 1;
}

OptionalShape WideDepthwiseStep::shape(const std::vector<Shape>& in) const {
  if (in.empty() || in[0].size() != 4 || in[0][3] != convolution_.in_channels) {
    return std::nullopt;
  }
  const OptionalShape out = window_shape(in[0], convolution_.window, convolution_.out_channels);
  const CheckedSize rows = padded_height(kFewestRows);
  const CheckedSize columns = CheckedSize(in[0][2]) + 2 * kMostSide;
  return (rows * columns * block_channels_ * sizeof(float)).at_most(kMostPaddedSize) ? out : std::nullopt;
}

Step::Plan WideDepthwiseStep::plan(const std::vector<Shape>& in, size_t) {
  image_ = in[0];
  out_ = *shape(in);
  const size_t row_size = padded_width(out_[2]) * block_channels_ * sizeof(float);
  size_t rows = kFewestRows;
  while (rows < out_[1] && padded_height(rows + 1) * row_size <= kPaddedSize) {
    ++rows;
  }
  parts_ = ceil_div(out_[1], rows);
  rows_of_unit_ = ceil_div(out_[1], parts_);
  parts_ = ceil_div(out_[1], rows_of_unit_);
  return {out_[0] * blocks() * parts_, padded_height(rows_of_unit_) * row_size};
}

void WideDepthwiseStep::run(const StepData& data, size_t unit, void* scratch) {
  const Window& window = convolution_.window;
  const size_t part = unit % parts_, block_number = unit / parts_ % blocks(), image = unit / parts_ / blocks();
  const size_t channels = convolution_.in_channels, channel = block_number * block_channels_;
  const size_t first = part * rows_of_unit_;
  DepthwiseBlock block;
  block.image = static_cast<const float*>(data.in[0]) + image * image_[1] * image_[2] * channels + channel;
  block.height = image_[1];
  block.width = image_[2];
  block.pixel_stride = block.out_stride = channels;
  block.channels = std::min(block_channels_, channels - channel);
  block.first_row = first * window.stride_height - window.padding_top;
  block.padding_left = window.padding_left;
  block.window_height = window.height;
  block.window_width = window.width;
  block.stride_height = window.stride_height;
  block.stride_width = window.stride_width;
  block.dilation_height = window.dilation_height;
  block.dilation_width = window.dilation_width;
  block.weights = packed_ + block_number * (1 + taps()) * block_channels_;
  block.out = static_cast<float*>(data.out) + (image * out_[1] + first) * out_[2] * channels + channel;
  block.out_height = std::min(rows_of_unit_, out_[1] - first);
  block.out_width = out_[2];
  block.least = convolution_.least;
  block.most = convolution_.most;
  convolve_block(block, static_cast<float*>(scratch));
}

}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch
