// SPDX-License-Identifier: BSD-3-Clause
// Checks of arguments that several operators share. As in the portable library, a check that fails logs what was
// expected and found, sets the context's failure to InvalidArgument and returns false.
#pragma once

#include "kernels/cortex_m/cpu/fixed_point.h"
#include "kernels/portable/cpu/pattern/checks.h"

namespace torch::executor::native::cortex_m {

bool check_dtype(KernelRuntimeContext& ctx, const char* op, const char* name, const Tensor& tensor, ScalarType dtype);

/// Checks that a zero point, or its negative, fits 16 bits: then no intermediate result overflows.
bool check_offset(KernelRuntimeContext& ctx, const char* op, const char* name, int64_t offset);

/// Checks that the multiplier fits 32 bits and that -31 <= shift <= 31.
bool check_multiplier(KernelRuntimeContext& ctx, const char* op, int64_t multiplier, int64_t shift);

/// Checks that the zero point, min and max are in the range of int8 and that min <= max. Stores all three.
bool check_output(KernelRuntimeContext& ctx, const char* op, int64_t zero_point, int64_t min, int64_t max,
                  Int8Output* output);

/// Whether a tensor with four dimensions is in memory as batch, height, width, channels. The order of dimensions of
/// size 1 does not matter.
bool is_channels_last(const Tensor& tensor);

/// Checks for four dimensions, int8, and is_channels_last().
bool check_image(KernelRuntimeContext& ctx, const char* op, const char* name, const Tensor& tensor);

/// Checks that `values` has one number, for both dimensions, or a height and a width, from `least` to 2^31 - 1. Stores
/// both.
bool check_pair(KernelRuntimeContext& ctx, const char* op, const char* name, IntArrayRef values, int64_t least,
                int64_t (&pair)[2]);

/// Checks that the tensor, if there is one, is contiguous and has `count` elements of int32.
bool check_int32s(KernelRuntimeContext& ctx, const char* op, const char* name, const std::optional<Tensor>& tensor,
                  int64_t count);

/// The multiplier and the shift of each output channel.
struct Channels {
  const int32_t* multipliers;
  const int32_t* shifts;

  bool read(KernelRuntimeContext& ctx, const char* op, const Tensor& multiplier, const Tensor& shift, int64_t count);
};

}  // namespace torch::executor::native::cortex_m
