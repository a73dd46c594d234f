// SPDX-License-Identifier: BSD-3-Clause
// cadence::sdpa_bitwise_mask_gen: packs a mask into bits
#include "kernels/cadence/cpu/arguments.h"

namespace torch::executor::native {

using namespace cadence;

/// A bit for each position, 1 where it is masked. The first of eight positions is the lowest bit of their byte.
Tensor& cadence_sdpa_bitwise_mask_gen_out(KernelRuntimeContext& ctx, const Tensor& mask, double threshold,
                                          Tensor& out) {
  constexpr const char* op = "cadence::sdpa_bitwise_mask_gen";
  constexpr int64_t kBits = 8;
  const ssize_t rank = mask.dim();
  ET_KERNEL_CHECK_MSG(ctx, rank >= 1 && mask.size(rank - 1) % kBits == 0, InvalidArgument, out,
                      "%s: expected a last size that 8 divides", op);
  int64_t sizes[kTensorDimensionLimit];
  for (ssize_t d = 0; d < rank; ++d) {
    sizes[d] = mask.size(d) / (d + 1 < rank ? 1 : kBits);
  }
  if (!check_dtype(ctx, op, "an output", out, ScalarType::Byte) || !check_order(ctx, op, "a mask", mask) ||
      !check_resize(ctx, op, out, sizes, static_cast<size_t>(rank)) || !check_order(ctx, op, "an output", out)) {
    return out;
  }
  const bool is_bool = mask.scalar_type() == ScalarType::Bool;
  if (!is_bool && !check_dtype(ctx, op, "a mask that is not of Bool", mask, ScalarType::Float)) {
    return out;
  }
  uint8_t* const bytes = out.mutable_data_ptr<uint8_t>();
  for (int64_t i = 0; i < out.numel(); ++i) {
    unsigned byte = 0;
    for (int64_t bit = 0; bit < kBits; ++bit) {
      const int64_t at = i * kBits + bit;
      const bool is_masked =
          is_bool ? !mask.const_data_ptr<bool>()[at] : mask.const_data_ptr<float>()[at] < static_cast<float>(threshold);
      byte |= (is_masked ? 1u : 0u) << bit;
    }
    bytes[i] = static_cast<uint8_t>(byte);
  }
  return out;
}

}  // namespace torch::executor::native
