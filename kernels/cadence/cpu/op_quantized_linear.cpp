// SPDX-License-Identifier: BSD-3-Clause
// cadence::quantized_linear, quantized_fully_connected. Weights have the shape (outputs, inputs); the bias is added to
// the integer sums.
#include "kernels/cadence/cpu/dot_products.h"

namespace torch::executor::native {
namespace {

using namespace cadence;

struct Layer {
  const char* op;
  bool one_row;
  int64_t src_zero_point;
  int64_t weight_zero_point;
  int64_t out_zero_point;
  float factor;
};

bool check_layer(KernelRuntimeContext& ctx, const Layer& layer, const Tensor& src, const Tensor& weight,
                 const Tensor& bias, Tensor& out) {
  const char* const op = layer.op;
  ET_KERNEL_CHECK_MSG(ctx, src.dim() >= 1 && weight.dim() == 2 && src.size(src.dim() - 1) == weight.size(1),
                      InvalidArgument, false,
                      "%s: expected weights (outputs, inputs) and an input whose last size equals inputs", op);
  ET_KERNEL_CHECK_MSG(ctx, !layer.one_row || src.size(0) == 1, InvalidArgument, false,
                      "%s: expected a batch of 1, found %zd", op, static_cast<ssize_t>(src.size(0)));
  ET_KERNEL_CHECK_MSG(ctx, bias.numel() == weight.size(0), InvalidArgument, false,
                      "%s: expected a bias of %zd numbers, found %zd", op, static_cast<ssize_t>(weight.size(0)),
                      static_cast<ssize_t>(bias.numel()));
  int64_t sizes[kTensorDimensionLimit];
  for (ssize_t d = 0; d < src.dim(); ++d) {
    sizes[d] = d + 1 < src.dim() ? src.size(d) : weight.size(0);
  }
  return check_dtype(ctx, op, "a bias", bias, ScalarType::Int) && check_order(ctx, op, "an input", src) &&
         check_order(ctx, op, "weights", weight) && check_zero_point(ctx, op, layer.src_zero_point) &&
         check_zero_point(ctx, op, layer.weight_zero_point) && check_same_dtype(ctx, op, src, out) &&
         check_resize(ctx, op, out, sizes, static_cast<size_t>(src.dim())) && check_order(ctx, op, "an output", out);
}

// Blocks of 8-bit integers: the weights of adjacent outputs times several rows.
template <typename T, typename W>
void multiply_blocks(const Layer& layer, const T* values, const W* weights, const int32_t* biases, int64_t rows,
                     int64_t outputs, int64_t inputs, const Quantizer<T>& quantize, T* results) {
  const bool is_small = has_narrow_results(inputs, biases, outputs);
  const int32_t x_zero = static_cast<int32_t>(layer.src_zero_point);
  const int32_t w_zero = static_cast<int32_t>(layer.weight_zero_point);
  Block block;
  for (int64_t o = 0; o < outputs; o += Block::kRows) {
    const int64_t output_count = outputs - o < Block::kRows ? outputs - o : Block::kRows;
    for (int64_t row = 0; row < rows; row += Block::kColumns) {
      const int64_t row_count = rows - row < Block::kColumns ? rows - row : Block::kColumns;
      block.multiply(
          output_count, row_count, inputs,
          [&](int64_t start, int64_t count, int16_t* to) {
            for (int64_t output = 0; output < output_count; ++output) {
              less_zero_point(weights + (o + output) * inputs + start, 1, w_zero, count, to + output * Block::kDepth);
            }
          },
          [&](int64_t r, int64_t start, int64_t count, int16_t* to) {
            less_zero_point(values + (row + r) * inputs + start, 1, x_zero, count, to);
          });
      for (int64_t r = 0; r < row_count; ++r) {
        store_sums(
            quantize, block.sums(r), [=](int64_t i) { return biases[o + i]; }, is_small, 1.0f, output_count,
            results + (row + r) * outputs + o);
      }
    }
  }
}

Tensor& linear(KernelRuntimeContext& ctx, const Layer& layer, const Tensor& src, const Tensor& weight,
               const Tensor& bias, Tensor& out) {
  if (!check_layer(ctx, layer, src, weight, bias, out)) {
    return out;
  }
  const int64_t outputs = weight.size(0), inputs = weight.size(1);
  const int64_t rows = outputs == 0 ? 0 : out.numel() / outputs;
  const int32_t* const biases = bias.const_data_ptr<int32_t>();
  dispatch<int8_t, uint8_t, int16_t, int32_t>(ctx, layer.op, "an input", src.scalar_type(), [&](auto src_zero) {
    using T = decltype(src_zero);
    const Quantizer<T> quantize(layer.factor, layer.out_zero_point);
    dispatch<int8_t, uint8_t, int16_t>(ctx, layer.op, "weights", weight.scalar_type(), [&](auto weight_zero) {
      using W = decltype(weight_zero);
      const W* const weights = weight.const_data_ptr<W>();
      const T* const values = src.const_data_ptr<T>();
      T* const results = out.mutable_data_ptr<T>();
      if constexpr (sizeof(T) + sizeof(W) == 2) {
        if (is_narrow<T, W>(layer.src_zero_point, layer.weight_zero_point) && inputs <= kNarrowSum) {
          multiply_blocks(layer, values, weights, biases, rows, outputs, inputs, quantize, results);
          return;
        }
      }
      for (int64_t row = 0; row < rows; ++row) {
        for (int64_t o = 0; o < outputs; ++o) {
          const int64_t sum = sum_of_products(values + row * inputs, layer.src_zero_point, weights + o * inputs,
                                              layer.weight_zero_point, inputs);
          results[row * outputs + o] = quantize(static_cast<float>(sum + biases[o]));
        }
      }
    });
  });
  return out;
}

Tensor& of_numbers(KernelRuntimeContext& ctx, const char* op, bool one_row, const Tensor& src, const Tensor& weight,
                   const Tensor& bias, int64_t src_zero_point, int64_t weight_zero_point, int64_t out_multiplier,
                   int64_t out_shift, int64_t out_zero_point, Tensor& out) {
  Layer layer{op, one_row, src_zero_point, weight_zero_point, out_zero_point, 0};
  if (read_factor(ctx, op, out_multiplier, out_shift, &layer.factor)) {
    linear(ctx, layer, src, weight, bias, out);
  }
  return out;
}

// All weights have the same zero point.
Tensor& of_tensors(KernelRuntimeContext& ctx, const char* op, bool one_row, const Tensor& src, const Tensor& weight,
                   const Tensor& bias, int64_t src_zero_point, const Tensor& weight_zero_point,
                   const Tensor& out_multiplier, const Tensor& out_shift, int64_t out_zero_point, Tensor& out) {
  int64_t multiplier = 0, shift = 0, zero_point = 0;
  if (!read_number(ctx, op, "weight_zero_point", weight_zero_point, &zero_point) ||
      !read_number(ctx, op, "out_multiplier", out_multiplier, &multiplier) ||
      !read_number(ctx, op, "out_shift", out_shift, &shift)) {
    return out;
  }
  return of_numbers(ctx, op, one_row, src, weight, bias, src_zero_point, zero_point, multiplier, shift, out_zero_point,
                    out);
}

}  // namespace

Tensor& cadence_quantized_linear_per_tensor_out(KernelRuntimeContext& ctx, const Tensor& src, const Tensor& weight,
                                                const Tensor& bias, int64_t src_zero_point, int64_t weight_zero_point,
                                                int64_t out_multiplier, int64_t out_shift, int64_t out_zero_point,
                                                const std::optional<Tensor>& /*offset*/, Tensor& out) {
  return of_numbers(ctx, "cadence::quantized_linear", false, src, weight, bias, src_zero_point, weight_zero_point,
                    out_multiplier, out_shift, out_zero_point, out);
}

Tensor& cadence_quantized_linear_out(KernelRuntimeContext& ctx, const Tensor& src, const Tensor& weight,
                                     const Tensor& bias, int64_t src_zero_point, const Tensor& weight_zero_point,
                                     const Tensor& out_multiplier, const Tensor& out_shift, int64_t out_zero_point,
                                     const std::optional<Tensor>& /*offset*/, Tensor& out) {
  return of_tensors(ctx, "cadence::quantized_linear", false, src, weight, bias, src_zero_point, weight_zero_point,
                    out_multiplier, out_shift, out_zero_point, out);
}

Tensor& cadence_quantized_fully_connected_per_tensor_out(KernelRuntimeContext& ctx, const Tensor& src,
                                                         const Tensor& weight, const Tensor& bias,
                                                         int64_t src_zero_point, int64_t weight_zero_point,
                                                         int64_t out_multiplier, int64_t out_shift,
                                                         int64_t out_zero_point,
                                                         const std::optional<Tensor>& /*offset*/, Tensor& out) {
  return of_numbers(ctx, "cadence::quantized_fully_connected", true, src, weight, bias, src_zero_point,
                    weight_zero_point, out_multiplier, out_shift, out_zero_point, out);
}

Tensor& cadence_quantized_fully_connected_out(KernelRuntimeContext& ctx, const Tensor& src, const Tensor& weight,
                                              const Tensor& bias, int64_t src_zero_point,
                                              const Tensor& weight_zero_point, const Tensor& out_multiplier,
                                              const Tensor& out_shift, int64_t out_zero_point,
                                              const std::optional<Tensor>& /*offset*/, Tensor& out) {
  return of_tensors(ctx, "cadence::quantized_fully_connected", true, src, weight, bias, src_zero_point,
                    weight_zero_point, out_multiplier, out_shift, out_zero_point, out);
}

}  // namespace torch::executor::native
