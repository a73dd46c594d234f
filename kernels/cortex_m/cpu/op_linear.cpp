// SPDX-License-Identifier: BSD-3-Clause
// cortex_m::quantized_linear, quantized_batch_matmul
#include "kernels/cortex_m/cpu/cmsis_nn.h"
#include "kernels/cortex_m/cpu/dot_products.h"

namespace torch::executor::native {
namespace {

using namespace cortex_m;

bool check_matrix(KernelRuntimeContext& ctx, const char* op, const char* name, const Tensor& tensor, ssize_t least_dims,
                  ssize_t most_dims) {
  const bool is_plain = tensor.dim() >= least_dims && tensor.dim() <= most_dims &&
                        executorch::runtime::tensor_is_default_dim_order(tensor);
  ET_KERNEL_CHECK_MSG(ctx, is_plain, InvalidArgument, false,
                      "%s: expected %s of %zd to %zd dimensions in the default dim order, found %zd", op, name,
                      least_dims, most_dims, static_cast<ssize_t>(tensor.dim()));
  return check_dtype(ctx, op, name, tensor, ScalarType::Char);
}

// The matrix product of `rows` (m, k) and transposed `columns` (n, k), plus `added` for each column. A single
// multiplier and shift hold for all columns.
struct Product {
  const int8_t* rows;
  int32_t row_offset;
  const int8_t* columns;
  int32_t column_offset;
  const int32_t* added;  // null for zeros
  Int8Output output;
  IntArrayRef multipliers;
  IntArrayRef shifts;
  size_t n;
  size_t k;

  void store(size_t m, int8_t* results) const {
    for (size_t row = 0; row < m; ++row) {
      size_t column = 0;
      for (; column + kRows <= n; column += kRows) {
        store_columns<kRows>(row, column, results);
      }
      for (; column < n; ++column) {
        store_columns<1>(row, column, results);
      }
    }
  }

 private:
  template <size_t kCount>
  void store_columns(size_t row, size_t column, int8_t* results) const {
    uint32_t sums[kCount];
    int32_t multiplier[kCount];
    int32_t shift[kCount];
    for (size_t i = 0; i < kCount; ++i) {
      const size_t scale = multipliers.size() == 1 ? 0 : column + i;
      sums[i] = added == nullptr ? 0 : static_cast<uint32_t>(added[column + i]);
      multiplier[i] = static_cast<int32_t>(multipliers[scale]);
      shift[i] = static_cast<int32_t>(shifts[scale]);
    }
    fast::dot_products({rows + row * k, row_offset, columns + column * k, k, column_offset, k}, sums);
    fast::store(sums, {output, multiplier, shift}, results + row * n + column);
  }
};

}  // namespace

/// Weights have the shape (outputs, inputs). Programs for processors with vector instructions have `kernel_sum`, which
/// is the bias plus the input offset times the sum of the weights; programs for others have `bias`.
Tensor& cortex_m_quantized_linear_out(KernelRuntimeContext& ctx, const Tensor& input, const Tensor& weights,
                                      const std::optional<Tensor>& bias, const std::optional<Tensor>& kernel_sum,
                                      int64_t input_offset, int64_t filter_offset, int64_t output_offset,
                                      IntArrayRef requantize_multipliers, IntArrayRef requantize_shifts,
                                      int64_t activation_max, int64_t activation_min, Tensor& out) {
  constexpr const char* op = "cortex_m::quantized_linear";
  Int8Output output{};
  if (!check_matrix(ctx, op, "an input", input, 1, kTensorDimensionLimit) ||
      !check_matrix(ctx, op, "weights", weights, 2, 2) || !check_offset(ctx, op, "an input offset", input_offset) ||
      !check_offset(ctx, op, "a filter offset", filter_offset) ||
      !check_output(ctx, op, output_offset, activation_min, activation_max, &output)) {
    return out;
  }
  const int64_t outputs = weights.size(0);
  const int64_t inputs = weights.size(1);
  ET_KERNEL_CHECK_MSG(ctx, input.size(input.dim() - 1) == inputs, InvalidArgument, out,
                      "%s: expected an input of %lld in the last dimension, as the weights have, found %zd", op,
                      static_cast<long long>(inputs), static_cast<ssize_t>(input.size(input.dim() - 1)));
  const size_t scales = requantize_multipliers.size();
  ET_KERNEL_CHECK_MSG(ctx,
                      (scales == 1 || scales == static_cast<size_t>(outputs)) && requantize_shifts.size() == scales,
                      InvalidArgument, out, "%s: expected one multiplier and shift, or %lld, found %zu and %zu", op,
                      static_cast<long long>(outputs), scales, requantize_shifts.size());
  for (size_t i = 0; i < scales; ++i) {
    if (!check_multiplier(ctx, op, requantize_multipliers[i], requantize_shifts[i])) {
      return out;
    }
  }
  int64_t sizes[kTensorDimensionLimit];
  int64_t rows = 1;
  const size_t last = static_cast<size_t>(input.dim()) - 1;
  for (size_t d = 0; d < last; ++d) {
    sizes[d] = input.sizes()[d];
    rows *= sizes[d];
  }
  sizes[last] = outputs;
  if (!check_int32s(ctx, op, "the bias", bias, outputs) || !check_int32s(ctx, op, "kernel_sum", kernel_sum, outputs) ||
      !check_resize(ctx, op, out, sizes, last + 1) ||
      !check_matrix(ctx, op, "an output", out, 1, kTensorDimensionLimit)) {
    return out;
  }
  // (x + a) * (w + b) = x * (w + b) + a * (w + b); kernel_sum contains the second term.
  const bool is_summed = kernel_sum.has_value();
  const std::optional<Tensor>& added = is_summed ? kernel_sum : bias;
  const int32_t row_offset = is_summed ? 0 : static_cast<int32_t>(input_offset);
  if (scales == 1 && filter_offset == 0 &&
      cmsis_nn::linear(
          ctx,
          {op, input, weights, added, row_offset, is_summed, output, requantize_multipliers[0], requantize_shifts[0]},
          out)) {
    return out;
  }
  Product{input.const_data_ptr<int8_t>(),
          row_offset,
          weights.const_data_ptr<int8_t>(),
          static_cast<int32_t>(filter_offset),
          added.has_value() ? added->const_data_ptr<int32_t>() : nullptr,
          output,
          requantize_multipliers,
          requantize_shifts,
          static_cast<size_t>(outputs),
          static_cast<size_t>(inputs)}
      .store(static_cast<size_t>(rows), out.mutable_data_ptr<int8_t>());
  return out;
}

/// Multiplies (batch, m, k) by the transpose of (batch, n, k). The arguments that the schema calls zero points are the
/// negatives of zero points.
Tensor& cortex_m_quantized_batch_matmul_out(KernelRuntimeContext& ctx, const Tensor& lhs, int64_t lhs_zero_point,
                                            const Tensor& rhs_transposed, int64_t rhs_zero_point,
                                            int64_t output_zero_point, int64_t output_multiplier, int64_t output_shift,
                                            const Tensor& /*scratch*/, Tensor& out) {
  constexpr const char* op = "cortex_m::quantized_batch_matmul";
  Int8Output output{};
  if (!check_matrix(ctx, op, "a first operand", lhs, 3, 3) ||
      !check_matrix(ctx, op, "a second operand", rhs_transposed, 3, 3) ||
      !check_offset(ctx, op, "a first zero point", lhs_zero_point) ||
      !check_offset(ctx, op, "a second zero point", rhs_zero_point) ||
      !check_multiplier(ctx, op, output_multiplier, output_shift) ||
      !check_output(ctx, op, output_zero_point, INT8_MIN, INT8_MAX, &output)) {
    return out;
  }
  ET_KERNEL_CHECK_MSG(
      ctx, lhs.size(0) == rhs_transposed.size(0) && lhs.size(2) == rhs_transposed.size(2), InvalidArgument, out,
      "%s: expected matrices (batch, m, k) and (batch, n, k), found (%zd, %zd, %zd) and (%zd, %zd, %zd)", op,
      static_cast<ssize_t>(lhs.size(0)), static_cast<ssize_t>(lhs.size(1)), static_cast<ssize_t>(lhs.size(2)),
      static_cast<ssize_t>(rhs_transposed.size(0)), static_cast<ssize_t>(rhs_transposed.size(1)),
      static_cast<ssize_t>(rhs_transposed.size(2)));
  const int64_t m = lhs.size(1);
  const int64_t n = rhs_transposed.size(1);
  const int64_t k = lhs.size(2);
  const int64_t sizes[] = {lhs.size(0), m, n};
  if (!check_resize(ctx, op, out, sizes, 3) || !check_matrix(ctx, op, "an output", out, 3, 3)) {
    return out;
  }
  for (int64_t batch = 0; batch < lhs.size(0); ++batch) {
    Product{lhs.const_data_ptr<int8_t>() + batch * m * k,
            static_cast<int32_t>(lhs_zero_point),
            rhs_transposed.const_data_ptr<int8_t>() + batch * n * k,
            static_cast<int32_t>(rhs_zero_point),
            nullptr,
            output,
            IntArrayRef(&output_multiplier, 1),
            IntArrayRef(&output_shift, 1),
            static_cast<size_t>(n),
            static_cast<size_t>(k)}
        .store(static_cast<size_t>(m), out.mutable_data_ptr<int8_t>() + batch * m * n);
  }
  return out;
}

}  // namespace torch::executor::native
