// SPDX-License-Identifier: BSD-3-Clause
// quantized_decomposed::embedding_{byte,4bit,2bit}.{out,dtype_out}: rows of a quantized table, dequantized.
#include <cinttypes>

#include "kernels/portable/cpu/pattern/checks.h"
#include "kernels/portable/cpu/pattern/compute_type.h"
#include "kernels/quantized/cpu/affine.h"

namespace torch::executor::native {
namespace {

// Reads value `i` of a packed row. With 4 bits, the first value is the high half of a byte; with 2 bits, it is the
// lowest pair. Both are stored with an offset, as unsigned values.
int unpack(const uint8_t* row, int64_t i, int bits) {
  switch (bits) {
    case 4:
      return ((row[i / 2] >> (i % 2 == 0 ? 4 : 0)) & 15) - 8;
    case 2:
      return ((row[i / 4] >> (2 * (i % 4))) & 3) - 2;
    default:
      return static_cast<int8_t>(row[i]);
  }
}

Tensor& embed(KernelRuntimeContext& ctx, const char* op, const Tensor& weight, const Tensor& scales,
              const std::optional<Tensor>& zero_points, const Tensor& indices, std::optional<ScalarType> dtype,
              int bits, Tensor& out) {
  const bool is_signed = weight.scalar_type() == ScalarType::Char;
  ET_KERNEL_CHECK_MSG(
      ctx,
      weight.dim() == 2 && (scales.dim() == 1 || scales.dim() == 2) && scales.size(0) == weight.size(0) &&
          (is_signed ? bits == 8 : weight.scalar_type() == ScalarType::Byte),
      InvalidArgument, out, "%s: the weight must be (rows, bytes) of dtype %s and the scales (rows) or (rows, groups)",
      op, bits == 8 ? "Char or Byte" : "Byte");
  ET_KERNEL_CHECK_MSG(ctx,
                      executorch::runtime::tensor_is_default_dim_order(weight) &&
                          executorch::runtime::tensor_is_default_dim_order(indices) &&
                          executorch::runtime::tensor_is_default_dim_order(out) && indices.dim() < 16,
                      InvalidArgument, out, "%s: the tensors must be in the default dim order", op);
  const int64_t row_bytes = weight.size(1), width = row_bytes * 8 / bits;
  const int64_t groups = scales.dim() == 2 ? scales.size(1) : 1;
  ET_KERNEL_CHECK_MSG(ctx, groups > 0 && width % groups == 0, InvalidArgument, out,
                      "%s: rows of %" PRId64 " values cannot be split into %" PRId64 " groups", op, width, groups);
  ParamTable table;
  if (!table.read(ctx, op, scales, zero_points, scales.numel()) || !check_index_dtype(ctx, op, indices) ||
      !check_real_dtype(ctx, op, out.scalar_type()) || (dtype && !check_dtype_argument(ctx, op, *dtype, out))) {
    return out;
  }
  int64_t sizes[kTensorDimensionLimit];
  for (ssize_t d = 0; d < indices.dim(); ++d) {
    sizes[d] = indices.size(d);
  }
  sizes[indices.dim()] = width;
  if (!check_resize(ctx, op, out, sizes, static_cast<size_t>(indices.dim()) + 1)) {
    return out;
  }
  const ConvertFn store = store_fn(ComputeType::Float, out.scalar_type());
  for (ssize_t i = 0; i < indices.numel(); ++i) {
    const int64_t index = index_at(indices, i);
    ET_KERNEL_CHECK_MSG(ctx, index >= 0 && index < weight.size(0), InvalidArgument, out,
                        "%s: index %" PRId64 " is outside the table of %zd rows", op, index, (ssize_t)weight.size(0));
    const uint8_t* row = static_cast<const uint8_t*>(weight.const_data_ptr()) + index * row_bytes;
    for (int64_t g = 0; g < groups; ++g) {
      const AffineParams params = table.at(index * groups + g);
      const float scale = static_cast<float>(params.scale), zero_point = static_cast<float>(params.zero_point);
      constexpr int64_t kBlock = 64;
      const int64_t end = (g + 1) * (width / groups);
      for (int64_t start = g * (width / groups); start < end; start += kBlock) {
        const int64_t count = end - start < kBlock ? end - start : kBlock;
        float values[kBlock];
        for (int64_t j = 0; j < count; ++j) {
          const int q = bits == 8 && !is_signed ? row[start + j] : unpack(row, start + j, bits);
          values[j] = (static_cast<float>(q) - zero_point) * scale;
        }
        store(static_cast<char*>(out.mutable_data_ptr()) + (i * width + start) * out.element_size(), values,
              static_cast<size_t>(count));
      }
    }
  }
  return out;
}

}  // namespace

#define QUANTIZED_EMBEDDING(name, bits, kernel, dtype_kernel)                                                      \
  Tensor& kernel(KernelRuntimeContext& ctx, const Tensor& weight, const Tensor& scales,                            \
                 const std::optional<Tensor>& zero_points, int64_t, int64_t, const Tensor& indices, Tensor& out) { \
    return embed(ctx, name ".out", weight, scales, zero_points, indices, std::nullopt, bits, out);                 \
  }                                                                                                                \
  Tensor& dtype_kernel(KernelRuntimeContext& ctx, const Tensor& weight, const Tensor& scales,                      \
                       const std::optional<Tensor>& zero_points, int64_t, int64_t, const Tensor& indices,          \
                       std::optional<ScalarType> dtype, Tensor& out) {                                             \
    return embed(ctx, name ".dtype_out", weight, scales, zero_points, indices, dtype, bits, out);                  \
  }

QUANTIZED_EMBEDDING("embedding_byte", 8, quantized_embedding_byte_out, quantized_embedding_byte_dtype_out)
QUANTIZED_EMBEDDING("embedding_4bit", 4, quantized_embedding_4bit_out, quantized_embedding_4bit_dtype_out)
QUANTIZED_EMBEDDING("embedding_2bit", 2, quantized_embedding_2bit_out, quantized_embedding_2bit_dtype_out)

#undef QUANTIZED_EMBEDDING

}  // namespace torch::executor::native
