// SPDX-License-Identifier: BSD-3-Clause
#include "kernels/portable/cpu/math/grouped_product.h"

#include <cinttypes>
#include <cstring>

#include "kernels/portable/cpu/pattern/checks.h"

namespace torch::executor::native {
namespace {

constexpr const char* kOp = "grouped_mm.out";

bool check_offsets(KernelRuntimeContext& ctx, const Tensor& offs, int64_t groups, int64_t rows, int64_t* last) {
  if (!check_index_dtype(ctx, kOp, offs)) {
    return false;
  }
  ET_KERNEL_CHECK_MSG(ctx, offs.dim() == 1 && offs.size(0) == groups, InvalidArgument, false,
                      "%s: expected an offset for each of the %" PRId64 " matrices, found %zd in %zd dimensions", kOp,
                      groups, (ssize_t)offs.numel(), (ssize_t)offs.dim());
  *last = 0;
  for (int64_t group = 0; group < groups; ++group) {
    const int64_t end = index_at(offs, group);
    ET_KERNEL_CHECK_MSG(ctx, end >= *last && end <= rows, InvalidArgument, false,
                        "%s: offset %" PRId64 " is %" PRId64 "; it must be from %" PRId64
                        " (the one before) to %" PRId64 " (the rows of the input)",
                        kOp, group, end, *last, rows);
    *last = end;
  }
  return true;
}

}  // namespace

bool prepare_grouped_product(KernelRuntimeContext& ctx, const Tensor& input, const Tensor& weight, const Tensor& offs,
                             Tensor& out) {
  ET_KERNEL_CHECK_MSG(
      ctx, input.dim() == 2 && weight.dim() == 3 && input.size(1) == weight.size(1), InvalidArgument, false,
      "%s: expected an input of (rows, k) and a weight of (groups, k, n), found %zd and %zd dimensions, "
      "or another k",
      kOp, (ssize_t)input.dim(), (ssize_t)weight.dim());
  int64_t last = 0;
  const int64_t sizes[] = {input.size(0), weight.size(2)};
  if (!check_same_dtype(ctx, kOp, input, weight) || !check_same_dtype(ctx, kOp, input, out) ||
      !check_offsets(ctx, offs, weight.size(0), input.size(0), &last) || !check_resize(ctx, kOp, out, sizes, 2) ||
      !check_no_overlap(ctx, kOp, offs, out)) {
    return false;
  }
  if (last < input.size(0) && out.numel() != 0) {
    std::memset(out.mutable_data_ptr(), 0, out.nbytes());
  }
  return true;
}

}  // namespace torch::executor::native
