// SPDX-License-Identifier: BSD-3-Clause
// native_layer_norm.out, native_group_norm.out
#include <cinttypes>
#include <cmath>
#include <tuple>

#include "kernels/portable/cpu/math/statistics.h"
#include "kernels/portable/cpu/math/visit_dtype.h"
#include "kernels/portable/cpu/pattern/checks.h"

namespace torch::executor::native {
namespace {

using Outputs = std::tuple<Tensor&, Tensor&, Tensor&>;

bool check_contiguous(KernelRuntimeContext& ctx, const char* op, const Tensor& in, const Tensor& out) {
  if (executorch::runtime::tensor_is_default_dim_order(in) && executorch::runtime::tensor_is_default_dim_order(out)) {
    return true;
  }
  ET_LOG(Error, "%s: the input and the output must be in the default dim order", op);
  ctx.fail(Error::InvalidArgument);
  return false;
}

// weight or bias: absent, or `count` elements of the input's dtype.
bool check_affine(KernelRuntimeContext& ctx, const char* op, const char* name, const std::optional<Tensor>& tensor,
                  const Tensor& in, int64_t count) {
  if (!tensor || (tensor->scalar_type() == in.scalar_type() && tensor->numel() == count)) {
    return true;
  }
  ET_LOG(Error, "%s: the %s must have %" PRId64 " elements of dtype %s, it has %zd of dtype %s", op, name, count,
         toString(in.scalar_type()), (ssize_t)tensor->numel(), toString(tensor->scalar_type()));
  ctx.fail(Error::InvalidArgument);
  return false;
}

// mean and 1 / standard deviation may be kept in a wider type than a Half input's.
template <typename T, typename Sum>
void store_statistic(Tensor& tensor, int64_t i, Sum value) {
  if (tensor.scalar_type() == ScalarType::Float) {
    tensor.mutable_data_ptr<float>()[i] = static_cast<float>(value);
  } else {
    tensor.mutable_data_ptr<T>()[i] = static_cast<T>(value);
  }
}

bool check_statistic(KernelRuntimeContext& ctx, const char* op, const Tensor& in, const Tensor& statistic) {
  return statistic.scalar_type() == ScalarType::Float || check_same_dtype(ctx, op, in, statistic);
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
  const ssize_t first = in.dim() - static_cast<ssize_t>(normalized_shape.size());
  bool fits = first >= 0 && !normalized_shape.empty();
  int64_t width = 1, rows = 1;
  int64_t sizes[kTensorDimensionLimit];
  for (ssize_t d = 0; fits && d < in.dim(); ++d) {
    fits = d < first || normalized_shape[static_cast<size_t>(d - first)] == in.size(d);
    (d < first ? rows : width) *= in.size(d);
    sizes[d] = d < first ? in.size(d) : 1;
  }
  ET_KERNEL_CHECK_MSG(ctx, fits, InvalidArgument, outputs,
                      "%s: normalized_shape must be the last sizes of the input, one or more of them", op);
  if (!check_same_dtype(ctx, op, in, out) || !check_statistic(ctx, op, in, mean_out) ||
      !check_statistic(ctx, op, in, rstd_out) || !check_affine(ctx, op, "weight", weight, in, width) ||
      !check_affine(ctx, op, "bias", bias, in, width) || !check_resize_like(ctx, op, out, in) ||
      !check_resize(ctx, op, mean_out, sizes, static_cast<size_t>(in.dim())) ||
      !check_resize(ctx, op, rstd_out, sizes, static_cast<size_t>(in.dim())) || !check_contiguous(ctx, op, in, out)) {
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
  ET_KERNEL_CHECK_MSG(ctx,
                      in.dim() >= 2 && in.size(0) == n && in.size(1) == c && group > 0 && c % group == 0 && hxw >= 0 &&
                          (n * c == 0 ? in.numel() == 0 : in.numel() / (n * c) == hxw && in.numel() % (n * c) == 0),
                      InvalidArgument, outputs,
                      "%s: N=%" PRId64 ", C=%" PRId64 ", HxW=%" PRId64 " in %" PRId64
                      " groups do not describe the input",
                      op, n, c, hxw, group);
  const int64_t sizes[2] = {n, group};
  if (!check_same_dtype(ctx, op, in, out) || !check_statistic(ctx, op, in, mean_out) ||
      !check_statistic(ctx, op, in, rstd_out) || !check_affine(ctx, op, "weight", weight, in, c) ||
      !check_affine(ctx, op, "bias", bias, in, c) || !check_resize_like(ctx, op, out, in) ||
      !check_resize(ctx, op, mean_out, sizes, 2) || !check_resize(ctx, op, rstd_out, sizes, 2) ||
      !check_contiguous(ctx, op, in, out)) {
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
