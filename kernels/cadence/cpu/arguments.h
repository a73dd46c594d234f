// SPDX-License-Identifier: BSD-3-Clause
// Checks of arguments, numbers in tensors, and dtypes. Like the portable library's checks, each returns false after it
// has logged what was expected and found and has set the context's failure to InvalidArgument.
#pragma once

#include "kernels/portable/cpu/pattern/checks.h"

namespace torch::executor::native::cadence {

/// Checks that the elements are in memory in the order of the dimensions.
bool check_order(KernelRuntimeContext& ctx, const char* op, const char* name, const Tensor& tensor);

bool check_dtype(KernelRuntimeContext& ctx, const char* op, const char* name, const Tensor& tensor, ScalarType dtype);

/// Checks that a scale is above zero and finite.
bool check_scale(KernelRuntimeContext& ctx, const char* op, const char* name, double scale);

/// Reads a tensor of one number of any dtype.
bool read_number(KernelRuntimeContext& ctx, const char* op, const char* name, const Tensor& tensor, double* number);
bool read_number(KernelRuntimeContext& ctx, const char* op, const char* name, const Tensor& tensor, int64_t* number);

/// The scale and the zero point of a quantised operand or result.
struct Quantization {
  double scale;
  int64_t zero_point;
};

/// Reads both from tensors of one number; `name` begins their names, as `X` in `X_scale`.
bool read_quantization(KernelRuntimeContext& ctx, const char* op, const char* name, const Tensor& scale,
                       const Tensor& zero_point, Quantization* read);

/// Stores the last `count` of `values`, or its only value `count` times. Numbers must be from `least` to 2^31 - 1.
bool read_numbers(KernelRuntimeContext& ctx, const char* op, const char* name, IntArrayRef values, size_t count,
                  int64_t least, int64_t* numbers);

/// The factor |multiplier| / 2^31 * 2^shift of a fixed-point multiplier, which must be above zero. The sign does not
/// count: -2^31 is the only int32 for the factor 1.
bool read_factor(KernelRuntimeContext& ctx, const char* op, int64_t multiplier, int64_t shift, float* factor);

/// Calls run(T{}) with the C++ type of `dtype`, which must belong to one of the types.
template <typename... Types, typename Run>
bool dispatch(KernelRuntimeContext& ctx, const char* op, const char* name, ScalarType dtype, const Run& run) {
  const bool is_known =
      ((dtype == executorch::runtime::CppTypeToScalarType<Types>::value ? (run(Types{}), true) : false) || ...);
  ET_KERNEL_CHECK_MSG(ctx, is_known, InvalidArgument, false, "%s: found %s of the dtype %s, for which it has no kernel",
                      op, name, toString(dtype));
  return true;
}

}  // namespace torch::executor::native::cadence
