// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/runtime/kernel/thread_parallel_interface.h>

#include <algorithm>

#include "kernels/optimized/cpu/convolution/convolution.h"
#include "kernels/simd/gemm.h"

namespace torch::executor::native {
namespace {

using executorch::extension::internal::grain_for;
using executorch::extension::internal::GRAIN_PRODUCTS;

// The positions [begin, end) along the input's width that contribute to an output through tap kw. Position i
// contributes to output i * stride + offset.
struct Reach {
  int64_t begin, end, offset;
};

Reach reach_of(const Convolution& shape, int64_t kw) {
  const int64_t offset = kw * shape.dilation[2] - shape.padding[2];
  return {std::max<int64_t>(divide_up(-offset, shape.stride[2]), 0),
          std::min(divide_up(shape.out_size[2] - offset, shape.stride[2]), shape.in_size[2]), offset};
}

// Computes an output row for all channels of a group: for each tap, adds weights (out channels x in channels) times a
// row of the input.
void fill_row(const Convolution& shape, GemmProblem problem, const float* image, const float* filters,
              const float* bias, int64_t od, int64_t oh, float* out) {
  float* row = out + od * shape.out_stride[0] + oh * shape.out_stride[1];
  for (int64_t channel = 0; channel < problem.m; ++channel) {
    for (int64_t ow = 0; ow < shape.out_size[2]; ++ow) {
      row[channel * shape.out_channel_stride + ow * shape.out_stride[2]] = bias == nullptr ? 0.0f : bias[channel];
    }
  }
  for (int64_t tap = 0; tap < shape.taps(); ++tap) {
    const int64_t kw = tap % shape.kernel_size[2];
    const int64_t kh = tap / shape.kernel_size[2] % shape.kernel_size[1];
    const int64_t kd = tap / (shape.kernel_size[2] * shape.kernel_size[1]);
    const int64_t depth = shape.input_position(0, od, kd);
    const int64_t height = shape.input_position(1, oh, kh);
    const Reach reach = reach_of(shape, kw);
    if (depth < 0 || height < 0 || reach.begin >= reach.end) {
      continue;
    }
    problem.n = reach.end - reach.begin;
    problem.a = filters + kd * shape.weight_stride[0] + kh * shape.weight_stride[1] + kw * shape.weight_stride[2];
    problem.b = image + depth * shape.in_stride[0] + height * shape.in_stride[1] + reach.begin * shape.in_stride[2];
    problem.c = row + (reach.begin * shape.stride[2] + reach.offset) * shape.out_stride[2];
    gemm(problem);
  }
}

}  // namespace

bool convolve_transposed(const Convolution& shape, const float* in, const float* weight, const float* bias,
                         float* out) {
  // With few channels, the sums are too short for a GEMM to be fast.
  if (!shape.transposed || shape.in_group() < 4 || shape.out_group() < 4) {
    return false;
  }
  GemmProblem problem;
  problem.m = shape.out_group();
  problem.k = shape.in_group();
  problem.a_row_stride = shape.weight_stride1;
  problem.a_k_stride = shape.weight_stride0;
  problem.b_k_stride = shape.in_channel_stride;
  problem.b_col_stride = shape.in_stride[2];
  problem.c_row_stride = shape.out_channel_stride;
  problem.c_col_stride = shape.stride[2] * shape.out_stride[2];
  problem.beta = 1.0f;
  const int64_t rows = shape.out_size[0] * shape.out_size[1];
  const int64_t grain = grain_for(GRAIN_PRODUCTS, {problem.m, problem.k, shape.in_size[2]});
  executorch::extension::parallel_for(0, shape.batch * shape.groups * rows, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t n = i / (shape.groups * rows);
      const int64_t g = i / rows % shape.groups;
      const int64_t od = i % rows / shape.out_size[1];
      const int64_t oh = i % shape.out_size[1];
      fill_row(shape, problem, in + n * shape.in_batch_stride + g * problem.k * shape.in_channel_stride,
               weight + g * problem.k * shape.weight_stride0, bias == nullptr ? nullptr : bias + g * problem.m, od, oh,
               out + n * shape.out_batch_stride + g * problem.m * shape.out_channel_stride);
    }
  });
  return true;
}

}  // namespace torch::executor::native
