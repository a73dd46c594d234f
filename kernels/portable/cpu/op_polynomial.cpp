// SPDX-License-Identifier: BSD-3-Clause
// The orthogonal polynomials special_*_polynomial_*.out(x, n), computed by their recurrences, or between -1 and 1 by
// the trigonometric form for Chebyshev polynomials of high degree. The degree is truncated; for negative degrees, the
// result is 0.
#include <cmath>
#include <limits>

#include "kernels/portable/cpu/pattern/elementwise.h"

namespace torch::executor::native {
namespace {

// The time of a recurrence is proportional to the degree. Above this degree, the result is NaN.
constexpr double kMaxDegree = 1e6;

// step(k, x, p, q) returns the polynomial of degree k + 1 from those of degrees k - 1 (p) and k (q).
template <typename Step>
double by_recurrence(double x, double n, double first, const Step& step) {
  if (n == 0) {
    return 1;
  }
  if (!(n <= kMaxDegree)) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  double p = 1, q = first;
  for (double k = 1; k < n && q == q; k += 1) {
    const double next = step(k, x, p, q);
    p = q;
    q = next;
  }
  return q;
}

double chebyshev(double x, double n, double first) {
  return by_recurrence(x, n, first, [](double, double at, double p, double q) { return 2 * at * q - p; });
}

bool is_trigonometric(double x, double n) {
  return n > 8 && std::fabs(x) < 1;
}

double alternating(double n, double value) {
  return std::fmod(n, 2) == 0 ? value : -value;
}

double chebyshev_t(double x, double n) {
  if (std::fabs(x) == 1) {
    return x > 0 ? 1 : alternating(n, 1);
  }
  return is_trigonometric(x, n) ? std::cos(n * std::acos(x)) : chebyshev(x, n, x);
}

double chebyshev_u(double x, double n) {
  if (std::fabs(x) == 1) {
    return x > 0 ? n + 1 : alternating(n, n + 1);
  }
  const double angle = std::acos(x);
  return is_trigonometric(x, n) ? std::sin((n + 1) * angle) / std::sin(angle) : chebyshev(x, n, 2 * x);
}

double chebyshev_v(double x, double n) {
  if (std::fabs(x) == 1) {
    return x > 0 ? 1 : alternating(n, 2 * n + 1);
  }
  const double angle = std::acos(x);
  return is_trigonometric(x, n) ? std::cos((n + 0.5) * angle) / std::cos(angle / 2) : chebyshev(x, n, 2 * x - 1);
}

double chebyshev_w(double x, double n) {
  if (std::fabs(x) == 1) {
    return x > 0 ? 2 * n + 1 : alternating(n, 1);
  }
  const double angle = std::acos(x);
  return is_trigonometric(x, n) ? std::sin((n + 0.5) * angle) / std::sin(angle / 2) : chebyshev(x, n, 2 * x + 1);
}

double hermite_h(double x, double n) {
  return by_recurrence(x, n, 2 * x, [](double k, double at, double p, double q) { return 2 * at * q - 2 * k * p; });
}

double hermite_he(double x, double n) {
  return by_recurrence(x, n, x, [](double k, double at, double p, double q) { return at * q - k * p; });
}

double laguerre(double x, double n) {
  return by_recurrence(
      x, n, 1 - x, [](double k, double at, double p, double q) { return ((2 * k + 1 - at) * q - k * p) / (k + 1); });
}

double legendre(double x, double n) {
  if (std::fabs(x) == 1) {
    return x > 0 ? 1 : alternating(n, 1);
  }
  return by_recurrence(
      x, n, x, [](double k, double at, double p, double q) { return ((2 * k + 1) * at * q - k * p) / (k + 1); });
}

}  // namespace

#define DEFINE_POLYNOMIAL(kernel, name, value)                                                     \
  Tensor& kernel(KernelRuntimeContext& ctx, const Tensor& in, const Tensor& degree, Tensor& out) { \
    return floating_binary(ctx, name, in, degree, out, [](auto element, auto order) {              \
      const double x = static_cast<double>(element), n = std::trunc(static_cast<double>(order));   \
      return static_cast<decltype(element)>(n < 0 ? 0 : value);                                    \
    });                                                                                            \
  }

DEFINE_POLYNOMIAL(special_chebyshev_polynomial_t_out, "special_chebyshev_polynomial_t.out", chebyshev_t(x, n))
DEFINE_POLYNOMIAL(special_chebyshev_polynomial_u_out, "special_chebyshev_polynomial_u.out", chebyshev_u(x, n))
DEFINE_POLYNOMIAL(special_chebyshev_polynomial_v_out, "special_chebyshev_polynomial_v.out", chebyshev_v(x, n))
DEFINE_POLYNOMIAL(special_chebyshev_polynomial_w_out, "special_chebyshev_polynomial_w.out", chebyshev_w(x, n))
DEFINE_POLYNOMIAL(special_hermite_polynomial_h_out, "special_hermite_polynomial_h.out", hermite_h(x, n))
DEFINE_POLYNOMIAL(special_hermite_polynomial_he_out, "special_hermite_polynomial_he.out", hermite_he(x, n))
DEFINE_POLYNOMIAL(special_laguerre_polynomial_l_out, "special_laguerre_polynomial_l.out", laguerre(x, n))
DEFINE_POLYNOMIAL(special_legendre_polynomial_p_out, "special_legendre_polynomial_p.out", legendre(x, n))
DEFINE_POLYNOMIAL(special_shifted_chebyshev_polynomial_t_out, "special_shifted_chebyshev_polynomial_t.out",
                  chebyshev_t(2 * x - 1, n))
DEFINE_POLYNOMIAL(special_shifted_chebyshev_polynomial_u_out, "special_shifted_chebyshev_polynomial_u.out",
                  chebyshev_u(2 * x - 1, n))
DEFINE_POLYNOMIAL(special_shifted_chebyshev_polynomial_v_out, "special_shifted_chebyshev_polynomial_v.out",
                  chebyshev_v(2 * x - 1, n))
DEFINE_POLYNOMIAL(special_shifted_chebyshev_polynomial_w_out, "special_shifted_chebyshev_polynomial_w.out",
                  chebyshev_w(2 * x - 1, n))

}  // namespace torch::executor::native
