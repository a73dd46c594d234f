// SPDX-License-Identifier: BSD-3-Clause
// cadence::quantized_layer_norm, rms_norm
#include "kernels/cadence/cpu/quantized.h"

namespace torch::executor::native {
namespace {

using namespace cadence;

bool prepare(KernelRuntimeContext& ctx, const char* op, const Tensor& input, Tensor& out) {
  return check_same_dtype(ctx, op, input, out) && check_order(ctx, op, "an input", input) &&
         check_resize_like(ctx, op, out, input) && check_order(ctx, op, "an output", out);
}

struct LayerNorm {
  int64_t length;
  const float* weight;
  const float* bias;
  double eps;
};

// Checks the normalised dimensions, which are the last ones, and the weights; `bias` may be null.
bool read_norm(KernelRuntimeContext& ctx, const char* op, const Tensor& input, IntArrayRef shape, const Tensor& weight,
               const Tensor* bias, LayerNorm* norm) {
  const size_t rank = static_cast<size_t>(input.dim());
  bool fits = shape.size() >= 1 && shape.size() <= rank;
  norm->length = 1;
  for (size_t d = 0; fits && d < shape.size(); ++d) {
    fits = input.size(static_cast<ssize_t>(rank - shape.size() + d)) == shape[d];
    norm->length *= shape[d];
  }
  fits = fits && weight.numel() == norm->length && (bias == nullptr || bias->numel() == norm->length);
  ET_KERNEL_CHECK_MSG(ctx, fits, InvalidArgument, false,
                      "%s: expected the last sizes of the input as normalized_shape, and a weight and a bias of them",
                      op);
  if (!check_dtype(ctx, op, "a weight", weight, ScalarType::Float) ||
      (bias != nullptr && !check_dtype(ctx, op, "a bias", *bias, ScalarType::Float))) {
    return false;
  }
  norm->weight = weight.const_data_ptr<float>();
  norm->bias = bias == nullptr ? nullptr : bias->const_data_ptr<float>();
  return true;
}

// The mean and the variance of integers of 8 bits, from exact sums. Zero points cancel out.
struct Moments {
  double mean;
  double variance;
};

template <typename T>
Moments moments_of(const T* values, int64_t count) {
  constexpr int64_t kBlock = 8192;  // times 255 * 255 is below 2^31
  int64_t sum = 0, squares = 0;
  for (int64_t start = 0; start < count; start += kBlock) {
    const int64_t end = count - start < kBlock ? count : start + kBlock;
    int32_t part = 0, part_of_squares = 0;
    for (int64_t i = start; i < end; ++i) {
      const int16_t value = values[i];
      part += value;
      part_of_squares += static_cast<int32_t>(value) * static_cast<int32_t>(value);
    }
    sum += part;
    squares += part_of_squares;
  }
  const double length = static_cast<double>(count), mean = static_cast<double>(sum) / length;
  return {mean, (static_cast<double>(squares) - static_cast<double>(sum) * mean) / length};
}

// Normalises one row of integers.
template <typename T>
void layer_norm(const LayerNorm& norm, double scale, const Quantizer<T>& quantize, const T* values, T* results) {
  const Moments moments = moments_of(values, norm.length);
  const double mean = moments.mean, factor = scale / std::sqrt(moments.variance * scale * scale + norm.eps);
  const float* const weight = norm.weight;
  const float* const bias = norm.bias;
  const auto normal = [=](int64_t i) {
    return static_cast<float>((static_cast<double>(values[i]) - mean) * factor * static_cast<double>(weight[i]) +
                              static_cast<double>(bias[i]));
  };
  // One-byte results could alias the operands of a loop.
  constexpr int64_t kBlock = 64;
  float block[kBlock];
  for (int64_t start = 0; start < norm.length; start += kBlock) {
    const int64_t count = norm.length - start < kBlock ? norm.length - start : kBlock;
    for (int64_t i = 0; i < count; ++i) {
      block[i] = normal(start + i);
    }
    quantize.store([&block](int64_t i) { return block[i]; }, count, results + start);
  }
}

}  // namespace

Tensor& cadence_quantized_layer_norm_per_tensor_out(KernelRuntimeContext& ctx, const Tensor& X, double X_scale,
                                                    int64_t X_zero_point, IntArrayRef normalized_shape,
                                                    const Tensor& weight, const Tensor& bias, double eps,
                                                    double output_scale, int64_t output_zero_point, Tensor& out) {
  constexpr const char* op = "cadence::quantized_layer_norm";
  Affine affine{};
  LayerNorm norm{1, nullptr, nullptr, eps};
  if (!read_affine(ctx, op, X_scale, X_zero_point, &affine) || !check_scale(ctx, op, "output_scale", output_scale) ||
      !read_norm(ctx, op, X, normalized_shape, weight, &bias, &norm) || !prepare(ctx, op, X, out)) {
    return out;
  }
  dispatch<int8_t, uint8_t>(ctx, op, "an input", X.scalar_type(), [&](auto zero) {
    using T = decltype(zero);
    const Quantizer<T> quantize(inverse(output_scale), output_zero_point);
    for (int64_t start = 0; start < X.numel(); start += norm.length) {
      layer_norm(norm, static_cast<double>(affine.scale), quantize, X.const_data_ptr<T>() + start,
                 out.mutable_data_ptr<T>() + start);
    }
  });
  return out;
}

Tensor& cadence_quantized_layer_norm_out(KernelRuntimeContext& ctx, const Tensor& X, const Tensor& X_scale,
                                         const Tensor& X_zero_point, IntArrayRef normalized_shape, const Tensor& weight,
                                         const Tensor& bias, double eps, double output_scale, int64_t output_zero_point,
                                         Tensor& out) {
  constexpr const char* op = "cadence::quantized_layer_norm";
  Quantization x{};
  if (read_quantization(ctx, op, "X", X_scale, X_zero_point, &x)) {
    cadence_quantized_layer_norm_per_tensor_out(ctx, X, x.scale, x.zero_point, normalized_shape, weight, bias, eps,
                                                output_scale, output_zero_point, out);
  }
  return out;
}

Tensor& cadence_rms_norm_out(KernelRuntimeContext& ctx, const Tensor& X, IntArrayRef normalized_shape, const Tensor& W,
                             double eps, Tensor& out) {
  constexpr const char* op = "cadence::rms_norm";
  LayerNorm norm{1, nullptr, nullptr, eps};
  if (!check_dtype(ctx, op, "an input", X, ScalarType::Float) ||
      !read_norm(ctx, op, X, normalized_shape, W, nullptr, &norm) || !prepare(ctx, op, X, out)) {
    return out;
  }
  for (int64_t start = 0; start < X.numel(); start += norm.length) {
    const float* const values = X.const_data_ptr<float>() + start;
    float* const results = out.mutable_data_ptr<float>() + start;
    double squares = 0;
    for (int64_t i = 0; i < norm.length; ++i) {
      squares += static_cast<double>(values[i]) * static_cast<double>(values[i]);
    }
    const double factor = 1.0 / std::sqrt(squares / static_cast<double>(norm.length) + eps);
    for (int64_t i = 0; i < norm.length; ++i) {
      results[i] = static_cast<float>(static_cast<double>(values[i]) * factor * static_cast<double>(norm.weight[i]));
    }
  }
  return out;
}

}  // namespace torch::executor::native
