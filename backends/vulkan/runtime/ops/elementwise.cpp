// SPDX-License-Identifier: BSD-3-Clause
// Unary and binary operators, comparisons, where, clamp. Numbers of operators are those of shaders/unary.glsl and
// binary.glsl.
#include <algorithm>
#include <cinttypes>
#include <cmath>
#include <limits>

#include "ops/tables.h"
#include "ops/views.h"

namespace executorch {
namespace backends {
namespace vulkan {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

int32_t clamped(double value) {
  return static_cast<int32_t>(value >= -2147483648.0 ? std::min(value, 2147483647.0) : -2147483648.0);  // also for NaN
}

void unary_of(OpContext& c, int32_t op, Tensor& out, Tensor& x, double a = 0, double b = 0, double s = 0) {
  c.resize(out, x.sizes);
  c.check(out.kind == x.kind, "its result is %s, its argument %s", name_of(out.dtype), name_of(x.dtype));
  const int64_t vectors = (x.count() + 3) / 4;
  c.run("unary" + kinds({x.kind}), {c.memory(out), c.memory(x)},
        Parameters().i(vectors).f(a).f(b).f(s).i(clamped(a)).i(clamped(b)), vectors, {op});
}

template <int32_t kOp>
void unary(OpContext& c) {
  unary_of(c, kOp, c.result(), c.tensor(0));
}

/// Operators that exist for floating point only.
template <int32_t kOp>
void floating(OpContext& c) {
  c.check(c.tensor(0).kind != Kind::Int, "its argument is %s, expected floating point", name_of(c.tensor(0).dtype));
  unary<kOp>(c);
}

void gelu(OpContext& c) {
  const bool is_tanh = c.num_args() > 2 && !c.is_null(1) && c.text(1) == "tanh";
  unary_of(c, is_tanh ? 13 : 12, c.result(), c.tensor(0));
}

void clamp(OpContext& c) {
  const bool has_max = c.num_args() > 3;
  unary_of(c, 2, c.result(), c.tensor(0), c.real(1, -kInfinity), has_max ? c.real(2, kInfinity) : kInfinity);
}

void hardtanh(OpContext& c) {
  unary_of(c, 2, c.result(), c.tensor(0), c.num_args() > 2 ? c.real(1) : -1, c.num_args() > 3 ? c.real(2) : 1);
}

template <int32_t kOp>
void with_number(OpContext& c) {
  constexpr double kDefault = kOp == 14 ? 0.5 : 0.01;
  unary_of(c, kOp, c.result(), c.tensor(0), c.num_args() > 2 ? c.real(1, kDefault) : kDefault);
}

void elu(OpContext& c) {
  const auto number = [&](int arg) { return c.num_args() > arg + 1 ? c.real(arg, 1) : 1; };
  unary_of(c, 30, c.result(), c.tensor(0), number(1), number(2), number(3));
}

void relu6(OpContext& c) {
  unary_of(c, 2, c.result(), c.tensor(0), 0, 6);
}

/// A view of `tensor` in the kind that the kernel computes in.
Tensor& in_kind(OpContext& c, Tensor& tensor, Kind kind, int number) {
  if (tensor.kind == kind || c.failed()) {
    return tensor;
  }
  Tensor& converted = c.scratch(number, kind, tensor.sizes, tensor.capacity);
  copy_all(c, converted, tensor);
  return converted;
}

void binary_of(OpContext& c, int32_t op, Tensor& out, Tensor& a, Tensor& b, double alpha) {
  const Sizes sizes = broadcast_sizes(c, a.sizes, b.sizes);
  c.resize(out, sizes);
  const bool any_float = a.kind != Kind::Int || b.kind != Kind::Int;
  const bool any_single = a.kind == Kind::Float || b.kind == Kind::Float;
  // Mixed dtypes are computed in the larger one; integers are divided as floating point.
  const Kind kind = any_float                          ? (any_single ? Kind::Float : Kind::Half)
                    : op == 3 && out.kind != Kind::Int ? out.kind
                                                       : Kind::Int;
  Tensor& left = in_kind(c, a, kind, 0);
  Tensor& right = in_kind(c, b, kind, 1);
  const bool converts = out.kind != kind && out.kind != Kind::Int;
  Tensor& target = converts ? c.scratch(2, kind, sizes, out.capacity) : out;
  std::vector<int64_t> a_strides = broadcast_strides(c, a.sizes, sizes);
  std::vector<int64_t> b_strides = broadcast_strides(c, b.sizes, sizes);
  Sizes merged = sizes;
  merge_dims(merged, {&a_strides, &b_strides});
  const bool same = a.sizes == b.sizes || (a.count() == b.count() && a.count() == count_of(sizes));
  c.check(merged.size() <= 8, "it has too many dimensions");
  c.run("binary" + kinds({target.kind, kind}), {c.memory(target), c.memory(left), c.memory(right)},
        Parameters()
            .i(count_of(sizes))
            .f(alpha)
            .i(clamped(alpha))
            .f(0)
            .i(0)
            .i(static_cast<int64_t>(merged.size()))
            .array(merged, 8, 1)
            .array(a_strides, 8)
            .array(b_strides, 8),
        count_of(sizes), {op, same ? 0 : 2});
  if (converts) {
    copy_all(c, out, target);
  }
}

void scalar_of(OpContext& c, int32_t op, Tensor& out, Tensor& a, double number, double alpha,
               bool is_reversed = false) {
  c.resize(out, a.sizes);
  const bool is_whole = std::abs(number) <= 1e15 && number == std::trunc(number);
  const Kind kind = a.kind == Kind::Int && (!is_whole || (op == 3 && out.kind != Kind::Int)) ? Kind::Float : a.kind;
  Tensor& left = in_kind(c, a, kind, 0);
  const bool converts = out.kind != kind && out.kind != Kind::Int;
  Tensor& target = converts ? c.scratch(2, kind, a.sizes, out.capacity) : out;
  c.run("binary" + kinds({target.kind, kind}), {c.memory(target), c.memory(left), c.memory(left)},
        Parameters()
            .i(a.count())
            .f(alpha)
            .i(clamped(alpha))
            .f(number)
            .i(clamped(number))
            .i(0)
            .array({}, 8, 1)
            .array({}, 8)
            .array({}, 8),
        a.count(), {op, is_reversed ? 3 : 1});
  if (converts) {
    copy_all(c, out, target);
  }
}

template <int32_t kOp>
void binary(OpContext& c) {
  // add and sub have alpha after the operands.
  const bool has_alpha = (kOp == 0 || kOp == 1) && c.num_args() > 3;
  const double alpha = has_alpha ? c.real(2, 1) : 1;
  Tensor& out = c.result();
  if (!c.is_tensor(0) && c.is_tensor(1)) {
    scalar_of(c, kOp, out, c.tensor(1), c.real(0), alpha, true);
  } else if (c.is_tensor(1)) {
    binary_of(c, kOp, out, c.tensor(0), c.tensor(1), alpha);
  } else {
    scalar_of(c, kOp, out, c.tensor(0), c.real(1), alpha);
  }
}

/// div with a rounding mode.
void divide(OpContext& c) {
  const std::string_view mode = c.num_args() > 3 && !c.is_null(2) ? c.text(2) : std::string_view();
  c.check(mode.empty() || mode == "floor" || mode == "trunc", "the rounding mode is %.*s, expected floor or trunc",
          static_cast<int>(mode.size()), mode.data());
  const int32_t op = mode == "floor" ? 5 : mode == "trunc" ? 4 : 3;
  Tensor& out = c.result();
  if (c.is_tensor(1)) {
    binary_of(c, op, out, c.tensor(0), c.tensor(1), 1);
  } else {
    scalar_of(c, op, out, c.tensor(0), c.real(1), 1);
  }
}

void rsub(OpContext& c) {
  scalar_of(c, 1, c.result(), c.tensor(0), c.real(1), 1, true);
}

void bitwise_not(OpContext& c) {
  Tensor& x = c.tensor(0);
  c.check(x.kind == Kind::Int, "its argument is %s, expected integers", name_of(x.dtype));
  unary_of(c, x.dtype == VkDataType::BOOL ? 4 : 5, c.tensor(1), x);
}

void logical_not(OpContext& c) {
  Tensor& x = c.tensor(0);
  if (x.kind == Kind::Int) {
    return unary_of(c, 4, c.tensor(1), x);
  }
  scalar_of(c, 9, c.tensor(1), x, 0, 1);
}

void where(OpContext& c) {
  Tensor& condition = c.tensor(0);
  Tensor& a = c.tensor(1);
  Tensor& b = c.tensor(2);
  Tensor& out = c.tensor(3);
  const Sizes sizes = broadcast_sizes(c, condition.sizes, broadcast_sizes(c, a.sizes, b.sizes));
  c.resize(out, sizes);
  c.check(condition.kind == Kind::Int, "its condition is %s, expected bool", name_of(condition.dtype));
  Tensor& left = in_kind(c, a, out.kind, 0);
  Tensor& right = in_kind(c, b, out.kind, 1);
  std::vector<int64_t> c_strides = broadcast_strides(c, condition.sizes, sizes);
  std::vector<int64_t> a_strides = broadcast_strides(c, a.sizes, sizes);
  std::vector<int64_t> b_strides = broadcast_strides(c, b.sizes, sizes);
  Sizes merged = sizes;
  merge_dims(merged, {&c_strides, &a_strides, &b_strides});
  c.run("where" + kinds({out.kind}), {c.memory(out), c.memory(condition), c.memory(left), c.memory(right)},
        Parameters()
            .i(count_of(sizes))
            .i(static_cast<int64_t>(merged.size()))
            .array(merged, 8, 1)
            .array(c_strides, 8)
            .array(a_strides, 8)
            .array(b_strides, 8),
        count_of(sizes));
}

constexpr Operator kOperators[] = {
    {"aten.abs.default", unary<0>},
    {"aten.neg.default", unary<1>},
    {"aten.relu.default", unary<3>},
    {"aten.sign.default", unary<6>},
    {"aten.cos.default", floating<10>},
    {"aten.exp.default", floating<11>},
    {"aten.gelu.default", gelu},
    {"aten.hardshrink.default", with_number<14>},
    {"aten.hardswish.default", floating<15>},
    {"aten.hardsigmoid.default", floating<16>},
    {"aten.sigmoid.default", floating<17>},
    {"aten.sin.default", floating<18>},
    {"aten.sqrt.default", floating<19>},
    {"aten.rsqrt.default", floating<20>},
    {"aten.tanh.default", floating<21>},
    {"aten.round.default", floating<22>},
    {"aten.leaky_relu.default", with_number<23>},
    {"aten.log.default", floating<24>},
    {"aten.floor.default", floating<25>},
    {"aten.ceil.default", floating<26>},
    {"aten.trunc.default", floating<27>},
    {"aten.reciprocal.default", floating<28>},
    {"aten.silu.default", floating<29>},
    {"aten.elu.default", elu},
    {"aten.erf.default", floating<31>},
    {"aten.tan.default", floating<32>},
    {"aten.clamp.default", clamp},
    {"aten.hardtanh.default", hardtanh},
    {"aten.relu6.default", relu6},
    {"aten.add.Tensor", binary<0>},
    {"aten.add.Scalar", binary<0>},
    {"aten.sub.Tensor", binary<1>},
    {"aten.sub.Scalar", binary<1>},
    {"aten.rsub.Scalar", rsub},
    {"aten.mul.Tensor", binary<2>},
    {"aten.mul.Scalar", binary<2>},
    {"aten.div.Tensor", binary<3>},
    {"aten.div.Scalar", binary<3>},
    {"aten.div.Tensor_mode", divide},
    {"aten.div.Scalar_mode", divide},
    {"aten.floor_divide.default", binary<5>},
    {"aten.pow.Tensor_Tensor", binary<6>},
    {"aten.pow.Tensor_Scalar", binary<6>},
    {"aten.pow.Scalar", binary<6>},
    {"aten.minimum.default", binary<7>},
    {"aten.maximum.default", binary<8>},
    {"aten.eq.Tensor", binary<9>},
    {"aten.eq.Scalar", binary<9>},
    {"aten.ne.Tensor", binary<10>},
    {"aten.ne.Scalar", binary<10>},
    {"aten.lt.Tensor", binary<11>},
    {"aten.lt.Scalar", binary<11>},
    {"aten.le.Tensor", binary<12>},
    {"aten.le.Scalar", binary<12>},
    {"aten.gt.Tensor", binary<13>},
    {"aten.gt.Scalar", binary<13>},
    {"aten.ge.Tensor", binary<14>},
    {"aten.ge.Scalar", binary<14>},
    {"aten.bitwise_and.Tensor", binary<16>},
    {"aten.bitwise_or.Tensor", binary<17>},
    {"aten.bitwise_xor.Tensor", binary<18>},
    {"aten.bitwise_not.default", bitwise_not},
    {"aten.logical_and.default", binary<19>},
    {"aten.logical_or.default", binary<20>},
    {"aten.logical_not.default", logical_not},
    {"aten.where.self", where},
};

}  // namespace

Operators elementwise_operators() {
  return {kOperators, sizeof(kOperators) / sizeof(kOperators[0])};
}

}  // namespace vulkan
}  // namespace backends
}  // namespace executorch
