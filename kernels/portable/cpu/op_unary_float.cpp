// SPDX-License-Identifier: BSD-3-Clause
// The functions of one floating-point variable that <cmath> computes one by one. Integers are converted to float32.
// The ones that real models spend time in (exp, tanh, sigmoid, erf, gelu, ...) are vectorised, in op_exp.cpp and
// others.
#include <cmath>

#include "kernels/portable/cpu/pattern/elementwise.h"

namespace torch::executor::native {

#define DEFINE_UNARY_FLOAT(name, value)                                                \
  Tensor& name##_out(KernelRuntimeContext& ctx, const Tensor& in, Tensor& out) {       \
    return floating_unary(ctx, #name ".out", in, out, [](auto x) { return (value); }); \
  }

DEFINE_UNARY_FLOAT(acos, std::acos(x))
DEFINE_UNARY_FLOAT(acosh, std::acosh(x))
DEFINE_UNARY_FLOAT(asin, std::asin(x))
DEFINE_UNARY_FLOAT(asinh, std::asinh(x))
DEFINE_UNARY_FLOAT(atan, std::atan(x))
DEFINE_UNARY_FLOAT(atanh, std::atanh(x))
DEFINE_UNARY_FLOAT(cos, std::cos(x))
DEFINE_UNARY_FLOAT(cosh, std::cosh(x))
DEFINE_UNARY_FLOAT(erfc, std::erfc(x))
DEFINE_UNARY_FLOAT(exp2, std::exp2(x))
DEFINE_UNARY_FLOAT(expm1, std::expm1(x))
DEFINE_UNARY_FLOAT(log, std::log(x))
DEFINE_UNARY_FLOAT(log10, std::log10(x))
DEFINE_UNARY_FLOAT(log1p, std::log1p(x))
DEFINE_UNARY_FLOAT(log2, std::log2(x))
DEFINE_UNARY_FLOAT(reciprocal, decltype(x)(1) / x)
DEFINE_UNARY_FLOAT(rsqrt, decltype(x)(1) / std::sqrt(x))
DEFINE_UNARY_FLOAT(sin, std::sin(x))
DEFINE_UNARY_FLOAT(sinh, std::sinh(x))
DEFINE_UNARY_FLOAT(sqrt, std::sqrt(x))
DEFINE_UNARY_FLOAT(tan, std::tan(x))

Tensor& logit_out(KernelRuntimeContext& ctx, const Tensor& in, std::optional<double> eps, Tensor& out) {
  return floating_unary(ctx, "logit.out", in, out, [eps](auto x) {
    using C = decltype(x);
    if (eps.has_value()) {
      const C low = static_cast<C>(*eps);
      const C high = C(1) - low;
      x = x < low ? low : x > high ? high : x;
    }
    return std::log(x / (C(1) - x));
  });
}

}  // namespace torch::executor::native
