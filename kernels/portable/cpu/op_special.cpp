// SPDX-License-Identifier: BSD-3-Clause
// Special functions, computed in double: the gamma function and those derived from it, error functions, Bessel
// functions.
#include <cmath>

#include "kernels/portable/cpu/math/special_functions.h"
#include "kernels/portable/cpu/pattern/elementwise.h"

namespace torch::executor::native {
namespace {

// psi'(x), by reflection for x < 1/2. It is computed in the type that eager uses, because near a pole the result
// depends on how pi x is rounded.
template <typename C>
C trigamma(C x) {
  if (x >= C(0.5)) {
    return static_cast<C>(hurwitz_zeta(2, x));
  }
  constexpr C kPi = static_cast<C>(3.14159265358979323846);
  const C sine = std::sin(kPi * x);
  return kPi * kPi / (sine * sine) - static_cast<C>(hurwitz_zeta(2, C(1) - x));
}

double spherical_bessel_j0(double x) {
  return std::isinf(x) ? 0.0 : std::fabs(x) < 1e-4 ? 1 - x * x / 6 : std::sin(x) / x;
}

}  // namespace

#define DEFINE_SPECIAL(kernel, name, value)                                  \
  Tensor& kernel(KernelRuntimeContext& ctx, const Tensor& in, Tensor& out) { \
    return floating_unary(ctx, name, in, out, [](auto element) {             \
      const double x = static_cast<double>(element);                         \
      return static_cast<decltype(element)>(value);                          \
    });                                                                      \
  }

DEFINE_SPECIAL(digamma_out, "digamma.out", digamma(x))
DEFINE_SPECIAL(erfinv_out, "erfinv.out", erf_inverse(x))
DEFINE_SPECIAL(i0_out, "i0.out", bessel_i_scaled(0, x) * std::exp(std::fabs(x)))
DEFINE_SPECIAL(lgamma_out, "lgamma.out", std::lgamma(x))
DEFINE_SPECIAL(special_airy_ai_out, "special_airy_ai.out", airy_ai(x))
DEFINE_SPECIAL(special_bessel_j0_out, "special_bessel_j0.out", bessel_j(0, x))
DEFINE_SPECIAL(special_bessel_j1_out, "special_bessel_j1.out", bessel_j(1, x))
DEFINE_SPECIAL(special_bessel_y0_out, "special_bessel_y0.out", bessel_y(0, x))
DEFINE_SPECIAL(special_bessel_y1_out, "special_bessel_y1.out", bessel_y(1, x))
DEFINE_SPECIAL(special_erfcx_out, "special_erfcx.out", erfc_scaled(x))
DEFINE_SPECIAL(special_i0e_out, "special_i0e.out", bessel_i_scaled(0, x))
DEFINE_SPECIAL(special_i1_out, "special_i1.out", bessel_i_scaled(1, x) * std::exp(std::fabs(x)))
DEFINE_SPECIAL(special_i1e_out, "special_i1e.out", bessel_i_scaled(1, x))
DEFINE_SPECIAL(special_modified_bessel_i0_out, "special_modified_bessel_i0.out",
               bessel_i_scaled(0, x) * std::exp(std::fabs(x)))
DEFINE_SPECIAL(special_modified_bessel_i1_out, "special_modified_bessel_i1.out",
               bessel_i_scaled(1, x) * std::exp(std::fabs(x)))
DEFINE_SPECIAL(special_modified_bessel_k0_out, "special_modified_bessel_k0.out", bessel_k_scaled(0, x) * std::exp(-x))
DEFINE_SPECIAL(special_modified_bessel_k1_out, "special_modified_bessel_k1.out", bessel_k_scaled(1, x) * std::exp(-x))
DEFINE_SPECIAL(special_ndtri_out, "special_ndtri.out", normal_quantile(x))
DEFINE_SPECIAL(special_scaled_modified_bessel_k0_out, "special_scaled_modified_bessel_k0.out", bessel_k_scaled(0, x))
DEFINE_SPECIAL(special_scaled_modified_bessel_k1_out, "special_scaled_modified_bessel_k1.out", bessel_k_scaled(1, x))
DEFINE_SPECIAL(special_spherical_bessel_j0_out, "special_spherical_bessel_j0.out", spherical_bessel_j0(x))

Tensor& polygamma_out(KernelRuntimeContext& ctx, int64_t n, const Tensor& in, Tensor& out) {
  ET_KERNEL_CHECK_MSG(ctx, n >= 0, InvalidArgument, out, "polygamma.out: the order must not be negative, found %lld",
                      static_cast<long long>(n));
  return floating_unary(ctx, "polygamma.out", in, out, [n](auto x) {
    using C = decltype(x);
    return n == 0 ? static_cast<C>(digamma(x)) : n == 1 ? trigamma(x) : static_cast<C>(polygamma(n, x));
  });
}

#define DEFINE_SPECIAL_BINARY(kernel, name, function)                                            \
  Tensor& kernel(KernelRuntimeContext& ctx, const Tensor& a, const Tensor& b, Tensor& out) {     \
    return floating_binary(ctx, name, a, b, out, [](auto x, auto y) {                            \
      return static_cast<decltype(x)>(function(static_cast<double>(x), static_cast<double>(y))); \
    });                                                                                          \
  }

DEFINE_SPECIAL_BINARY(igamma_out, "igamma.out", gamma_p)
DEFINE_SPECIAL_BINARY(igammac_out, "igammac.out", gamma_q)
DEFINE_SPECIAL_BINARY(special_zeta_out, "special_zeta.out", hurwitz_zeta)

}  // namespace torch::executor::native
