// SPDX-License-Identifier: BSD-3-Clause
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/xnnpack/runtime/steps/depthwise_blocks.cpp"
#include "backends/xnnpack/runtime/steps/depthwise_blocks.h"

#include <algorithm>

#include "hwy/foreach_target.h"  // IWYU pragma: keep

#include "backends/xnnpack/runtime/steps/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace executorch {
namespace backends {
namespace xnnpack {
namespace HWY_NAMESPACE {

/// Adjacent outputs whose accumulators are in registers at once. So many hide the latency of additions.
constexpr size_t kMostPlaces = 8;

size_t block_channels() {
  return hn::Lanes(Tag());
}

/// Copies the pixels under the windows, with padding, to `padded`, where the channels of a block are contiguous.
HWY_INLINE void copy_padded(const DepthwiseBlock& block, float* padded) {
  const Tag d;
  const size_t lanes = hn::Lanes(d), width = block.padded_width();
  const size_t left = std::min(block.padding_left, width), inside = std::min(block.width, width - left);
  for (size_t i = 0; i < block.padded_height(); ++i, padded += width * lanes) {
    const size_t row = block.first_row + i;
    if (row >= block.height) {
      std::fill_n(padded, width * lanes, 0.0f);
      continue;
    }
    const float* from = block.image + row * block.width * block.pixel_stride;
    float* to = padded + left * lanes;
    std::fill(padded, to, 0.0f);
    for (size_t x = 0; x < inside; ++x, from += block.pixel_stride, to += lanes) {
      const Vec pixel = block.channels == lanes ? hn::LoadU(d, from) : hn::LoadN(d, from, block.channels);
      hn::StoreU(pixel, d, to);
    }
    std::fill(to, padded + width * lanes, 0.0f);
  }
}

/// Computes kPlaces adjacent outputs of a row. `from` is the first pixel of the first window.
template <size_t kPlaces>
HWY_INLINE void convolve_places(const DepthwiseBlock& block, const float* from, size_t row_stride, float* out) {
  const Tag d;
  const size_t lanes = hn::Lanes(d), step = block.stride_width * lanes, next = block.dilation_width * lanes;
  const float* weights = block.weights;
  Vec sums[kPlaces];
  for (size_t p = 0; p < kPlaces; ++p) {
    sums[p] = hn::LoadU(d, weights);
  }
  for (size_t y = 0; y < block.window_height; ++y, from += block.dilation_height * row_stride) {
    const float* pixels = from;
    for (size_t x = 0; x < block.window_width; ++x, pixels += next) {
      weights += lanes;
      const Vec weight = hn::LoadU(d, weights);
      for (size_t p = 0; p < kPlaces; ++p) {
        sums[p] = hn::MulAdd(hn::LoadU(d, pixels + p * step), weight, sums[p]);
      }
    }
  }
  const Vec least = hn::Set(d, block.least), most = hn::Set(d, block.most);
  for (size_t p = 0; p < kPlaces; ++p, out += block.out_stride) {
    const Vec result = clamp(sums[p], least, most);
    if (block.channels == lanes) {
      hn::StoreU(result, d, out);
    } else {
      hn::StoreN(result, d, out, block.channels);
    }
  }
}

/// Like the function above, for `places` outputs, at most kPlaces.
template <size_t kPlaces = kMostPlaces>
HWY_INLINE void convolve_some(const DepthwiseBlock& block, size_t places, const float* from, size_t row_stride,
                              float* out) {
  if constexpr (kPlaces > 0) {
    if (places == kPlaces) {
      convolve_places<kPlaces>(block, from, row_stride, out);
    } else {
      convolve_some<kPlaces - 1>(block, places, from, row_stride, out);
    }
  }
}

void convolve_block(const DepthwiseBlock& block, float* padded) {
  copy_padded(block, padded);
  const size_t lanes = hn::Lanes(Tag()), row_stride = block.padded_width() * lanes;
  const size_t parts = (block.out_width + kMostPlaces - 1) / kMostPlaces;
  for (size_t y = 0; y < block.out_height; ++y) {
    const float* const row = padded + y * block.stride_height * row_stride;
    for (size_t part = parts, x = 0; part > 0; --part) {
      // Divide the row evenly: a last part of one output would have no additions to overlap with.
      const size_t places = (block.out_width - x + part - 1) / part;
      convolve_some(block, places, row + x * block.stride_width * lanes, row_stride,
                    block.out + (y * block.out_width + x) * block.out_stride);
      x += places;
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace executorch {
namespace backends {
namespace xnnpack {

HWY_EXPORT(block_channels);
HWY_EXPORT(convolve_block);

size_t depthwise_block_channels() {
  return HWY_DYNAMIC_DISPATCH(block_channels)();
}

void convolve_block(const DepthwiseBlock& block, float* padded) {
  HWY_DYNAMIC_DISPATCH(convolve_block)(block, padded);
}

}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch
#endif
