// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file
 * start, start + step, ... up to `end`, for custom kernels.
 */
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include <executorch/runtime/kernel/kernel_includes.h>

namespace torch {
namespace executor {
namespace native {

/// The number of elements. Aborts if it is not finite or does not fit a size.
inline ::executorch::aten::SizesType compute_arange_out_size(double start, double end, double step) {
  const double count = std::ceil((end - start) / step);
  ET_CHECK_MSG(count >= 0 && count <= std::numeric_limits<int32_t>::max(),
               "from %g to %g in steps of %g there is no finite number of values", start, end, step);
  return static_cast<::executorch::aten::SizesType>(count);
}
inline ::executorch::aten::SizesType compute_arange_out_size(double end) {
  return compute_arange_out_size(0.0, end, 1.0);
}

/// Writes the numbers to `out`, which is large enough and contiguous and has a real dtype.
inline void arange_out_impl(KernelRuntimeContext& ctx, double start, double end, double step, Tensor& out) {
  const auto count = static_cast<size_t>(compute_arange_out_size(start, end, step));
  ET_KERNEL_CHECK_MSG(ctx, count <= static_cast<size_t>(out.numel()), InvalidArgument, ,
                      "arange: %zu values do not fit in the %zd of the result", count,
                      static_cast<ssize_t>(out.numel()));
  ET_SWITCH_REALHBF16_TYPES(out.scalar_type(), ctx, "arange.start_out", CTYPE, [&] {
    CTYPE* const data = out.mutable_data_ptr<CTYPE>();
    for (size_t i = 0; i < count; ++i) {
      data[i] = static_cast<CTYPE>(start + static_cast<double>(i) * step);
    }
  });
}
inline void arange_out_impl(KernelRuntimeContext& ctx, double end, Tensor& out) {
  arange_out_impl(ctx, 0.0, end, 1.0, out);
}
inline void arange_out_impl(double start, double end, double step, Tensor& out) {
  KernelRuntimeContext ctx;
  arange_out_impl(ctx, start, end, step, out);
}
inline void arange_out_impl(double end, Tensor& out) {
  arange_out_impl(0.0, end, 1.0, out);
}

}  // namespace native
}  // namespace executor
}  // namespace torch
