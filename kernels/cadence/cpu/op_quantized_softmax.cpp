// SPDX-License-Identifier: BSD-3-Clause
// cadence::quantized_softmax, _softmax_f32_f32
#include "kernels/cadence/cpu/quantized.h"

namespace torch::executor::native {
namespace {

using namespace cadence;

// The lines of a tensor along a dimension: where they begin and how far their elements are apart.
struct Lines {
  int64_t count;
  int64_t length;
  int64_t step;

  int64_t start(int64_t line) const { return line / step * step * length + line % step; }
};

Lines lines_of(const Tensor& tensor, size_t dim) {
  Lines lines{1, 1, 1};
  for (size_t d = 0; d < static_cast<size_t>(tensor.dim()); ++d) {
    const int64_t size = tensor.size(static_cast<ssize_t>(d));
    lines.length = d == dim ? size : lines.length;
    lines.count *= d == dim ? 1 : size;
    lines.step *= d > dim ? size : 1;
  }
  return lines;
}

// load(i) is an element of a line; store(i, probability).
template <typename Load, typename Store>
void softmax(int64_t length, const Load& load, const Store& store) {
  float most = -std::numeric_limits<float>::infinity();
  for (int64_t i = 0; i < length; ++i) {
    most = load(i) > most ? load(i) : most;
  }
  double sum = 0;
  for (int64_t i = 0; i < length; ++i) {
    sum += std::exp(static_cast<double>(load(i) - most));
  }
  for (int64_t i = 0; i < length; ++i) {
    store(i, static_cast<float>(std::exp(static_cast<double>(load(i) - most)) / sum));
  }
}

// Lines of 8-bit integers. Exponentials of differences to the largest integer are a table of 256 numbers, which all
// lines share; a long line also shares the 256 results.
template <typename T>
class Softmax8bit {
 public:
  Softmax8bit(float scale, const Quantizer<T>& quantize) : quantize_(quantize) {
    for (int64_t below = 0; below < kCount; ++below) {
      exponentials_[below] = static_cast<float>(std::exp(-static_cast<double>(scale) * static_cast<double>(below)));
    }
  }

  void operator()(const T* values, int64_t length, int64_t step, T* results) const {
    T most = values[0];
    for (int64_t i = 1; i < length; ++i) {
      most = values[i * step] > most ? values[i * step] : most;
    }
    double sum = 0;
    for (int64_t i = 0; i < length; ++i) {
      sum += static_cast<double>(exponentials_[most - values[i * step]]);
    }
    const float factor = static_cast<float>(1.0 / sum);
    const auto probability = [=](int64_t below) { return exponentials_[below] * factor; };
    T table[kCount];
    if (length >= kCount / 2) {
      quantize_.store(probability, kCount, table);
    }
    for (int64_t i = 0; i < length; ++i) {
      const int64_t below = most - values[i * step];
      results[i * step] = length >= kCount / 2 ? table[below] : quantize_(probability(below));
    }
  }

 private:
  static constexpr int64_t kCount = 256;

  const Quantizer<T>& quantize_;
  float exponentials_[kCount];
};

bool prepare(KernelRuntimeContext& ctx, const char* op, const Tensor& input, int64_t dim, size_t* normalized,
             Tensor& out) {
  return check_dim(ctx, op, dim, input.dim(), normalized) && check_same_dtype(ctx, op, input, out) &&
         check_order(ctx, op, "an input", input) && check_resize_like(ctx, op, out, input) &&
         check_order(ctx, op, "an output", out);
}

}  // namespace

Tensor& cadence_quantized_softmax_per_tensor_out(KernelRuntimeContext& ctx, const Tensor& input, const Tensor& /*mask*/,
                                                 int64_t dim, int64_t mask_type, const Tensor& /*pos*/, double in_scale,
                                                 int64_t in_zero_point, double out_scale, int64_t out_zero_point,
                                                 Tensor& out) {
  constexpr const char* op = "cadence::quantized_softmax";
  Affine affine{};
  size_t normalized = 0;
  ET_KERNEL_CHECK_MSG(ctx, mask_type == 0, InvalidArgument, out, "%s: expected mask_type 0 (no mask), found %lld", op,
                      static_cast<long long>(mask_type));
  if (!read_affine(ctx, op, in_scale, in_zero_point, &affine) || !check_scale(ctx, op, "out_scale", out_scale) ||
      !prepare(ctx, op, input, dim, &normalized, out)) {
    return out;
  }
  const Lines lines = lines_of(input, normalized);
  dispatch<int8_t, uint8_t, int16_t>(ctx, op, "an input", input.scalar_type(), [&](auto zero) {
    using T = decltype(zero);
    const Quantizer<T> quantize(inverse(out_scale), out_zero_point);
    // Floats hold the zero point exactly, and making the table pays.
    if constexpr (sizeof(T) == 1) {
      if (is_narrow(in_zero_point) && input.numel() >= 256) {
        const Softmax8bit<T> softmax_of(affine.scale, quantize);
        for (int64_t line = 0; line < lines.count; ++line) {
          softmax_of(input.const_data_ptr<T>() + lines.start(line), lines.length, lines.step,
                     out.mutable_data_ptr<T>() + lines.start(line));
        }
        return;
      }
    }
    for (int64_t line = 0; line < lines.count; ++line) {
      const T* const values = input.const_data_ptr<T>() + lines.start(line);
      T* const results = out.mutable_data_ptr<T>() + lines.start(line);
      softmax(
          lines.length, [&](int64_t i) { return affine(values[i * lines.step]); },
          [&](int64_t i, float probability) { results[i * lines.step] = quantize(probability); });
    }
  });
  return out;
}

Tensor& cadence_quantized_softmax_out(KernelRuntimeContext& ctx, const Tensor& input, const Tensor& mask, int64_t dim,
                                      int64_t mask_type, const Tensor& pos, const Tensor& in_scale,
                                      const Tensor& in_zero_point, const Tensor& out_scale,
                                      const Tensor& out_zero_point, Tensor& out) {
  constexpr const char* op = "cadence::quantized_softmax";
  Quantization given{}, result{};
  if (read_quantization(ctx, op, "in", in_scale, in_zero_point, &given) &&
      read_quantization(ctx, op, "out", out_scale, out_zero_point, &result)) {
    cadence_quantized_softmax_per_tensor_out(ctx, input, mask, dim, mask_type, pos, given.scale, given.zero_point,
                                             result.scale, result.zero_point, out);
  }
  return out;
}

Tensor& cadence_softmax_f32_f32_out(KernelRuntimeContext& ctx, const Tensor& self, int64_t dim,
                                    std::optional<bool> half_to_float, Tensor& out) {
  constexpr const char* op = "cadence::_softmax_f32_f32";
  size_t normalized = 0;
  ET_KERNEL_CHECK_MSG(ctx, !half_to_float.value_or(false), InvalidArgument, out,
                      "%s: expected half_to_float=False, found True", op);
  if (!check_dtype(ctx, op, "an input", self, ScalarType::Float) || !prepare(ctx, op, self, dim, &normalized, out)) {
    return out;
  }
  const Lines lines = lines_of(self, normalized);
  for (int64_t line = 0; line < lines.count; ++line) {
    const float* const values = self.const_data_ptr<float>() + lines.start(line);
    float* const results = out.mutable_data_ptr<float>() + lines.start(line);
    softmax(
        lines.length, [&](int64_t i) { return values[i * lines.step]; },
        [&](int64_t i, float probability) { results[i * lines.step] = probability; });
  }
  return out;
}

}  // namespace torch::executor::native
