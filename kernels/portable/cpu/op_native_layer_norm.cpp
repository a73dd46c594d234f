// SPDX-License-Identifier: BSD-3-Clause
// native_layer_norm.out, native_group_norm.out
#include <cmath>
#include <tuple>

#include "kernels/portable/cpu/math/normalization.h"
#include "kernels/portable/cpu/math/statistics.h"
#include "kernels/portable/cpu/math/visit_dtype.h"

namespace torch::executor::native {
namespace {

using Outputs = std::tuple<Tensor&, Tensor&, Tensor&>;

// mean and 1 / standard deviation may be kept in a wider type than a Half input's.
template <typename T, typename Sum>
void store_statistic(Tensor& tensor, int64_t i, Sum value) {
  if (tensor.scalar_type() == ScalarType::Float) {
    tensor.mutable_data_ptr<float>()[i] = static_cast<float>(value);
  } else {
    tensor.mutable_data_ptr<T>()[i] = static_cast<T>(value);
  }
}

template <typename T>
const T* data_or_null(const std::optional<Tensor>& tensor) {
  return tensor ? tensor->const_data_ptr<T>() : nullptr;
}

}  // namespace

/// Normalises over the last dimensions, whose sizes are normalized_shape: out = (x - mean) * rstd * weight + bias. mean
/// and rstd have the sizes of the input with 1 for those dimensions.
Outputs native_layer_norm_out(KernelRuntimeContext& ctx, const Tensor& in, IntArrayRef normalized_shape,
                              const std::optional<Tensor>& weight, const std::optional<Tensor>& bias, double eps,
                              Tensor& out, Tensor& mean_out, Tensor& rstd_out) {
  const char* op = "native_layer_norm.out";
  Outputs outputs(out, mean_out, rstd_out);
  int64_t rows = 0;
  int64_t width = 0;
  if (!plan_layer_norm(ctx, in, normalized_shape, weight, bias, out, mean_out, rstd_out, &rows, &width)) {
    return outputs;
  }
  visit_floating(ctx, op, in.scalar_type(), [&](auto tag) {
    using T = typename decltype(tag)::Type;
    using Sum = AccumulateType<T>;
    const T* scale = data_or_null<T>(weight);
    const T* shift = data_or_null<T>(bias);
    for (int64_t row = 0; row < rows; ++row) {
      const T* x = in.const_data_ptr<T>() + row * width;
      T* y = out.mutable_data_ptr<T>() + row * width;
      const Moments<Sum> moment = moments(x, width);
      const Sum mean = moment.mean;
      const Sum rstd = Sum(1) / std::sqrt(moment.variance + static_cast<Sum>(eps));
      for (int64_t i = 0; i < width; ++i) {
        const Sum normal = (static_cast<Sum>(x[i]) - mean) * rstd;
        const Sum scaled = scale == nullptr ? normal : normal * static_cast<Sum>(scale[i]);
        y[i] = static_cast<T>(shift == nullptr ? scaled : scaled + static_cast<Sum>(shift[i]));
      }
      store_statistic<T>(mean_out, row, mean);
      store_statistic<T>(rstd_out, row, rstd);
    }
  });
  return outputs;
}

/// Normalises each of `group` groups of channels of an input (n, c, spatial...) of n * c * hxw elements; weight and
/// bias are by channel, mean and rstd (n, group).
Outputs native_group_norm_out(KernelRuntimeContext& ctx, const Tensor& in, const std::optional<Tensor>& weight,
                              const std::optional<Tensor>& bias, int64_t n, int64_t c, int64_t hxw, int64_t group,
                              double eps, Tensor& out, Tensor& mean_out, Tensor& rstd_out) {
  const char* op = "native_group_norm.out";
  Outputs outputs(out, mean_out, rstd_out);
  if (!plan_group_norm(ctx, in, weight, bias, n, c, hxw, group, out, mean_out, rstd_out)) {
    return outputs;
  }
  visit_floating(ctx, op, in.scalar_type(), [&](auto tag) {
    using T = typename decltype(tag)::Type;
    using Sum = AccumulateType<T>;
    const T* weights = data_or_null<T>(weight);
    const T* biases = data_or_null<T>(bias);
    const int64_t channels = c / group;
    for (int64_t i = 0; i < n * group; ++i) {
      const T* x = in.const_data_ptr<T>() + i * channels * hxw;
      T* y = out.mutable_data_ptr<T>() + i * channels * hxw;
      const Moments<Sum> moment = moments(x, channels * hxw);
      const Sum rstd = Sum(1) / std::sqrt(moment.variance + static_cast<Sum>(eps));
      for (int64_t j = 0; j < channels; ++j) {
        const int64_t channel = i % group * channels + j;
        const Sum scale = weights == nullptr ? rstd : rstd * static_cast<Sum>(weights[channel]);
        const Sum shift = (biases == nullptr ? Sum(0) : static_cast<Sum>(biases[channel])) - moment.mean * scale;
        for (int64_t p = 0; p < hxw; ++p) {
          y[j * hxw + p] = static_cast<T>(static_cast<Sum>(x[j * hxw + p]) * scale + shift);
        }
      }
      store_statistic<T>(mean_out, i, moment.mean);
      store_statistic<T>(rstd_out, i, rstd);
    }
  });
  return outputs;
}

}  // namespace torch::executor::native
