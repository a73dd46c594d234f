// SPDX-License-Identifier: BSD-3-Clause
// moe_ops::grouped_mm.out, which PyTorch does not have: rows [offs[g - 1], offs[g]) of the input times matrix g of the
// weight, and zeros in the rows from the last offset on.
#include <cinttypes>

#include <executorch/runtime/core/exec_aten/exec_aten.h>
#include <executorch/runtime/core/exec_aten/util/tensor_util.h>
#include <executorch/runtime/kernel/kernel_includes.h>

namespace torch {
namespace executor {
namespace native {

using executorch::runtime::Error;

Tensor& grouped_mm_out(KernelRuntimeContext& ctx, const Tensor& input, const Tensor& weight, const Tensor& offs,
                       Tensor& out) {
  ET_KERNEL_CHECK_MSG(
      ctx,
      input.dim() == 2 && weight.dim() == 3 && offs.dim() == 1 && input.size(1) == weight.size(1) &&
          offs.size(0) == weight.size(0),
      InvalidArgument, out,
      "grouped_mm.out: expected an input of (rows, k), a weight of (groups, k, n) and an offset for each "
      "group");
  const int64_t sizes[] = {input.size(0), weight.size(2)};
  if (executorch::runtime::resize_tensor(out, IntArrayRef(sizes, 2)) != Error::Ok) {
    ctx.fail(Error::InvalidArgument);
    return out;
  }
  out.zero_();
  const Tensor ends = offs.to(at::kLong).contiguous();
  int64_t begin = 0;
  for (int64_t group = 0; group < weight.size(0); ++group) {
    const int64_t end = ends.const_data_ptr<int64_t>()[group];
    ET_KERNEL_CHECK_MSG(ctx, end >= begin && end <= input.size(0), InvalidArgument, out,
                        "grouped_mm.out: offset %" PRId64 " is %" PRId64 "; it must be from %" PRId64 " to %" PRId64,
                        group, end, begin, static_cast<int64_t>(input.size(0)));
    out.narrow(0, begin, end - begin).copy_(input.narrow(0, begin, end - begin).mm(weight.select(0, group)));
    begin = end;
  }
  return out;
}

}  // namespace native
}  // namespace executor
}  // namespace torch
