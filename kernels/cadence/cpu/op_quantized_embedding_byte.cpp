// SPDX-License-Identifier: BSD-3-Clause
// cadence::quantized_embedding_byte: rows of a table with a scale for each row or group
#include "kernels/cadence/cpu/quantized.h"

namespace torch::executor::native {

using namespace cadence;

Tensor& cadence_quantized_embedding_byte_out(KernelRuntimeContext& ctx, const Tensor& weight,
                                             const Tensor& weight_scales,
                                             const std::optional<Tensor>& weight_zero_points, const Tensor& indices,
                                             bool pruned_weights, Tensor& out) {
  constexpr const char* op = "cadence::quantized_embedding_byte";
  const ssize_t rank = indices.dim();
  const bool fits = !pruned_weights && weight.dim() == 2 && weight.size(0) > 0 &&
                    weight_scales.numel() % weight.size(0) == 0 && weight_scales.numel() > 0 &&
                    weight.size(1) % (weight_scales.numel() / weight.size(0)) == 0 &&
                    (!weight_zero_points.has_value() || weight_zero_points->numel() == weight_scales.numel()) &&
                    rank + 1 <= static_cast<ssize_t>(kTensorDimensionLimit);
  ET_KERNEL_CHECK_MSG(ctx, fits, InvalidArgument, out,
                      "%s: expected a table (rows, depth) that is not pruned, with scales and zero points (rows) or "
                      "(rows, groups)",
                      op);
  const int64_t depth = weight.size(1), groups = weight_scales.numel() / weight.size(0);
  int64_t sizes[kTensorDimensionLimit];
  for (ssize_t d = 0; d < rank; ++d) {
    sizes[d] = indices.size(d);
  }
  sizes[rank] = depth;
  if (!check_dtype(ctx, op, "scales", weight_scales, ScalarType::Float) || !check_index_dtype(ctx, op, indices) ||
      (weight_zero_points.has_value() &&
       !check_dtype(ctx, op, "zero points", *weight_zero_points, ScalarType::Float)) ||
      !check_dtype(ctx, op, "an output", out, ScalarType::Float) ||
      !check_resize(ctx, op, out, sizes, static_cast<size_t>(rank) + 1) || !check_order(ctx, op, "an output", out)) {
    return out;
  }
  dispatch<int8_t, uint8_t>(ctx, op, "a table", weight.scalar_type(), [&](auto zero) {
    const auto* const table = weight.const_data_ptr<decltype(zero)>();
    const float* const scales = weight_scales.const_data_ptr<float>();
    const float* const zeros = weight_zero_points.has_value() ? weight_zero_points->const_data_ptr<float>() : nullptr;
    float* results = out.mutable_data_ptr<float>();
    const int64_t width = depth / groups;
    for (int64_t i = 0; i < indices.numel(); ++i) {
      int64_t row = 0;
      if (!check_index(ctx, op, index_at(indices, i), weight.size(0), 0, &row)) {
        return;
      }
      for (int64_t group = row * groups; group < (row + 1) * groups; ++group, results += width) {
        const Affine affine{scales[group], zeros == nullptr ? 0.0f : zeros[group]};
        for (int64_t d = 0; d < width; ++d) {
          results[d] = affine(table[group * width + d]);
        }
      }
    }
  });
  return out;
}

}  // namespace torch::executor::native
