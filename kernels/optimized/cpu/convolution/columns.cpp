// SPDX-License-Identifier: BSD-3-Clause
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/optimized/cpu/convolution/columns.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep

#include <algorithm>

#include "hwy/highway.h"
#include "kernels/optimized/cpu/convolution/convolution.h"
#include "kernels/simd/gemm.h"

#ifndef ET_OPTIMIZED_CONVOLUTION_COLUMNS_STATE
#define ET_OPTIMIZED_CONVOLUTION_COLUMNS_STATE
namespace torch::executor::native {
namespace {

// The image and group from which columns (im2col) are packed. Row k of the columns is tap k % taps of input channel
// k / taps, the order of the weights in memory.
struct Columns {
  const Convolution* shape;
  const float* in;
};

// Adjacent output pixels of a panel in one output row.
struct PixelRun {
  int64_t depth, height, width, count;
};

// Elements of a panel's row that are read from one input row: panel[first + j] = channel[offset + j * step].
struct SourceRun {
  int64_t first, offset, count;
};

inline int find_pixel_runs(const Convolution& shape, int64_t pixel, int64_t count, PixelRun* runs) {
  int found = 0;
  int64_t width = pixel % shape.out_size[2];
  int64_t height = pixel / shape.out_size[2] % shape.out_size[1];
  int64_t depth = pixel / (shape.out_size[2] * shape.out_size[1]);
  while (count > 0) {
    PixelRun& run = runs[found++];
    run = {depth, height, width, std::min(count, shape.out_size[2] - width)};
    count -= run.count;
    width = 0;
    if (++height == shape.out_size[1]) {
      height = 0;
      ++depth;
    }
  }
  return found;
}

// Finds the elements that the pixels read through tap (kd, kh, kw). Elements that no run covers are padding.
inline int find_source_runs(const Convolution& shape, const PixelRun* pixels, int pixel_runs, int64_t kd, int64_t kh,
                            int64_t kw, SourceRun* runs) {
  int found = 0;
  int64_t at = 0;
  for (int i = 0; i < pixel_runs; at += pixels[i].count, ++i) {
    const int64_t depth = shape.input_position(0, pixels[i].depth, kd);
    const int64_t height = shape.input_position(1, pixels[i].height, kh);
    if (depth < 0 || height < 0) {
      continue;
    }
    const int64_t step = shape.stride[2];
    const int64_t width = pixels[i].width * step - shape.padding[2] + kw * shape.dilation[2];
    int64_t begin = 0, end = pixels[i].count;
    if (width < 0 || width + (end - 1) * step >= shape.in_size[2]) {
      begin = std::max<int64_t>(0, divide_up(-width, step));
      end = std::min(end, divide_up(shape.in_size[2] - width, step));
    }
    if (begin < end) {
      runs[found++] = {
          at + begin,
          depth * shape.in_stride[0] + height * shape.in_stride[1] + (width + begin * step) * shape.in_stride[2],
          end - begin};
    }
  }
  return found;
}

}  // namespace
}  // namespace torch::executor::native
#endif

HWY_BEFORE_NAMESPACE();
namespace torch::executor::native::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using FloatTag = hn::ScalableTag<float>;
using FloatVec = hn::Vec<FloatTag>;

HWY_INLINE void copy_row(const float* HWY_RESTRICT in, float* HWY_RESTRICT out, int64_t width) {
  const hn::ScalableTag<float> d;
  for (int64_t j = 0; j < width; j += static_cast<int64_t>(hn::Lanes(d))) {
    hn::StoreU(hn::LoadU(d, in + j), d, out + j);
  }
}

HWY_INLINE void zero_row(float* out, int64_t width) {
  const hn::ScalableTag<float> d;
  for (int64_t j = 0; j < width; j += static_cast<int64_t>(hn::Lanes(d))) {
    hn::StoreU(hn::Zero(d), d, out + j);
  }
}

HWY_INLINE FloatVec load_at_most(FloatTag d, const float* in, int64_t count) {
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  if (count >= lanes) {
    return hn::LoadU(d, in);
  }
  return count <= 0 ? hn::Zero(d) : hn::LoadN(d, in, static_cast<size_t>(count));
}

// out[j] = in[j * step]. Unless `exact`, it also writes zeros up to the end of the last vector.
HWY_INLINE void copy_run(const float* HWY_RESTRICT in, int64_t step, int64_t count, float* HWY_RESTRICT out,
                         bool exact) {
  const FloatTag d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const int64_t vectors_end = exact ? count - count % lanes : count;
  int64_t j = 0;
  if (step == 1) {
    for (; j < vectors_end; j += lanes) {
      hn::StoreU(load_at_most(d, in + j, count - j), d, out + j);
    }
  } else if (step == 2) {
    for (; j < vectors_end; j += lanes) {
      const int64_t readable = 2 * (count - j) - 1;
      const FloatVec low = load_at_most(d, in + 2 * j, readable);
      const FloatVec high = load_at_most(d, in + 2 * j + lanes, readable - lanes);
      hn::StoreU(hn::ConcatEven(d, high, low), d, out + j);
    }
  }
  for (; j < count; ++j) {
    out[j] = in[j * step];
  }
}

void pack_columns(const void* state, int64_t k, int64_t k_count, int64_t n, int64_t n_count, int64_t width,
                  float* panel) {
  const Columns& columns = *static_cast<const Columns*>(state);
  const Convolution& shape = *columns.shape;
  PixelRun pixels[kGemmMaxPanelWidth];
  SourceRun runs[kGemmMaxPanelWidth];
  const int pixel_runs = find_pixel_runs(shape, n, n_count, pixels);
  const int64_t taps = shape.taps();
  const int64_t step = shape.stride[2] * shape.in_stride[2];
  for (int64_t tap = 0; tap < taps; ++tap) {
    int64_t channel = divide_up(k - tap, taps);
    int64_t row = channel * taps + tap - k;
    if (row >= k_count) {
      continue;
    }
    const int64_t kw = tap % shape.kernel_size[2];
    const int64_t kh = tap / shape.kernel_size[2] % shape.kernel_size[1];
    const int64_t kd = tap / (shape.kernel_size[2] * shape.kernel_size[1]);
    const int count = find_source_runs(shape, pixels, pixel_runs, kd, kh, kw, runs);
    // Whole vectors may write into the panel's next row. That row is packed later, unless it is the first tap of the
    // next channel, which has been packed before.
    const bool exact = taps > 1 && tap == taps - 1;
    int64_t covered = 0;
    for (int i = 0; i < count; ++i) {
      covered += runs[i].count;
    }
    for (; row < k_count; row += taps, ++channel) {
      const float* in = columns.in + channel * shape.in_channel_stride;
      float* out = panel + row * width;
      if (count == 1 && covered == width && step == 1) {
        copy_row(in + runs[0].offset, out, width);
        continue;
      }
      if (covered < width) {
        zero_row(out, width);
      }
      for (int i = 0; i < count; ++i) {
        copy_run(in + runs[i].offset, step, runs[i].count, out + runs[i].first, exact);
      }
    }
  }
}

GemmPackFunction columns_packer() {
  return pack_columns;
}

}  // namespace torch::executor::native::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace torch::executor::native {
HWY_EXPORT(columns_packer);

namespace {

// Whether all pixels are at equal distances, so that (depth, height, width) can be one index with the stride of the
// width.
bool pixels_are_uniform(const int64_t* size, const int64_t* stride) {
  return (size[1] == 1 || stride[1] == size[2] * stride[2]) &&
         (size[0] == 1 || stride[0] == size[1] * size[2] * stride[2]);
}

bool is_pointwise(const Convolution& shape) {
  for (int d = 0; d < Convolution::kDims; ++d) {
    if (shape.kernel_size[d] != 1 || shape.stride[d] != 1 || shape.padding[d] != 0) {
      return false;
    }
  }
  return true;
}

// Whether a filter is contiguous, with channels outermost.
bool has_dense_filters(const Convolution& shape) {
  int64_t expected = 1;
  for (int d = Convolution::kDims - 1; d >= 0; --d) {
    if (shape.kernel_size[d] != 1 && shape.weight_stride[d] != expected) {
      return false;
    }
    expected *= shape.kernel_size[d];
  }
  return shape.in_group() == 1 || shape.weight_stride1 == expected;
}

}  // namespace

bool convolve_columns(const Convolution& shape, const float* in, const float* weight, const float* bias, float* out) {
  if (shape.transposed || !pixels_are_uniform(shape.out_size, shape.out_stride) || !has_dense_filters(shape)) {
    return false;
  }
  const bool pointwise = is_pointwise(shape) && pixels_are_uniform(shape.in_size, shape.in_stride);
  const bool channels_last = pointwise && shape.in_channel_stride == 1 && shape.out_channel_stride == 1;
  Columns columns{&shape, nullptr};
  GemmProblem problem;
  problem.k = shape.in_group() * shape.taps();
  for (int64_t n = 0; n < shape.batch; ++n) {
    for (int64_t g = 0; g < shape.groups; ++g) {
      const float* image = in + n * shape.in_batch_stride + g * shape.in_group() * shape.in_channel_stride;
      const float* filters = weight + g * shape.out_group() * shape.weight_stride0;
      const float* start = bias == nullptr ? nullptr : bias + g * shape.out_group();
      problem.c = out + n * shape.out_batch_stride + g * shape.out_group() * shape.out_channel_stride;
      if (channels_last) {
        problem.m = shape.out_pixels();
        problem.n = shape.out_group();
        problem.a = image;
        problem.a_row_stride = shape.in_stride[2];
        problem.b = filters;
        problem.b_k_stride = shape.weight_stride1;
        problem.b_col_stride = shape.weight_stride0;
        problem.c_row_stride = shape.out_stride[2];
        problem.c_col_stride = 1;
        problem.col_bias = start;
        gemm(problem);
        continue;
      }
      problem.m = shape.out_group();
      problem.n = shape.out_pixels();
      problem.a = filters;
      problem.a_row_stride = shape.weight_stride0;
      problem.c_row_stride = shape.out_channel_stride;
      problem.c_col_stride = shape.out_stride[2];
      problem.row_bias = start;
      if (pointwise) {
        problem.b = image;
        problem.b_k_stride = shape.in_channel_stride;
        problem.b_col_stride = shape.in_stride[2];
      } else {
        columns.in = image;
        problem.pack = HWY_DYNAMIC_DISPATCH(columns_packer)();
        problem.pack_state = &columns;
      }
      gemm(problem);
    }
  }
  return true;
}

}  // namespace torch::executor::native
#endif
