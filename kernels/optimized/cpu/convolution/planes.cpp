// SPDX-License-Identifier: BSD-3-Clause
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/optimized/cpu/convolution/planes.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep

#include <executorch/runtime/kernel/thread_parallel_interface.h>

#include <algorithm>

#include "hwy/highway.h"
#include "kernels/optimized/cpu/convolution/convolution.h"

HWY_BEFORE_NAMESPACE();
namespace torch::executor::native::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using FloatTag = hn::ScalableTag<float>;
using FloatVec = hn::Vec<FloatTag>;

constexpr int64_t kMaxTaps = 64;
constexpr int64_t kBandFloats = 14336;  // 56 KiB on the stack

// A padded copy of the input rows for some output rows. With a stride of s, a row is stored as s phases, with element x
// at [x % s][x / s], so that adjacent outputs always read adjacent elements.
struct Band {
  const Convolution* shape;
  int64_t phase_pitch;  // floats from a phase to the next, so many that whole vectors fit
  int64_t row_pitch;
  int64_t output_rows;  // the output rows that can be computed from the band

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

// Loads `count` elements, at most a vector, and zeros. Callers store whole vectors: the pitches leave room for the
// zeros.
HWY_INLINE FloatVec load_at_most(FloatTag d, const float* in, int64_t count) {
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  if (count >= lanes) {
    return hn::LoadU(d, in);
  }
  return count <= 0 ? hn::Zero(d) : hn::LoadN(d, in, static_cast<size_t>(count));
}

// Copies a row of the input to the band. The padding before it is zero already.
void fill_row(const Band& band, const float* in, float* out) {
  const FloatTag d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const Convolution& shape = *band.shape;
  const int64_t padding = shape.padding[2], step = shape.stride[2];
  // Copy only what the output reads: the rest may not fit in the band.
  const int64_t read = (shape.out_size[2] - 1) * step + (shape.kernel_size[2] - 1) * shape.dilation[2] + 1 - padding;
  const int64_t width = std::clamp<int64_t>(read, 0, shape.in_size[2]);
  if (step == 1) {
    for (int64_t j = 0; j < width; j += lanes) {
      hn::StoreU(load_at_most(d, in + j, width - j), d, out + padding + j);
    }
  } else if (step == 2) {
    float* evens = out + (padding % 2) * band.phase_pitch + padding / 2;
    float* odds = out + ((padding + 1) % 2) * band.phase_pitch + (padding + 1) / 2;
    for (int64_t j = 0; j < width; j += 2 * lanes) {
      const FloatVec low = load_at_most(d, in + j, width - j);
      const FloatVec high = load_at_most(d, in + j + lanes, width - j - lanes);
      hn::StoreU(hn::ConcatEven(d, high, low), d, evens + j / 2);
      hn::StoreU(hn::ConcatOdd(d, high, low), d, odds + j / 2);
    }
  } else {
    for (int64_t j = 0; j < width; ++j) {
      out[(padding + j) % step * band.phase_pitch + (padding + j) / step] = in[j];
    }
  }
}

struct Filter {
  int64_t taps;
  int64_t offsets[kMaxTaps];
  float weights[kMaxTaps];
  float bias;
};

// The memory of an output tile.
struct Target {
  float* data;
  int64_t pitch;
  int64_t count;     // elements of a row in tiles of one vector; in tiles of two vectors, both are full
  int64_t distance;  // floats from the first vector of a row to the second; the vectors may overlap
  const float* end;  // whole vectors may be stored up to here, because later rows overwrite the rest; or null
};

template <int kRows, int kVectors>
HWY_NOINLINE void filter_tile(const Filter& filter, const float* in, int64_t in_pitch, const Target& target) {
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
        sums[i][v] = hn::MulAdd(weight, hn::LoadU(d, source + i * in_pitch + v * target.distance), sums[i][v]);
      }
    }
  }
  for (int i = 0; i < kRows; ++i) {
    for (int v = 0; v < kVectors; ++v) {
      float* out = target.data + i * target.pitch + v * target.distance;
      if (target.count >= lanes || (target.end != nullptr && target.end - out >= lanes)) {
        hn::StoreU(sums[i][v], d, out);
      } else {
        alignas(64) float values[HWY_MAX_BYTES / sizeof(float)];
        hn::Store(sums[i][v], d, values);
        std::copy_n(values, target.count, out);
      }
    }
  }
}

template <int kRows>
HWY_INLINE void filter_rows(const Filter& filter, const float* in, int64_t in_pitch, float* out, int64_t out_pitch,
                            int64_t width, const float* end) {
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(FloatTag()));
  if (width < lanes) {
    filter_tile<kRows, 1>(filter, in, in_pitch, {out, out_pitch, width, 0, end});
  } else if (width < 2 * lanes) {
    filter_tile<kRows, 2>(filter, in, in_pitch, {out, out_pitch, lanes, width - lanes, nullptr});
  } else {
    // The last tile starts earlier, so that it is full, and computes some columns again.
    for (int64_t j = 0; j < width; j += 2 * lanes) {
      const int64_t at = std::min(j, width - 2 * lanes);
      filter_tile<kRows, 2>(filter, in + at, in_pitch, {out + at, out_pitch, lanes, lanes, nullptr});
    }
  }
}

// Computes one output plane from one input plane and one filter.
void filter_plane(const Band& band, const Filter& filter, const float* in, float* out, float* rows) {
  const Convolution& shape = *band.shape;
  const int64_t in_pitch = shape.stride[1] * band.row_pitch;
  const int64_t out_pitch = shape.out_stride[1];
  // Stores may run into the next row only if the rows of the plane are contiguous.
  const float* end = out_pitch == shape.out_size[2] ? out + shape.out_pixels() : nullptr;
  for (int64_t begin = 0; begin < shape.out_size[1]; begin += band.output_rows) {
    const int64_t count = std::min(band.output_rows, shape.out_size[1] - begin);
    for (int64_t i = 0; i < band.input_rows(count); ++i) {
      const int64_t row = begin * shape.stride[1] - shape.padding[1] + i;
      float* to = rows + i * band.row_pitch;
      if (row >= 0 && row < shape.in_size[1]) {
        fill_row(band, in + row * shape.in_stride[1], to);
      } else if (count < shape.out_size[1]) {  // the previous band has left its rows there
        std::fill_n(to, band.row_pitch, 0.0f);
      }
    }
    const float* source = rows;
    float* target = out + begin * out_pitch;
    int64_t i = 0;
    for (; i + 4 <= count; i += 4, source += 4 * in_pitch, target += 4 * out_pitch) {
      filter_rows<4>(filter, source, in_pitch, target, out_pitch, shape.out_size[2], end);
    }
    for (; i + 2 <= count; i += 2, source += 2 * in_pitch, target += 2 * out_pitch) {
      filter_rows<2>(filter, source, in_pitch, target, out_pitch, shape.out_size[2], end);
    }
    for (; i < count; ++i, source += in_pitch, target += out_pitch) {
      filter_rows<1>(filter, source, in_pitch, target, out_pitch, shape.out_size[2], end);
    }
  }
}

// Whether the input rows for one output row fit in a band.
bool fits_band(const Convolution& shape) {
  return Band(shape).output_rows > 0;
}

// Computes output planes [begin, end), numbered as batch * channels + channel.
void filter_planes(const Convolution& shape, const float* in, const float* weight, const float* bias, float* out,
                   int64_t begin, int64_t end) {
  const Band band(shape);
  alignas(64) float rows[kBandFloats];
  std::fill_n(rows, std::min(kBandFloats, band.input_rows(band.output_rows) * band.row_pitch), 0.0f);
  Filter filter;
  filter.taps = shape.taps();
  for (int64_t t = 0; t < filter.taps; ++t) {
    const int64_t x = t % shape.kernel_size[2] * shape.dilation[2];
    filter.offsets[t] = t / shape.kernel_size[2] * shape.dilation[1] * band.row_pitch +
                        x % shape.stride[2] * band.phase_pitch + x / shape.stride[2];
  }
  for (int64_t plane = begin; plane < end; ++plane) {
    const int64_t n = plane / shape.out_channels;
    const int64_t channel = plane % shape.out_channels;
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

}  // namespace torch::executor::native::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace torch::executor::native {
HWY_EXPORT(fits_band);
HWY_EXPORT(filter_planes);

bool convolve_planes(const Convolution& shape, const float* in, const float* weight, const float* bias, float* out) {
  using executorch::extension::internal::grain_for;
  using executorch::extension::internal::GRAIN_PRODUCTS;
  constexpr int64_t kMaxParameter = 64;  // larger ones do not fit in a band; the limit also avoids overflow
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
  if (!HWY_DYNAMIC_DISPATCH(fits_band)(shape)) {
    return false;
  }
  const int64_t grain = grain_for(GRAIN_PRODUCTS, {shape.out_pixels(), shape.taps()});
  executorch::extension::parallel_for(0, shape.batch * shape.out_channels, grain, [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(filter_planes)(shape, in, weight, bias, out, begin, end);
  });
  return true;
}

}  // namespace torch::executor::native
#endif
