// SPDX-License-Identifier: BSD-3-Clause
// native_layer_norm_backward.out, native_group_norm_backward.out
#include <optional>
#include <tuple>

#include "kernels/portable/cpu/math/accumulate_type.h"
#include "kernels/portable/cpu/math/visit_dtype.h"
#include "kernels/portable/cpu/pattern/checks.h"

namespace torch::executor::native {
namespace {

using Outputs = std::tuple<Tensor&, Tensor&, Tensor&>;

// Element `i` of a statistic, which may have a wider type than a Half input.
template <typename T>
AccumulateType<T> statistic(const Tensor& tensor, int64_t i) {
  if (tensor.scalar_type() == ScalarType::Float) {
    return static_cast<AccumulateType<T>>(tensor.const_data_ptr<float>()[i]);
  }
  return static_cast<AccumulateType<T>>(tensor.const_data_ptr<T>()[i]);
}

// Checks that both have the default dim order and the same dtype, and that mean and rstd have `count` elements.
bool check_tensors(KernelRuntimeContext& ctx, const char* op, const Tensor& gradient, const Tensor& in,
                   const Tensor& mean, const Tensor& rstd, int64_t count) {
  using executorch::runtime::tensor_is_default_dim_order;
  ET_KERNEL_CHECK_MSG(ctx, tensor_is_default_dim_order(gradient) && tensor_is_default_dim_order(in), InvalidArgument,
                      false, "%s: the input and the gradient must be in the default dim order", op);
  ET_KERNEL_CHECK_MSG(ctx, gradient.numel() == in.numel(), InvalidArgument, false,
                      "%s: the gradient must have as many elements as the input", op);
  for (const Tensor* tensor : {&mean, &rstd}) {
    ET_KERNEL_CHECK_MSG(ctx, tensor->numel() == count, InvalidArgument, false,
                        "%s: mean and rstd must have %lld elements", op, static_cast<long long>(count));
    if (tensor->scalar_type() != ScalarType::Float && !check_same_dtype(ctx, op, in, *tensor)) {
      return false;
    }
  }
  return check_same_dtype(ctx, op, gradient, in);
}

bool check_weight(KernelRuntimeContext& ctx, const char* op, const std::optional<Tensor>& weight, const Tensor& in,
                  int64_t count) {
  ET_KERNEL_CHECK_MSG(ctx, !weight || weight->numel() == count, InvalidArgument, false,
                      "%s: the weight must have %lld elements", op, static_cast<long long>(count));
  return !weight || check_same_dtype(ctx, op, in, *weight);
}

// Checks and resizes the output of a requested gradient, which must have the default dim order.
bool check_output(KernelRuntimeContext& ctx, const char* op, const Tensor& in, Tensor& out, const int64_t* sizes,
                  size_t dims) {
  if (!check_same_dtype(ctx, op, in, out) || !check_resize(ctx, op, out, sizes, dims)) {
    return false;
  }
  ET_KERNEL_CHECK_MSG(ctx, executorch::runtime::tensor_is_default_dim_order(out), InvalidArgument, false,
                      "%s: the outputs must be in the default dim order", op);
  return true;
}

// The gradient of normalised values x^ = (x - mean) * rstd: rstd * (g - mean(g) - x^ * mean(g * x^)), with g the
// gradient times the weight (Ba, Kiros, Hinton 2016).
template <typename T, typename WeightAt>
void input_gradient(const T* gradient, const T* x, AccumulateType<T> mean, AccumulateType<T> rstd,
                    const WeightAt& weight_at, int64_t count, T* result) {
  double sum = 0, product = 0;
  for (int64_t i = 0; i < count; ++i) {
    const double g = static_cast<double>(gradient[i]) * static_cast<double>(weight_at(i));
    sum += g;
    product += g * static_cast<double>((static_cast<AccumulateType<T>>(x[i]) - mean) * rstd);
  }
  for (int64_t i = 0; i < count; ++i) {
    const double g = static_cast<double>(gradient[i]) * static_cast<double>(weight_at(i));
    const double normal = static_cast<double>((static_cast<AccumulateType<T>>(x[i]) - mean) * rstd);
    const double value = static_cast<double>(rstd) * (g - (sum + normal * product) / static_cast<double>(count));
    result[i] = static_cast<T>(static_cast<AccumulateType<T>>(value));
  }
}

}  // namespace

/// The gradients of input, weight and bias. output_mask says which are requested; the other outputs are not changed.
Outputs native_layer_norm_backward_out(KernelRuntimeContext& ctx, const Tensor& grad_out, const Tensor& in,
                                       IntArrayRef normalized_shape, const Tensor& mean, const Tensor& rstd,
                                       const std::optional<Tensor>& weight, const std::optional<Tensor>& bias,
                                       ArrayRef<bool> output_mask, Tensor& grad_input, Tensor& grad_weight,
                                       Tensor& grad_bias) {
  (void)bias;
  const char* op = "native_layer_norm_backward.out";
  const Outputs outputs(grad_input, grad_weight, grad_bias);
  const ssize_t first = in.dim() - static_cast<ssize_t>(normalized_shape.size());
  bool fits = first >= 0 && !normalized_shape.empty() && output_mask.size() == 3;
  int64_t width = 1, rows = 1;
  int64_t sizes[kTensorDimensionLimit];
  for (ssize_t d = 0; fits && d < in.dim(); ++d) {
    fits = d < first || normalized_shape[static_cast<size_t>(d - first)] == in.size(d);
    (d < first ? rows : width) *= in.size(d);
    sizes[d] = in.size(d);
  }
  ET_KERNEL_CHECK_MSG(ctx, fits, InvalidArgument, outputs,
                      "%s: normalized_shape must be the last sizes of the input, one or more of them, and output_mask "
                      "have 3 values",
                      op);
  if (!check_tensors(ctx, op, grad_out, in, mean, rstd, rows) || !check_weight(ctx, op, weight, in, width) ||
      (output_mask[0] && !check_output(ctx, op, in, grad_input, sizes, static_cast<size_t>(in.dim()))) ||
      (output_mask[1] && weight && !check_output(ctx, op, in, grad_weight, sizes + first, normalized_shape.size())) ||
      (output_mask[2] && !check_output(ctx, op, in, grad_bias, sizes + first, normalized_shape.size()))) {
    return outputs;
  }
  visit_floating(ctx, op, in.scalar_type(), [&](auto tag) {
    using T = typename decltype(tag)::Type;
    using Sum = AccumulateType<T>;
    const T* gradient = grad_out.const_data_ptr<T>();
    const T* x = in.const_data_ptr<T>();
    const T* weights = weight ? weight->const_data_ptr<T>() : nullptr;
    for (int64_t row = 0; output_mask[0] && row < rows; ++row) {
      const auto weight_at = [&](int64_t i) { return weights == nullptr ? Sum(1) : static_cast<Sum>(weights[i]); };
      input_gradient(gradient + row * width, x + row * width, statistic<T>(mean, row), statistic<T>(rstd, row),
                     weight_at, width, grad_input.mutable_data_ptr<T>() + row * width);
    }
    for (int64_t i = 0; i < width; ++i) {
      double sum = 0, product = 0;
      for (int64_t row = 0; row < rows; ++row) {
        const double g = static_cast<double>(gradient[row * width + i]);
        sum += g;
        product += g * static_cast<double>((static_cast<Sum>(x[row * width + i]) - statistic<T>(mean, row)) *
                                           statistic<T>(rstd, row));
      }
      if (output_mask[1] && weight) {
        grad_weight.mutable_data_ptr<T>()[i] = static_cast<T>(static_cast<Sum>(product));
      }
      if (output_mask[2]) {
        grad_bias.mutable_data_ptr<T>()[i] = static_cast<T>(static_cast<Sum>(sum));
      }
    }
  });
  return outputs;
}

/// The same for an input of n * c * hxw elements, normalised in `group` groups of channels; mean and rstd are (n,
/// group), weight and bias per channel.
Outputs native_group_norm_backward_out(KernelRuntimeContext& ctx, const Tensor& grad_out, const Tensor& in,
                                       const Tensor& mean, const Tensor& rstd, const std::optional<Tensor>& weight,
                                       int64_t n, int64_t c, int64_t hxw, int64_t group, ArrayRef<bool> output_mask,
                                       Tensor& grad_input, Tensor& grad_weight, Tensor& grad_bias) {
  const char* op = "native_group_norm_backward.out";
  const Outputs outputs(grad_input, grad_weight, grad_bias);
  ET_KERNEL_CHECK_MSG(ctx,
                      output_mask.size() == 3 && in.dim() >= 2 && in.size(0) == n && in.size(1) == c && group > 0 &&
                          c % group == 0 && hxw >= 0 &&
                          (n * c == 0 ? in.numel() == 0 : in.numel() / (n * c) == hxw && in.numel() % (n * c) == 0),
                      InvalidArgument, outputs, "%s: N, C, HxW and group do not describe the input", op);
  int64_t sizes[kTensorDimensionLimit];
  for (ssize_t d = 0; d < in.dim(); ++d) {
    sizes[d] = in.size(d);
  }
  if (!check_tensors(ctx, op, grad_out, in, mean, rstd, n * group) || !check_weight(ctx, op, weight, in, c) ||
      (output_mask[0] && !check_output(ctx, op, in, grad_input, sizes, static_cast<size_t>(in.dim()))) ||
      (output_mask[1] && !check_output(ctx, op, in, grad_weight, &c, 1)) ||
      (output_mask[2] && !check_output(ctx, op, in, grad_bias, &c, 1))) {
    return outputs;
  }
  visit_floating(ctx, op, in.scalar_type(), [&](auto tag) {
    using T = typename decltype(tag)::Type;
    using Sum = AccumulateType<T>;
    const T* gradient = grad_out.const_data_ptr<T>();
    const T* x = in.const_data_ptr<T>();
    const T* weights = weight ? weight->const_data_ptr<T>() : nullptr;
    const int64_t channels = c / group, size = channels * hxw;
    for (int64_t i = 0; output_mask[0] && size > 0 && i < n * group; ++i) {
      const auto weight_at = [&](int64_t j) {
        return weights == nullptr ? Sum(1) : static_cast<Sum>(weights[i % group * channels + j / hxw]);
      };
      input_gradient(gradient + i * size, x + i * size, statistic<T>(mean, i), statistic<T>(rstd, i), weight_at, size,
                     grad_input.mutable_data_ptr<T>() + i * size);
    }
    for (int64_t channel = 0; channel < c; ++channel) {
      double sum = 0, product = 0;
      for (int64_t image = 0; image < n; ++image) {
        const int64_t begin = (image * c + channel) * hxw, place = image * group + channel / channels;
        for (int64_t i = begin; i < begin + hxw; ++i) {
          const double g = static_cast<double>(gradient[i]);
          sum += g;
          product +=
              g * static_cast<double>((static_cast<Sum>(x[i]) - statistic<T>(mean, place)) * statistic<T>(rstd, place));
        }
      }
      if (output_mask[1]) {
        grad_weight.mutable_data_ptr<T>()[channel] = static_cast<T>(static_cast<Sum>(product));
      }
      if (output_mask[2]) {
        grad_bias.mutable_data_ptr<T>()[channel] = static_cast<T>(static_cast<Sum>(sum));
      }
    }
  });
  return outputs;
}

}  // namespace torch::executor::native
