// SPDX-License-Identifier: BSD-3-Clause
// bitwise_and, bitwise_or, bitwise_xor, bitwise_not and the shifts, on integers and bool.
#include "kernels/portable/cpu/pattern/elementwise.h"

namespace torch::executor::native {
namespace {

using executorch::runtime::elementSize;

bool plan_bitwise(KernelRuntimeContext& ctx, const char* name, std::initializer_list<Operand> operands, Tensor& out) {
  const ScalarType dtype = result_type(operands);
  ET_KERNEL_CHECK_MSG(ctx, is_supported_dtype(dtype) && arithmetic_type(dtype) == ComputeType::Int, InvalidArgument,
                      false, "%s: expected integer or bool inputs, found %s", name, toString(dtype));
  ComputeType type;
  return plan_elementwise(ctx, name, operands, Promotion::Same, out, &type);
}

template <typename Op>
Tensor& bitwise(KernelRuntimeContext& ctx, const char* name, Operand a, Operand b, Tensor& out, const Op& op) {
  if (plan_bitwise(ctx, name, {a, b}, out)) {
    elementwise<int64_t, int64_t, int64_t>(op, out, a, b);
  }
  return out;
}

bool is_signed(ScalarType dtype) {
  return dtype == ScalarType::Char || dtype == ScalarType::Short || dtype == ScalarType::Int ||
         dtype == ScalarType::Long;
}

// The number of bits of a dtype. The result does not matter for operands that cannot be promoted, because the plan
// refuses them.
int64_t bits_of(ScalarType dtype) {
  return is_supported_dtype(dtype) ? static_cast<int64_t>(elementSize(dtype)) * 8 : 64;
}

// A shift by a negative number of bits, or by as many as the dtype has, gives 0.
Tensor& shift_left(KernelRuntimeContext& ctx, const char* name, Operand a, Operand b, Tensor& out) {
  const int64_t bits = bits_of(result_type({a, b}));
  return bitwise(ctx, name, a, b, out, [bits](int64_t x, int64_t y) {
    return y < 0 || y >= bits ? 0 : static_cast<int64_t>(static_cast<uint64_t>(x) << y);
  });
}

// Such a shift to the right gives -1 for negative values, else 0.
Tensor& shift_right(KernelRuntimeContext& ctx, const char* name, Operand a, Operand b, Tensor& out) {
  const ScalarType dtype = result_type({a, b});
  const int64_t bits = bits_of(dtype);
  if (dtype == ScalarType::UInt64) {
    return bitwise(ctx, name, a, b, out, [](int64_t x, int64_t y) {
      return y < 0 || y >= 64 ? 0 : static_cast<int64_t>(static_cast<uint64_t>(x) >> y);
    });
  }
  const int64_t most = bits - (is_signed(dtype) ? 1 : 0);
  return bitwise(ctx, name, a, b, out, [most](int64_t x, int64_t y) { return x >> (y < 0 || y >= most ? most : y); });
}

}  // namespace

// The lambda is in a separate function so that both overloads share its loop.
#define DEFINE_BITWISE(name, symbol, tensor_kernel, scalar_kernel)                                          \
  static Tensor& name(KernelRuntimeContext& ctx, const char* overload, Operand a, Operand b, Tensor& out) { \
    return bitwise(ctx, overload, a, b, out, [](int64_t x, int64_t y) { return x symbol y; });              \
  }                                                                                                         \
  Tensor& tensor_kernel(KernelRuntimeContext& ctx, const Tensor& a, const Tensor& b, Tensor& out) {         \
    return name(ctx, #name ".Tensor_out", a, b, out);                                                       \
  }                                                                                                         \
  Tensor& scalar_kernel(KernelRuntimeContext& ctx, const Tensor& a, const Scalar& b, Tensor& out) {         \
    return name(ctx, #name ".Scalar_out", a, b, out);                                                       \
  }

DEFINE_BITWISE(bitwise_and, &, bitwise_and_Tensor_out, bitwise_and_Scalar_out)
DEFINE_BITWISE(bitwise_or, |, bitwise_or_Tensor_out, bitwise_or_Scalar_out)
DEFINE_BITWISE(bitwise_xor, ^, bitwise_xor_Tensor_out, bitwise_xor_Scalar_out)

Tensor& bitwise_not_out(KernelRuntimeContext& ctx, const Tensor& in, Tensor& out) {
  if (!plan_bitwise(ctx, "bitwise_not.out", {in}, out)) {
    return out;
  }
  const int64_t mask = in.scalar_type() == ScalarType::Bool ? 1 : -1;
  elementwise<int64_t, int64_t>([mask](int64_t x) { return x ^ mask; }, out, in);
  return out;
}

Tensor& bitwise_left_shift_Tensor_out(KernelRuntimeContext& ctx, const Tensor& a, const Tensor& b, Tensor& out) {
  return shift_left(ctx, "bitwise_left_shift.Tensor_out", a, b, out);
}

Tensor& bitwise_left_shift_Tensor_Scalar_out(KernelRuntimeContext& ctx, const Tensor& a, const Scalar& b, Tensor& out) {
  return shift_left(ctx, "bitwise_left_shift.Tensor_Scalar_out", a, b, out);
}

Tensor& bitwise_right_shift_Tensor_out(KernelRuntimeContext& ctx, const Tensor& a, const Tensor& b, Tensor& out) {
  return shift_right(ctx, "bitwise_right_shift.Tensor_out", a, b, out);
}

Tensor& bitwise_right_shift_Tensor_Scalar_out(KernelRuntimeContext& ctx, const Tensor& a, const Scalar& b,
                                              Tensor& out) {
  return shift_right(ctx, "bitwise_right_shift.Tensor_Scalar_out", a, b, out);
}

}  // namespace torch::executor::native
