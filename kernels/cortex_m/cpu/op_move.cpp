// SPDX-License-Identifier: BSD-3-Clause
// cortex_m::transpose, pad
#include "kernels/cortex_m/cpu/arguments.h"
#include "kernels/portable/cpu/pattern/strided_view.h"

namespace torch::executor::native {

// The kernel of the portable library, which moves elements of any dtype.
Tensor& permute_copy_out(KernelRuntimeContext& ctx, const Tensor& in, IntArrayRef dims, Tensor& out);

using namespace cortex_m;

Tensor& cortex_m_transpose_out(KernelRuntimeContext& ctx, const Tensor& input, IntArrayRef perm, Tensor& out) {
  return check_dtype(ctx, "cortex_m::transpose", "an input", input, ScalarType::Char)
             ? permute_copy_out(ctx, input, perm, out)
             : out;
}

/// Pads four dimensions in the order of the input's memory: batch, height, width, channels for an image in the format
/// channels_last; otherwise the tensor's own order, with dimensions of size 1 added before.
Tensor& cortex_m_pad_out(KernelRuntimeContext& ctx, const Tensor& input, IntArrayRef pre_pad, IntArrayRef post_pad,
                         int64_t pad_value, Tensor& out) {
  constexpr const char* op = "cortex_m::pad";
  constexpr size_t kPads = 4;
  constexpr uint8_t kImage[] = {0, 2, 3, 1};
  ET_KERNEL_CHECK_MSG(ctx, input.dim() <= static_cast<ssize_t>(kPads), InvalidArgument, out,
                      "%s: expected an input of at most 4 dimensions, found %zd", op,
                      static_cast<ssize_t>(input.dim()));
  ET_KERNEL_CHECK_MSG(ctx, pre_pad.size() == kPads && post_pad.size() == kPads, InvalidArgument, out,
                      "%s: expected 4 numbers before and after, found %zu and %zu", op, pre_pad.size(),
                      post_pad.size());
  ET_KERNEL_CHECK_MSG(ctx, pad_value >= INT8_MIN && pad_value <= INT8_MAX, InvalidArgument, out,
                      "%s: expected a value from -128 to 127, found %lld", op, static_cast<long long>(pad_value));
  if (!check_dtype(ctx, op, "an input", input, ScalarType::Char) ||
      !check_dtype(ctx, op, "an output", out, ScalarType::Char)) {
    return out;
  }
  const size_t rank = static_cast<size_t>(input.dim());
  const bool is_image = rank == kPads && is_channels_last(input);
  int64_t sizes[kPads];
  int64_t before[kPads];
  for (size_t i = 0; i < kPads; ++i) {
    const bool fits = pre_pad[i] >= 0 && pre_pad[i] <= INT32_MAX && post_pad[i] >= 0 && post_pad[i] <= INT32_MAX &&
                      (i >= kPads - rank || (pre_pad[i] == 0 && post_pad[i] == 0));
    ET_KERNEL_CHECK_MSG(
        ctx, fits, InvalidArgument, out,
        "%s: expected numbers from 0 to %lld, and 0 for dimensions that the input does not have, found %lld and "
        "%lld",
        op, static_cast<long long>(INT32_MAX), static_cast<long long>(pre_pad[i]), static_cast<long long>(post_pad[i]));
    if (i >= kPads - rank) {
      const size_t d = is_image ? kImage[i] : i - (kPads - rank);
      before[d] = pre_pad[i];
      sizes[d] = input.sizes()[d] + pre_pad[i] + post_pad[i];
    }
  }
  if (!check_resize(ctx, op, out, sizes, rank)) {
    return out;
  }
  StridedView target = StridedView::of(out);
  fill(target, Scalar(pad_value));
  for (size_t d = 0; d < rank; ++d) {
    target.slice(d, before[d], input.sizes()[d]);
  }
  copy(target, StridedView::of(input));
  return out;
}

}  // namespace torch::executor::native
