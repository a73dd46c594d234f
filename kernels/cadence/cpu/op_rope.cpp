// SPDX-License-Identifier: BSD-3-Clause
// cadence::rope, rope_rotate_stacked_halves
#include "kernels/cadence/cpu/arguments.h"

namespace torch::executor::native {
namespace {

using namespace cadence;

// Rotates pairs of elements along the last dimension of (1, sequence, heads, depth). A pair is elements 2i and 2i + 1,
// or with `halves` elements i and i + depth / 2.
Tensor& rotate(KernelRuntimeContext& ctx, const char* op, const Tensor& input, const Tensor& sines,
               const Tensor& cosines, const std::optional<Tensor>& pos, bool halves, Tensor& out) {
  const ssize_t rank = input.dim();
  ET_KERNEL_CHECK_MSG(ctx, (rank == 4 || rank == 5) && input.size(0) == 1, InvalidArgument, out,
                      "%s: expected an input (1, sequence, heads, depth), found %zd dimensions", op, rank);
  const int64_t length = input.size(1), heads = input.size(2);
  const int64_t depth = input.size(3) * (rank == 5 ? input.size(4) : 1), half = depth / 2;
  const bool fits = depth % 2 == 0 && sines.dim() == 2 && cosines.dim() == 2 && sines.size(1) == half &&
                    cosines.size(1) == half && sines.size(0) == cosines.size(0) &&
                    (pos.has_value() ? pos->numel() == length : sines.size(0) >= length);
  ET_KERNEL_CHECK_MSG(ctx, fits, InvalidArgument, out,
                      "%s: expected tables (positions, %lld) for %lld positions, and as many positions", op,
                      static_cast<long long>(half), static_cast<long long>(length));
  if (!check_dtype(ctx, op, "an input", input, ScalarType::Float) ||
      !check_dtype(ctx, op, "sines", sines, ScalarType::Float) ||
      !check_dtype(ctx, op, "cosines", cosines, ScalarType::Float) || !check_same_dtype(ctx, op, input, out) ||
      (pos.has_value() && !check_index_dtype(ctx, op, *pos)) || !check_order(ctx, op, "an input", input) ||
      !check_resize_like(ctx, op, out, input) || !check_order(ctx, op, "an output", out)) {
    return out;
  }
  const int64_t step = halves ? 1 : 2, other = halves ? half : 1;
  for (int64_t s = 0; s < length; ++s) {
    int64_t at = s;
    if (pos.has_value() && !check_index(ctx, op, index_at(*pos, s), sines.size(0), 0, &at)) {
      return out;
    }
    const float* const sine = sines.const_data_ptr<float>() + at * half;
    const float* const cosine = cosines.const_data_ptr<float>() + at * half;
    for (int64_t head = 0; head < heads; ++head) {
      const float* const values = input.const_data_ptr<float>() + (s * heads + head) * depth;
      float* const results = out.mutable_data_ptr<float>() + (s * heads + head) * depth;
      for (int64_t i = 0; i < half; ++i) {
        const float first = values[i * step], second = values[i * step + other];
        results[i * step] = first * cosine[i] - second * sine[i];
        results[i * step + other] = first * sine[i] + second * cosine[i];
      }
    }
  }
  return out;
}

}  // namespace

Tensor& cadence_rope_out(KernelRuntimeContext& ctx, const Tensor& input, const Tensor& sin_tensor,
                         const Tensor& cos_tensor, const std::optional<Tensor>& pos, Tensor& out) {
  return rotate(ctx, "cadence::rope", input, sin_tensor, cos_tensor, pos, false, out);
}

Tensor& cadence_rope_rotate_stacked_halves_out(KernelRuntimeContext& ctx, const Tensor& input, const Tensor& sin_tensor,
                                               const Tensor& cos_tensor, const std::optional<Tensor>& pos,
                                               Tensor& out) {
  return rotate(ctx, "cadence::rope_rotate_stacked_halves", input, sin_tensor, cos_tensor, pos, true, out);
}

}  // namespace torch::executor::native
