// SPDX-License-Identifier: BSD-3-Clause
// native_layer_norm.out, native_group_norm.out and _native_batch_norm_legit_no_training.out for float32.
#include <executorch/runtime/kernel/thread_parallel_interface.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "kernels/optimized/cpu/normalization/rows.h"
#include "kernels/portable/NativeFunctions.h"
#include "kernels/portable/cpu/math/normalization.h"

namespace torch::executor::native {
namespace {

using Outputs = std::tuple<Tensor&, Tensor&, Tensor&>;
using executorch::extension::parallel_for;
using executorch::extension::internal::GRAIN_SIZE;

bool are_floats(const Tensor& in, const Tensor& a, const Tensor& b) {
  return in.scalar_type() == ScalarType::Float && a.scalar_type() == ScalarType::Float &&
         b.scalar_type() == ScalarType::Float;
}

const float* data_or_null(const std::optional<Tensor>& tensor) {
  return tensor ? tensor->const_data_ptr<float>() : nullptr;
}

// The grain size in rows.
int64_t grain_of(int64_t width) {
  return executorch::extension::internal::grain_for(GRAIN_SIZE, {width});
}

}  // namespace

Outputs opt_native_layer_norm_out(KernelRuntimeContext& ctx, const Tensor& in, IntArrayRef normalized_shape,
                                  const std::optional<Tensor>& weight, const std::optional<Tensor>& bias, double eps,
                                  Tensor& out, Tensor& mean_out, Tensor& rstd_out) {
  if (!are_floats(in, mean_out, rstd_out) || !are_contiguous(in, out)) {
    return native_layer_norm_out(ctx, in, normalized_shape, weight, bias, eps, out, mean_out, rstd_out);
  }
  int64_t rows = 0;
  int64_t width = 0;
  if (plan_layer_norm(ctx, in, normalized_shape, weight, bias, out, mean_out, rstd_out, &rows, &width)) {
    const float* from = in.const_data_ptr<float>();
    float* to = out.mutable_data_ptr<float>();
    float* mean = mean_out.mutable_data_ptr<float>();
    float* rstd = rstd_out.mutable_data_ptr<float>();
    parallel_for(0, rows, grain_of(width), [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        const float* x = from + row * width;
        row_statistics(x, width, static_cast<float>(eps), &mean[row], &rstd[row]);
        normalize_row(x, to + row * width, width, mean[row], rstd[row], data_or_null(weight), data_or_null(bias));
      }
    });
  }
  return {out, mean_out, rstd_out};
}

Outputs opt_native_group_norm_out(KernelRuntimeContext& ctx, const Tensor& in, const std::optional<Tensor>& weight,
                                  const std::optional<Tensor>& bias, int64_t n, int64_t c, int64_t hxw, int64_t group,
                                  double eps, Tensor& out, Tensor& mean_out, Tensor& rstd_out) {
  if (!are_floats(in, mean_out, rstd_out) || !are_contiguous(in, out)) {
    return native_group_norm_out(ctx, in, weight, bias, n, c, hxw, group, eps, out, mean_out, rstd_out);
  }
  if (plan_group_norm(ctx, in, weight, bias, n, c, hxw, group, out, mean_out, rstd_out)) {
    const float* weights = data_or_null(weight);
    const float* biases = data_or_null(bias);
    const float* from = in.const_data_ptr<float>();
    float* to = out.mutable_data_ptr<float>();
    float* means = mean_out.mutable_data_ptr<float>();
    float* rstds = rstd_out.mutable_data_ptr<float>();
    const int64_t channels = c / group;
    parallel_for(0, n * group, grain_of(channels * hxw), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        row_statistics(from + i * channels * hxw, channels * hxw, static_cast<float>(eps), &means[i], &rstds[i]);
        for (int64_t j = 0; j < channels; ++j) {
          const int64_t channel = i % group * channels + j;
          const float scale = weights == nullptr ? rstds[i] : rstds[i] * weights[channel];
          const float shift = biases == nullptr ? 0.0f : biases[channel];
          const int64_t offset = (i * channels + j) * hxw;
          scale_row(from + offset, to + offset, hxw, means[i], scale, shift);
        }
      }
    });
  }
  return {out, mean_out, rstd_out};
}

Outputs opt_native_batch_norm_legit_no_training_out(KernelRuntimeContext& ctx, const Tensor& in,
                                                    const std::optional<Tensor>& weight,
                                                    const std::optional<Tensor>& bias, const Tensor& running_mean,
                                                    const Tensor& running_var, double momentum, double eps, Tensor& out,
                                                    Tensor& save_mean, Tensor& save_invstd) {
  if (in.scalar_type() != ScalarType::Float) {
    return _native_batch_norm_legit_no_training_out(ctx, in, weight, bias, running_mean, running_var, momentum, eps,
                                                    out, save_mean, save_invstd);
  }
  NormLayout layout;
  if (!plan_batch_norm(ctx, "_native_batch_norm_legit_no_training.out", in, weight, bias, &running_mean, &running_var,
                       /*training=*/false, out, save_mean, save_invstd, &layout)) {
    return {out, save_mean, save_invstd};
  }
  const float* weights = data_or_null(weight);
  const float* biases = data_or_null(bias);
  const float* centers = running_mean.const_data_ptr<float>();
  const float* from = in.const_data_ptr<float>();
  float* to = out.mutable_data_ptr<float>();
  const auto scale_of = [&](int64_t channel) {
    const float invstd = 1.0f / std::sqrt(running_var.const_data_ptr<float>()[channel] + static_cast<float>(eps));
    return weights == nullptr ? invstd : invstd * weights[channel];
  };
  const auto bias_of = [&](int64_t channel) { return biases == nullptr ? 0.0f : biases[channel]; };
  if (layout.pixel_stride == 1) {
    const int64_t planes = layout.batch * layout.channels;
    parallel_for(0, planes, grain_of(layout.pixels), [&](int64_t begin, int64_t end) {
      for (int64_t plane = begin; plane < end; ++plane) {
        const int64_t channel = plane % layout.channels;
        const int64_t offset = plane * layout.pixels;
        scale_row(from + offset, to + offset, layout.pixels, centers[channel], scale_of(channel), bias_of(channel));
      }
    });
    return {out, save_mean, save_invstd};
  }
  // Channels last: all pixels for a block of channels, then the next block.
  constexpr int64_t kBlock = 256;
  for (int64_t first = 0; first < layout.channels; first += kBlock) {
    const int64_t width = std::min(kBlock, layout.channels - first);
    float scales[kBlock];
    float shifts[kBlock];
    for (int64_t i = 0; i < width; ++i) {
      scales[i] = scale_of(first + i);
      shifts[i] = bias_of(first + i) - centers[first + i] * scales[i];
    }
    parallel_for(0, layout.batch * layout.pixels, grain_of(width), [&](int64_t begin, int64_t end) {
      const int64_t offset = begin * layout.channels + first;
      scale_columns(from + offset, to + offset, end - begin, width, layout.channels, scales, shifts);
    });
  }
  return {out, save_mean, save_invstd};
}

}  // namespace torch::executor::native
