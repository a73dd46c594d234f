// SPDX-License-Identifier: BSD-3-Clause
// cortex_m::quantized_add, quantized_mul, quantized_activation, minimum, maximum. Operands are broadcast and may be in
// any dim order.
#include "kernels/cortex_m/cpu/arguments.h"
#include "kernels/portable/cpu/pattern/broadcast_loops.h"

namespace torch::executor::native {
namespace {

using namespace cortex_m;
using internal::for_each_pair;

bool check_int8_pair(KernelRuntimeContext& ctx, const char* op, const Tensor& a, const Tensor& b, Tensor& out) {
  return check_dtype(ctx, op, "a first operand", a, ScalarType::Char) &&
         check_dtype(ctx, op, "a second operand", b, ScalarType::Char) &&
         check_dtype(ctx, op, "an output", out, ScalarType::Char) && resize_to_broadcast(ctx, op, {a, b}, out);
}

template <typename Choose>
Tensor& choose(KernelRuntimeContext& ctx, const char* op, const Tensor& a, const Tensor& b, Tensor& out,
               const Choose& is_first) {
  if (!check_same_dtype(ctx, op, a, b) || !check_same_dtype(ctx, op, a, out) ||
      !resize_to_broadcast(ctx, op, {a, b}, out)) {
    return out;
  }
  const auto chosen = [&](auto x, auto y) { return is_first(x, y) ? x : y; };
  if (a.scalar_type() == ScalarType::Int) {
    for_each_pair<int32_t>(a, b, out, chosen);
  } else if (check_dtype(ctx, op, "operands", a, ScalarType::Char)) {
    for_each_pair<int8_t>(a, b, out, chosen);
  }
  return out;
}

}  // namespace

/// Both operands are moved left by 20 bits and scaled before they are added.
Tensor& cortex_m_quantized_add_out(KernelRuntimeContext& ctx, const Tensor& self, int64_t self_zero_point,
                                   int64_t self_multiplier, int64_t self_shift, const Tensor& other,
                                   int64_t other_zero_point, int64_t other_multiplier, int64_t other_shift,
                                   int64_t output_zero_point, int64_t output_multiplier, int64_t output_shift,
                                   int64_t activation_min, int64_t activation_max, Tensor& out) {
  constexpr const char* op = "cortex_m::quantized_add";
  Int8Output output{};
  if (!check_offset(ctx, op, "a first zero point", self_zero_point) ||
      !check_offset(ctx, op, "a second zero point", other_zero_point) ||
      !check_multiplier(ctx, op, self_multiplier, self_shift) ||
      !check_multiplier(ctx, op, other_multiplier, other_shift) ||
      !check_multiplier(ctx, op, output_multiplier, output_shift) ||
      !check_output(ctx, op, output_zero_point, activation_min, activation_max, &output) ||
      !check_int8_pair(ctx, op, self, other, out)) {
    return out;
  }
  constexpr int32_t kHeadroom = 20;
  const auto scaled = [](int8_t value, int64_t zero_point, int64_t multiplier, int64_t shift) {
    const uint32_t moved = static_cast<uint32_t>(value - static_cast<int32_t>(zero_point)) << kHeadroom;
    return requantize(static_cast<int32_t>(moved), static_cast<int32_t>(multiplier), static_cast<int32_t>(shift));
  };
  for_each_pair<int8_t>(self, other, out, [&](int8_t a, int8_t b) {
    const int32_t sum = wrapping_sum(scaled(a, self_zero_point, self_multiplier, self_shift),
                                     scaled(b, other_zero_point, other_multiplier, other_shift));
    return output(sum, static_cast<int32_t>(output_multiplier), static_cast<int32_t>(output_shift));
  });
  return out;
}

Tensor& cortex_m_quantized_mul_out(KernelRuntimeContext& ctx, const Tensor& self, int64_t self_zero_point,
                                   const Tensor& other, int64_t other_zero_point, int64_t output_zero_point,
                                   int64_t output_multiplier, int64_t output_shift, Tensor& out) {
  constexpr const char* op = "cortex_m::quantized_mul";
  Int8Output output{};
  if (!check_offset(ctx, op, "a first zero point", self_zero_point) ||
      !check_offset(ctx, op, "a second zero point", other_zero_point) ||
      !check_multiplier(ctx, op, output_multiplier, output_shift) ||
      !check_output(ctx, op, output_zero_point, INT8_MIN, INT8_MAX, &output) ||
      !check_int8_pair(ctx, op, self, other, out)) {
    return out;
  }
  for_each_pair<int8_t>(self, other, out, [&](int8_t a, int8_t b) {
    const int32_t product = (a - static_cast<int32_t>(self_zero_point)) * (b - static_cast<int32_t>(other_zero_point));
    return output(product, static_cast<int32_t>(output_multiplier), static_cast<int32_t>(output_shift));
  });
  return out;
}

/// A function of one variable as the table of its 256 values, the value of -128 first.
Tensor& cortex_m_quantized_activation_out(KernelRuntimeContext& ctx, const Tensor& input, const Tensor& lut,
                                          Tensor& out) {
  constexpr const char* op = "cortex_m::quantized_activation";
  ET_KERNEL_CHECK_MSG(ctx, lut.numel() == 256, InvalidArgument, out, "%s: expected a table of 256 values, found %zd",
                      op, static_cast<ssize_t>(lut.numel()));
  if (!check_dtype(ctx, op, "a table", lut, ScalarType::Char) || !check_int8_pair(ctx, op, input, input, out)) {
    return out;
  }
  const int8_t* const table = lut.const_data_ptr<int8_t>();
  for_each_pair<int8_t>(input, input, out, [&](int8_t value, int8_t) { return table[value + 128]; });
  return out;
}

Tensor& cortex_m_minimum_out(KernelRuntimeContext& ctx, const Tensor& self, const Tensor& other, Tensor& out) {
  return choose(ctx, "cortex_m::minimum", self, other, out, [](int32_t a, int32_t b) { return a < b; });
}

Tensor& cortex_m_maximum_out(KernelRuntimeContext& ctx, const Tensor& self, const Tensor& other, Tensor& out) {
  return choose(ctx, "cortex_m::maximum", self, other, out, [](int32_t a, int32_t b) { return a > b; });
}

}  // namespace torch::executor::native
