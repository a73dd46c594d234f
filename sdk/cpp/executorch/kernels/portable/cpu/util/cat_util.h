// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file
 * Joins tensors along a dimension, for custom kernels. A tensor of the shape [0] is skipped, as in torch.cat.
 */
#pragma once

#include <algorithm>
#include <cstring>

#include <executorch/kernels/portable/cpu/util/dtype_util.h>
#include <executorch/runtime/kernel/kernel_includes.h>

namespace torch {
namespace executor {

/// Checks that the tensors have one shape except for dimension `dim`, which must not be negative, and dtypes that can
/// be stored in `out`. Tensors without elements may have any shape. Logs if not.
ET_NODISCARD inline bool check_cat_args(::executorch::aten::ArrayRef<Tensor> tensors, int64_t dim, Tensor& out) {
  ET_CHECK_OR_RETURN_FALSE(!tensors.empty(), "cat: expected at least one tensor");
  const Tensor* first = nullptr;
  for (const Tensor& tensor : tensors) {
    ET_CHECK_OR_RETURN_FALSE(canCast(tensor.scalar_type(), out.scalar_type()),
                             "cat: an input of dtype %s cannot be stored in an output of dtype %s",
                             ::executorch::runtime::toString(tensor.scalar_type()),
                             ::executorch::runtime::toString(out.scalar_type()));
    ET_LOG_AND_RETURN_IF_FALSE(tensors_have_same_dim_order(tensor, out));
    if (tensor.numel() == 0) {
      continue;
    }
    first = first == nullptr ? &tensor : first;
    ET_LOG_AND_RETURN_IF_FALSE(tensors_have_same_rank(*first, tensor));
    for (ssize_t d = 0; d < tensor.dim(); ++d) {
      ET_LOG_AND_RETURN_IF_FALSE(
          d == dim || tensors_have_same_size_at_dims(*first, static_cast<size_t>(d), tensor, static_cast<size_t>(d)));
    }
  }
  ET_CHECK_OR_RETURN_FALSE(dim >= 0 && (first == nullptr || dim < first->dim()),
                           "cat: there is no dimension %" PRId64 " to join", dim);
  return true;
}

/// Writes the sizes of the result to `out_sizes`, which has room for kTensorDimensionLimit. The check has passed.
inline void get_cat_out_target_size(::executorch::aten::ArrayRef<Tensor> tensors, int64_t dim,
                                    ::executorch::aten::SizesType* out_sizes, size_t* out_ndim) {
  const Tensor* model = &tensors[0];
  ::executorch::aten::SizesType joined = 0;
  for (const Tensor& tensor : tensors) {
    if (tensor.numel() > 0) {
      joined += static_cast<::executorch::aten::SizesType>(tensor.size(dim));
    }
    if (tensor.numel() > 0 || tensor.dim() != 1) {
      model = model->numel() > 0 ? model : &tensor;
    }
  }
  *out_ndim = static_cast<size_t>(model->dim());
  std::copy(model->sizes().begin(), model->sizes().end(), out_sizes);
  if (dim < model->dim()) {
    out_sizes[dim] = joined;
  }
}

namespace native {
namespace internal {

/// Copies adjacent elements to elements of the same or another dtype.
inline void copy_elements(KernelRuntimeContext& ctx, const char* from, ScalarType from_type, size_t count, char* to,
                          ScalarType to_type) {
  if (from_type == to_type) {
    std::memcpy(to, from, count * elementSize(to_type));
    return;
  }
  ET_SWITCH_REALHBBF16_TYPES(from_type, ctx, "cat.out", FROM, [&] {
    ET_SWITCH_REALHBBF16_TYPES(to_type, ctx, "cat.out", TO, [&] {
      const auto* const source = reinterpret_cast<const FROM*>(from);
      auto* const target = reinterpret_cast<TO*>(to);
      for (size_t i = 0; i < count; ++i) {
        target[i] = utils::internal::convert_element<TO>(source[i]);
      }
    });
  });
}

/// Joins tensors that each consist of `rows` parts of consecutive elements.
inline void join(KernelRuntimeContext& ctx, ::executorch::aten::ArrayRef<Tensor> tensors, size_t rows, Tensor& out) {
  auto* to = static_cast<char*>(out.mutable_data_ptr());
  for (size_t row = 0; row < rows; ++row) {
    for (const Tensor& tensor : tensors) {
      const size_t count = static_cast<size_t>(tensor.numel()) / rows;
      const auto* const from = static_cast<const char*>(tensor.const_data_ptr());
      if (count > 0) {
        copy_elements(ctx, from + row * count * static_cast<size_t>(tensor.element_size()), tensor.scalar_type(), count,
                      to, out.scalar_type());
      }
      to += count * static_cast<size_t>(out.element_size());
    }
  }
}

}  // namespace internal

using ::torch::executor::check_cat_args;
using ::torch::executor::get_cat_out_target_size;

/// Resizes `out` and joins contiguous tensors. `dim` may count from the end. Sets InvalidArgument in the context if the
/// arguments are not valid.
inline Tensor& cat_out_impl(KernelRuntimeContext& ctx, ::executorch::aten::ArrayRef<Tensor> tensors, int64_t dim,
                            Tensor& out) {
  dim += dim < 0 ? out.dim() : 0;
  ET_KERNEL_CHECK(ctx, check_cat_args(tensors, dim, out), InvalidArgument, out);
  ::executorch::aten::SizesType sizes[kTensorDimensionLimit];
  size_t rank = 0;
  get_cat_out_target_size(tensors, dim, sizes, &rank);
  ET_KERNEL_CHECK(
      ctx, resize_tensor(out, ::executorch::aten::ArrayRef<::executorch::aten::SizesType>(sizes, rank)) == Error::Ok,
      InvalidArgument, out);
  if (out.numel() > 0) {
    internal::join(ctx, tensors, getLeadingDims(out, dim), out);
  }
  return out;
}
inline Tensor& cat_out_impl(::executorch::aten::ArrayRef<Tensor> tensors, int64_t dim, Tensor& out) {
  KernelRuntimeContext ctx;
  return cat_out_impl(ctx, tensors, dim, out);
}

}  // namespace native
}  // namespace executor
}  // namespace torch
