// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/runtime/kernel/kernel_includes.h>

#include <cinttypes>
#include <cstring>

namespace torch {
namespace executor {
namespace native {

using executorch::aten::ScalarType;
using executorch::aten::SizesType;
using executorch::aten::Tensor;
using executorch::runtime::Error;
using executorch::runtime::KernelRuntimeContext;

/// out[i..., :] = weight[indices[i...], :]. weight is (rows, width), indices Int or Long of any shape.
Tensor& embedding_out(KernelRuntimeContext& ctx, const Tensor& weight, const Tensor& indices, int64_t /*padding_idx*/,
                      bool /*scale_grad_by_freq*/, bool /*sparse*/, Tensor& out) {
  using namespace executorch::runtime;
  ET_KERNEL_CHECK_MSG(ctx, weight.dim() == 2, InvalidArgument, out,
                      "embedding: weight must have 2 dimensions, it has %zd", (ssize_t)weight.dim());
  ET_KERNEL_CHECK(ctx, tensors_have_same_dtype(weight, out), InvalidArgument, out);
  ET_KERNEL_CHECK(
      ctx,
      tensor_is_default_dim_order(weight) && tensor_is_default_dim_order(indices) && tensor_is_default_dim_order(out),
      InvalidArgument, out);
  const ScalarType index_type = indices.scalar_type();
  ET_KERNEL_CHECK_MSG(ctx, index_type == ScalarType::Long || index_type == ScalarType::Int, InvalidArgument, out,
                      "embedding: indices must be Long or Int, they are of type %d", static_cast<int>(index_type));
  ET_KERNEL_CHECK(ctx, static_cast<size_t>(indices.dim()) < kTensorDimensionLimit, InvalidArgument, out);

  SizesType sizes[kTensorDimensionLimit];
  for (ssize_t d = 0; d < indices.dim(); ++d) {
    sizes[d] = static_cast<SizesType>(indices.size(d));
  }
  sizes[indices.dim()] = static_cast<SizesType>(weight.size(1));
  ET_KERNEL_CHECK(ctx, resize_tensor(out, {sizes, static_cast<size_t>(indices.dim()) + 1}) == Error::Ok,
                  InvalidArgument, out);

  const int64_t rows = weight.size(0);
  const size_t row_bytes = static_cast<size_t>(weight.size(1)) * weight.element_size();
  const char* table = static_cast<const char*>(weight.const_data_ptr());
  char* destination = static_cast<char*>(out.mutable_data_ptr());
  for (ssize_t i = 0; i < indices.numel(); ++i) {
    const int64_t row =
        index_type == ScalarType::Long ? indices.const_data_ptr<int64_t>()[i] : indices.const_data_ptr<int32_t>()[i];
    ET_KERNEL_CHECK_MSG(ctx, row >= 0 && row < rows, InvalidArgument, out,
                        "embedding: index %" PRId64 " at position %zd is outside the table of %" PRId64 " rows", row,
                        (ssize_t)i, rows);
    if (row_bytes != 0) {
      std::memcpy(destination + static_cast<size_t>(i) * row_bytes, table + static_cast<size_t>(row) * row_bytes,
                  row_bytes);
    }
  }
  return out;
}

}  // namespace native
}  // namespace executor
}  // namespace torch
