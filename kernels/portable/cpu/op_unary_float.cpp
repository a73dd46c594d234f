// SPDX-License-Identifier: BSD-3-Clause
// Functions of one floating-point variable that are computed with <cmath>. Integers are converted to float32. The
// functions in which models spend time (exp, tanh, sigmoid, erf, gelu, ...) are vectorised in op_activation.cpp.
#include <cmath>
#include <type_traits>

#include "kernels/portable/cpu/pattern/complex_elementwise.h"

namespace torch::executor::native {
namespace {

template <typename C>
C inverse(C x) {
  if constexpr (std::is_same_v<C, Complex>) {
    return divide(1.0, x);
  } else {
    return C(1) / x;
  }
}

template <typename C>
C power_of_two(C x) {
  if constexpr (std::is_same_v<C, Complex>) {
    return std::exp(x * 0.69314718055994530942);
  } else {
    return std::exp2(x);
  }
}

template <typename C>
C logarithm_to_two(C x) {
  if constexpr (std::is_same_v<C, Complex>) {
    return std::log(x) * 1.44269504088896340736;
  } else {
    return std::log2(x);
  }
}

// e^z - 1 = e^x cos y - 1 + i e^x sin y, with e^x cos y - 1 = (e^x - 1) cos y - 2 sin^2(y / 2).
template <typename C>
C exponential_minus_one(C x) {
  if constexpr (std::is_same_v<C, Complex>) {
    const double half = std::sin(0.5 * x.imag());
    return {std::expm1(x.real()) * std::cos(x.imag()) - 2.0 * half * half, std::exp(x.real()) * std::sin(x.imag())};
  } else {
    return std::expm1(x);
  }
}

// |1 + z|^2 = 1 + x (2 + x) + y^2
template <typename C>
C logarithm_of_one_more(C x) {
  if constexpr (std::is_same_v<C, Complex>) {
    const double re = x.real(), im = x.imag();
    return {0.5 * std::log1p(re * (2.0 + re) + im * im), std::atan2(im, 1.0 + re)};
  } else {
    return std::log1p(x);
  }
}

}  // namespace

#define DEFINE_UNARY_FLOAT(kernel, name, value)                                \
  Tensor& kernel(KernelRuntimeContext& ctx, const Tensor& in, Tensor& out) {   \
    return floating_unary(ctx, name, in, out, [](auto x) { return (value); }); \
  }

// Functions that are defined for complex numbers too.
#define DEFINE_UNARY_ANALYTIC(kernel, name, value)                           \
  Tensor& kernel(KernelRuntimeContext& ctx, const Tensor& in, Tensor& out) { \
    const auto function = [](auto x) { return (value); };                    \
    return has_complex({in}) ? complex_unary(ctx, name, in, out, function)   \
                             : floating_unary(ctx, name, in, out, function); \
  }

DEFINE_UNARY_ANALYTIC(acos_out, "acos.out", std::acos(x))
DEFINE_UNARY_ANALYTIC(acosh_out, "acosh.out", std::acosh(x))
DEFINE_UNARY_ANALYTIC(asin_out, "asin.out", std::asin(x))
DEFINE_UNARY_ANALYTIC(asinh_out, "asinh.out", std::asinh(x))
DEFINE_UNARY_ANALYTIC(atan_out, "atan.out", std::atan(x))
DEFINE_UNARY_ANALYTIC(atanh_out, "atanh.out", std::atanh(x))
DEFINE_UNARY_ANALYTIC(cos_out, "cos.out", std::cos(x))
DEFINE_UNARY_ANALYTIC(cosh_out, "cosh.out", std::cosh(x))
DEFINE_UNARY_FLOAT(erfc_out, "erfc.out", std::erfc(x))
DEFINE_UNARY_ANALYTIC(exp2_out, "exp2.out", power_of_two(x))
DEFINE_UNARY_ANALYTIC(expm1_out, "expm1.out", exponential_minus_one(x))
DEFINE_UNARY_ANALYTIC(log_out, "log.out", std::log(x))
DEFINE_UNARY_ANALYTIC(log10_out, "log10.out", std::log10(x))
DEFINE_UNARY_ANALYTIC(log1p_out, "log1p.out", logarithm_of_one_more(x))
DEFINE_UNARY_ANALYTIC(log2_out, "log2.out", logarithm_to_two(x))
DEFINE_UNARY_ANALYTIC(reciprocal_out, "reciprocal.out", inverse(x))
DEFINE_UNARY_ANALYTIC(rsqrt_out, "rsqrt.out", inverse(std::sqrt(x)))
DEFINE_UNARY_ANALYTIC(sin_out, "sin.out", std::sin(x))
DEFINE_UNARY_ANALYTIC(sinh_out, "sinh.out", std::sinh(x))
DEFINE_UNARY_ANALYTIC(sqrt_out, "sqrt.out", std::sqrt(x))
DEFINE_UNARY_ANALYTIC(tan_out, "tan.out", std::tan(x))

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
