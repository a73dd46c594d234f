// SPDX-License-Identifier: BSD-3-Clause
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/optimized/cpu/convolution/planes.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep

#include <algorithm>

#include "hwy/highway.h"
#include "kernels/optimized/cpu/convolution/convolution.h"

HWY_BEFORE_NAMESPACE();
namespace torch::executor::native::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using FloatTag = hn::ScalableTag<float>;
using FloatVec = hn::Vec<FloatTag>;

constexpr int64_t kMaxTaps = 64;
constexpr int64_t kBandFloats = 14336;  // 56 KiB of the stack

// Rows of the input with their padding, for some rows of the output. With a stride of s a row is stored as s phases, so
// that neighbours of the output always read neighbours: element x is at [x % s][x / s].
struct Band {
  const Convolution* shape;
  int64_t phase_pitch;  // floats from a phase to the next, with room for whole vectors
  int64_t row_pitch;
  int64_t output_rows;  // that its rows are enough for

  explicit Band(const Convolution& convolution) : shape(&convolution) {
    const int64_t step = convolution.stride[2];
    const int64_t reach = (convolution.kernel_size[2] - 1) * convolution.dilation[2] / step;
    const int64_t lanes = static_cast<int64_t>(hn::Lanes(FloatTag()));
    phase_pitch = (convolution.out_size[2] + 2 * lanes - 1) / lanes * lanes + reach + lanes;
    row_pitch = phase_pitch * step;
    const int64_t spare_rows = kBandFloats / row_pitch - input_rows(1);
    output_rows = spare_rows < 0 ? 0 : std::min(spare_rows / convolution.stride[1] + 1, convolution.out_size[1]);
  }

  int64_t input_rows(int64_t rows) const {
    return (rows - 1) * shape->stride[1] + (shape->kernel_size[1] - 1) * shape->dilation[1] + 1;
  }
};

// The padding is there already.
void fill_row(const Band& band, const float* in, float* out) {
  const Convolution& shape = *band.shape;
  const int64_t padding = shape.padding[2], step = shape.stride[2];
  // Only as much of the row as the output reads.
  const int64_t read = (shape.out_size[2] - 1) * step + (shape.kernel_size[2] - 1) * shape.dilation[2] + 1 - padding;
  const int64_t width = std::clamp<int64_t>(read, 0, shape.in_size[2]);
  if (step == 1) {
    std::copy_n(in, width, out + padding);
    return;
  }
  int64_t j = 0;
  if (step == 2) {
    const FloatTag d;
    const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
    float* evens = out + (padding % 2) * band.phase_pitch + padding / 2;
    float* odds = out + ((padding + 1) % 2) * band.phase_pitch + (padding + 1) / 2;
    for (; j + 2 * lanes <= width; j += 2 * lanes) {
      FloatVec even, odd;
      hn::LoadInterleaved2(d, in + j, even, odd);
      hn::StoreU(even, d, evens + j / 2);
      hn::StoreU(odd, d, odds + j / 2);
    }
  }
  for (; j < width; ++j) {
    out[(padding + j) % step * band.phase_pitch + (padding + j) / step] = in[j];
  }
}

struct Filter {
  int64_t taps;
  int64_t offsets[kMaxTaps];
  float weights[kMaxTaps];
  float bias;
};

template <int kRows, int kVectors>
HWY_NOINLINE void filter_tile(const Filter& filter, const float* in, int64_t in_pitch, float* out, int64_t out_pitch,
                              int64_t count) {
  const FloatTag d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  FloatVec sums[kRows][kVectors];
  for (int i = 0; i < kRows; ++i) {
    for (int v = 0; v < kVectors; ++v) {
      sums[i][v] = hn::Set(d, filter.bias);
    }
  }
  for (int64_t t = 0; t < filter.taps; ++t) {
    const float* source = in + filter.offsets[t];
    const FloatVec weight = hn::Set(d, filter.weights[t]);
    for (int i = 0; i < kRows; ++i) {
      for (int v = 0; v < kVectors; ++v) {
        sums[i][v] = hn::MulAdd(weight, hn::LoadU(d, source + i * in_pitch + v * lanes), sums[i][v]);
      }
    }
  }
  for (int i = 0; i < kRows; ++i) {
    for (int v = 0; v < kVectors; ++v) {
      float* target = out + i * out_pitch + v * lanes;
      const int64_t left = count - v * lanes;
      if (left >= lanes) {
        hn::StoreU(sums[i][v], d, target);
      } else if (left > 0) {
        alignas(64) float values[HWY_MAX_BYTES / sizeof(float)];
        hn::Store(sums[i][v], d, values);
        std::copy_n(values, left, target);
      }
    }
  }
}

template <int kRows>
HWY_INLINE void filter_rows(const Filter& filter, const float* in, int64_t in_pitch, float* out, int64_t out_pitch,
                            int64_t width) {
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(FloatTag()));
  int64_t j = 0;
  for (; j + lanes < width; j += 2 * lanes) {
    filter_tile<kRows, 2>(filter, in + j, in_pitch, out + j, out_pitch, width - j);
  }
  if (j < width) {
    filter_tile<kRows, 1>(filter, in + j, in_pitch, out + j, out_pitch, width - j);
  }
}

// One input plane, one filter, one output plane.
void filter_plane(const Band& band, const Filter& filter, const float* in, float* out, float* rows) {
  const Convolution& shape = *band.shape;
  const int64_t in_pitch = shape.stride[1] * band.row_pitch;
  const int64_t out_pitch = shape.out_stride[1];
  for (int64_t begin = 0; begin < shape.out_size[1]; begin += band.output_rows) {
    const int64_t count = std::min(band.output_rows, shape.out_size[1] - begin);
    for (int64_t i = 0; i < band.input_rows(count); ++i) {
      const int64_t row = begin * shape.stride[1] - shape.padding[1] + i;
      float* to = rows + i * band.row_pitch;
      if (row >= 0 && row < shape.in_size[1]) {
        fill_row(band, in + row * shape.in_stride[1], to);
      } else if (count < shape.out_size[1]) {  // another band's rows were there
        std::fill_n(to, band.row_pitch, 0.0f);
      }
    }
    const float* source = rows;
    float* target = out + begin * out_pitch;
    int64_t i = 0;
    for (; i + 4 <= count; i += 4, source += 4 * in_pitch, target += 4 * out_pitch) {
      filter_rows<4>(filter, source, in_pitch, target, out_pitch, shape.out_size[2]);
    }
    for (; i < count; ++i, source += in_pitch, target += out_pitch) {
      filter_rows<1>(filter, source, in_pitch, target, out_pitch, shape.out_size[2]);
    }
  }
}

bool filter_planes(const Convolution& shape, const float* in, const float* weight, const float* bias, float* out) {
  const Band band(shape);
  if (band.output_rows == 0) {
    return false;
  }
  alignas(64) float rows[kBandFloats];
  std::fill_n(rows, std::min(kBandFloats, band.input_rows(band.output_rows) * band.row_pitch), 0.0f);
  Filter filter;
  filter.taps = shape.taps();
  for (int64_t t = 0; t < filter.taps; ++t) {
    const int64_t x = t % shape.kernel_size[2] * shape.dilation[2];
    filter.offsets[t] = t / shape.kernel_size[2] * shape.dilation[1] * band.row_pitch +
                        x % shape.stride[2] * band.phase_pitch + x / shape.stride[2];
  }
  for (int64_t n = 0; n < shape.batch; ++n) {
    for (int64_t channel = 0; channel < shape.out_channels; ++channel) {
      const float* taps = weight + channel * shape.weight_stride0;
      for (int64_t t = 0; t < filter.taps; ++t) {
        filter.weights[t] =
            taps[t / shape.kernel_size[2] * shape.weight_stride[1] + t % shape.kernel_size[2] * shape.weight_stride[2]];
      }
      filter.bias = bias == nullptr ? 0.0f : bias[channel];
      filter_plane(band, filter, in + n * shape.in_batch_stride + channel / shape.out_group() * shape.in_channel_stride,
                   out + n * shape.out_batch_stride + channel * shape.out_channel_stride, rows);
    }
  }
  return true;
}

}  // namespace torch::executor::native::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace torch::executor::native {
HWY_EXPORT(filter_planes);

bool convolve_planes(const Convolution& shape, const float* in, const float* weight, const float* bias, float* out) {
  constexpr int64_t kMaxParameter = 64;  // larger ones would not fit the band; here they also keep products small
  if (shape.transposed || shape.in_group() != 1 || shape.out_group() >= 4 || shape.in_stride[2] != 1 ||
      shape.out_stride[2] != 1 || shape.in_size[0] != 1 || shape.out_size[0] != 1 || shape.kernel_size[0] != 1 ||
      shape.padding[0] != 0 || shape.taps() > 64) {
    return false;
  }
  for (int d = 1; d < Convolution::kDims; ++d) {
    if (shape.padding[d] > kMaxParameter || shape.dilation[d] > kMaxParameter || shape.stride[d] > kMaxParameter ||
        shape.out_size[d] > (int64_t(1) << 24)) {
      return false;
    }
  }
  return HWY_DYNAMIC_DISPATCH(filter_planes)(shape, in, weight, bias, out);
}

}  // namespace torch::executor::native
#endif
