// SPDX-License-Identifier: BSD-3-Clause
#include "kernels/portable/cpu/math/special_functions.h"

#include <cmath>
#include <limits>

namespace torch::executor::native {
namespace {

constexpr double kPi = 3.14159265358979323846;
constexpr double kEulerGamma = 0.57721566490153286061;
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kEpsilon = std::numeric_limits<double>::epsilon();

// The Bernoulli numbers B_2, B_4, ...
constexpr double kBernoulli[] = {1.0 / 6,       -1.0 / 30, 1.0 / 42,      -1.0 / 30,     5.0 / 66,
                                 -691.0 / 2730, 7.0 / 6,   -3617.0 / 510, 43867.0 / 798, -174611.0 / 330};

bool is_integer(double x) {
  return x == std::floor(x);
}

// zeta(x, q) for x > 1, q > 0, by Euler and Maclaurin's formula (25.11.28) after the first terms.
double zeta_of_positive(double x, double q) {
  double sum = 0;
  double w = q;
  for (; w < 12; w += 1) {
    sum += std::pow(w, -x);
  }
  const double power = std::pow(w, -x);
  sum += power * w / (x - 1) + 0.5 * power;
  double factor = x * power / w;  // x (x + 1) ... (x + 2 k - 2) w^(-x - 2 k + 1), over (2 k)! below
  for (int k = 1; k <= 10; ++k) {
    factor /= k == 1 ? 2.0 : (2.0 * k) * (2.0 * k - 1);
    const double term = kBernoulli[k - 1] * factor;
    sum += term;
    if (std::fabs(term) < kEpsilon * std::fabs(sum)) {
      break;
    }
    factor *= (x + 2 * k - 1) * (x + 2 * k) / (w * w);
  }
  return sum;
}

// e^-x x^a / gamma(a + 1)
double gamma_prefix(double a, double x) {
  return std::exp(a * std::log(x) - x - std::lgamma(a + 1));
}

double gamma_p_series(double a, double x) {
  double term = 1, sum = 1;
  for (double n = 1; term > kEpsilon * sum && n < 100000; n += 1) {
    term *= x / (a + n);
    sum += term;
  }
  return sum * gamma_prefix(a, x);
}

// The continued fraction 8.9.2, evaluated from the front (Lentz).
double gamma_q_fraction(double a, double x) {
  constexpr double kTiny = 1e-300;
  double b = x + 1 - a, c = 1 / kTiny, d = 1 / b, result = d;
  for (int i = 1; i < 100000; ++i) {
    const double an = -i * (i - a);
    b += 2;
    d = an * d + b;
    d = 1 / (std::fabs(d) < kTiny ? kTiny : d);
    c = b + an / c;
    c = std::fabs(c) < kTiny ? kTiny : c;
    result *= d * c;
    if (std::fabs(d * c - 1) < kEpsilon) {
      break;
    }
  }
  return result * gamma_prefix(a, x) * a;
}

// The first term of the uniform expansion 8.12.4 and of its correction, whose error falls as a^-1.5.
double gamma_q_of_large(double a, double x) {
  const double lambda = x / a;
  const double half_square = lambda - 1 - std::log(lambda);  // eta^2 / 2
  const double eta = std::copysign(std::sqrt(2 * (half_square > 0 ? half_square : 0)), lambda - 1);
  const double correction = std::fabs(lambda - 1) < 1e-3 ? -1.0 / 3 + eta / 12 : 1 / (lambda - 1) - 1 / eta;
  return 0.5 * std::erfc(eta * std::sqrt(a / 2)) + std::exp(-a * half_square) / std::sqrt(2 * kPi * a) * correction;
}

constexpr double kLargeGamma = 1e5;

// x > 0 with erfc(x) = q, 0 < q <= 1: Halley's method.
double erfc_inverse(double q) {
  if (q == 1) {
    return 0;
  }
  double x = q > 0.3 ? (1 - q) * 0.8862269254527580 : std::sqrt(-std::log(q * std::sqrt(-kPi * std::log(q * 0.7))));
  for (int i = 0; i < 20; ++i) {
    const double step = (std::erfc(x) - q) / (-1.1283791670955126 * std::exp(-x * x));
    const double change = step / (1 + x * step);
    x -= change;
    if (!(std::fabs(change) > 4 * kEpsilon * x)) {
      break;
    }
  }
  return x;
}

// P and Q of Hankel's expansions (10.17.3): J = sqrt(2 / (pi x)) (P cos w - Q sin w).
void hankel(int order, double x, double* p, double* q) {
  const double mu = 4.0 * order * order;
  double term = 1;
  *p = 1;
  *q = 0;
  for (int k = 1; k < 60; ++k) {
    const double next = term * (mu - (2.0 * k - 1) * (2.0 * k - 1)) / (k * 8.0 * x);
    if (std::fabs(next) > std::fabs(term) || std::fabs(next) < 1e-18) {
      break;
    }
    term = next;
    const double sign = k / 2 % 2 == 0 ? 1 : -1;
    (k % 2 == 0 ? *p : *q) += sign * term;
  }
}

constexpr double kHankelFrom = 14;

// sum (sign x^2 / 4)^k / (k! (k + order)!) (x / 2)^order. `with_harmonics` gets the sum in which each term is
// multiplied by H_k + H_(k + order), with the harmonic numbers H.
double bessel_series(int order, double sign, double x, double* with_harmonics) {
  const double square = sign * x * x / 4;
  double term = order == 0 ? 1 : x / 2, harmonics = order == 0 ? 0 : 1;
  double sum = term, weighted = term * harmonics;
  for (int k = 1; k < 500; ++k) {
    term *= square / (static_cast<double>(k) * (k + order));
    harmonics += 1.0 / k + 1.0 / (k + order);
    sum += term;
    weighted += term * harmonics;
    if (std::fabs(term) * (1 + harmonics) < 1e-18 * std::fabs(sum)) {
      break;
    }
  }
  if (with_harmonics != nullptr) {
    *with_harmonics = weighted;
  }
  return sum;
}

double airy_series(double x) {
  double f = 1, g = x, f_term = 1, g_term = x;
  for (int k = 1; k < 200; ++k) {
    f_term *= x * x * x / ((3.0 * k - 1) * (3.0 * k));
    g_term *= x * x * x / ((3.0 * k) * (3.0 * k + 1));
    f += f_term;
    g += g_term;
    if (std::fabs(f_term) + std::fabs(g_term) < 1e-18 * (std::fabs(f) + std::fabs(g))) {
      break;
    }
  }
  return 0.35502805388781723926 * f - 0.25881940379280679840 * g;
}

// 9.7.9, for x well below zero.
double airy_of_negative(double x) {
  const double z = -x, zeta = 2.0 / 3 * z * std::sqrt(z);
  double term = 1, even = 1, odd = 0;
  for (int k = 1; k < 40; ++k) {
    const double next = term * (6.0 * k - 5) * (6.0 * k - 3) * (6.0 * k - 1) / (216.0 * k * (2.0 * k - 1) * zeta);
    if (next > term || next < 1e-18) {
      break;
    }
    term = next;
    (k % 2 == 0 ? even : odd) += (k / 2 % 2 == 0 ? 1 : -1) * term;
  }
  const double angle = zeta - kPi / 4;
  return (std::cos(angle) * even + std::sin(angle) * odd) / (std::sqrt(kPi) * std::sqrt(std::sqrt(z)));
}

}  // namespace

double digamma(double x) {
  if (x == 0) {
    return std::copysign(kInfinity, -x);
  }
  if (x < 0) {
    if (is_integer(x)) {
      return kNaN;
    }
    // The difference from the nearest integer is exact.
    return digamma(1 - x) - kPi / std::tan(kPi * (x - std::round(x)));
  }
  double result = 0;
  for (; x < 12; x += 1) {
    result -= 1 / x;
  }
  result += std::log(x) - 0.5 / x;
  double power = 1 / (x * x);
  for (int k = 1; k <= 7; ++k) {
    result -= kBernoulli[k - 1] / (2 * k) * power;
    power /= x * x;
  }
  return result;
}

double hurwitz_zeta(double x, double q) {
  if (x == 1) {
    return kInfinity;
  }
  if (!(x > 1) || q != q) {
    return kNaN;
  }
  if (q > 0) {
    return std::isinf(q) ? 0 : zeta_of_positive(x, q);
  }
  if (is_integer(q)) {
    return kInfinity;
  }
  if (!is_integer(x)) {
    return kNaN;
  }
  // q = f - m. The terms of the sum with q + k < 0 are, up to their sign, those of another zeta function.
  const double m = -std::floor(q), f = q + m;
  const double sign = std::fmod(x, 2) == 0 ? 1 : -1;
  return zeta_of_positive(x, f) + sign * (zeta_of_positive(x, 1 - f) - zeta_of_positive(x, m + 1 - f));
}

double polygamma(int64_t n, double x) {
  const double order = static_cast<double>(n);
  return (n % 2 == 0 ? -1 : 1) * std::exp(std::lgamma(order + 1)) * hurwitz_zeta(order + 1, x);
}

double gamma_p(double a, double x) {
  if (!(x >= 0) || !(a >= 0) || (a == 0 && x == 0) || (std::isinf(a) && std::isinf(x))) {
    return kNaN;
  }
  if (x == 0 || std::isinf(a)) {
    return 0;
  }
  if (a == 0 || std::isinf(x)) {
    return 1;
  }
  if (a > kLargeGamma) {
    return 1 - gamma_q_of_large(a, x);
  }
  return x < a + 1 ? gamma_p_series(a, x) : 1 - gamma_q_fraction(a, x);
}

double gamma_q(double a, double x) {
  if (!(x >= 0) || !(a >= 0) || (a == 0 && x == 0) || (std::isinf(a) && std::isinf(x))) {
    return kNaN;
  }
  if (x == 0 || std::isinf(a)) {
    return 1;
  }
  if (a == 0 || std::isinf(x)) {
    return 0;
  }
  if (a > kLargeGamma) {
    return gamma_q_of_large(a, x);
  }
  return x < a + 1 ? 1 - gamma_p_series(a, x) : gamma_q_fraction(a, x);
}

double erf_inverse(double y) {
  const double size = std::fabs(y);
  if (!(size <= 1)) {
    return kNaN;
  }
  if (size == 1) {
    return std::copysign(kInfinity, y);
  }
  if (size > 0.5) {
    return std::copysign(erfc_inverse(1 - size), y);
  }
  double x = y * 0.8862269254527580;
  for (int i = 0; i < 20; ++i) {
    const double step = (std::erf(x) - y) / (1.1283791670955126 * std::exp(-x * x));
    const double change = step / (1 + x * step);
    x -= change;
    if (!(std::fabs(change) > 4 * kEpsilon * std::fabs(x))) {
      break;
    }
  }
  return x;
}

double normal_quantile(double p) {
  constexpr double kRootOfTwo = 1.41421356237309504880;
  if (!(p >= 0 && p <= 1)) {
    return kNaN;
  }
  if (p == 0 || p == 1) {
    return p == 0 ? -kInfinity : kInfinity;
  }
  return p <= 0.5 ? -kRootOfTwo * erfc_inverse(2 * p) : kRootOfTwo * erfc_inverse(2 * (1 - p));
}

double erfc_scaled(double x) {
  if (x < 25) {
    return std::exp(x * x) * std::erfc(x);
  }
  const double square = 1 / (2 * x * x);
  return (1 - square * (1 - 3 * square * (1 - 5 * square * (1 - 7 * square)))) / (x * std::sqrt(kPi));
}

double bessel_j(int order, double x) {
  if (std::isinf(x)) {
    return 0;
  }
  const double size = std::fabs(x);
  if (size < kHankelFrom) {
    return bessel_series(order, -1, x, nullptr);
  }
  double p, q;
  hankel(order, size, &p, &q);
  const double angle = size - (2 * order + 1) * kPi / 4;
  const double result = std::sqrt(2 / (kPi * size)) * (p * std::cos(angle) - q * std::sin(angle));
  return order == 1 && x < 0 ? -result : result;
}

double bessel_y(int order, double x) {
  if (x == 0) {
    return -kInfinity;
  }
  if (!(x > 0)) {
    return kNaN;
  }
  if (std::isinf(x)) {
    return 0;
  }
  if (x < kHankelFrom) {
    double weighted;
    const double j = bessel_series(order, -1, x, &weighted);
    const double pole = order == 1 ? -2 / (kPi * x) : 0;
    return pole + 2 / kPi * (std::log(x / 2) + kEulerGamma) * j - weighted / kPi;
  }
  double p, q;
  hankel(order, x, &p, &q);
  const double angle = x - (2 * order + 1) * kPi / 4;
  return std::sqrt(2 / (kPi * x)) * (p * std::sin(angle) + q * std::cos(angle));
}

double bessel_i_scaled(int order, double x) {
  const double size = std::fabs(x);
  if (std::isinf(x)) {
    return 0;
  }
  if (size <= 30) {
    return bessel_series(order, 1, x, nullptr) * std::exp(-size);
  }
  const double mu = 4.0 * order * order;
  double term = 1, sum = 1;
  for (int k = 1; k < 60; ++k) {
    const double next = -term * (mu - (2.0 * k - 1) * (2.0 * k - 1)) / (k * 8.0 * size);
    if (std::fabs(next) > std::fabs(term) || std::fabs(next) < 1e-18) {
      break;
    }
    term = next;
    sum += term;
  }
  const double result = sum / std::sqrt(2 * kPi * size);
  return order == 1 && x < 0 ? -result : result;
}

double bessel_k_scaled(double order, double x) {
  if (x == 0) {
    return kInfinity;
  }
  if (!(x > 0)) {
    return kNaN;
  }
  if (std::isinf(x)) {
    return 0;
  }
  if (x <= 1) {
    double weighted;
    const double i = bessel_series(static_cast<int>(order), 1, x, &weighted);
    const double logarithm = (std::log(x / 2) + kEulerGamma) * i;
    return std::exp(x) * (order == 0 ? weighted / 2 - logarithm : 1 / x + logarithm - weighted / 2);
  }
  // The integral 10.32.9 by the trapezoidal rule, whose error falls exponentially with the step.
  const double step = std::fmin(0.1, 0.3 / std::sqrt(x));
  double sum = 0.5;
  for (int i = 1; i < 1000; ++i) {
    const double half = std::sinh(i * step / 2);
    const double exponent = -2 * x * half * half;  // -x (cosh t - 1)
    if (exponent < -745) {
      break;
    }
    sum += std::exp(exponent) * std::cosh(order * i * step);
  }
  return sum * step;
}

double airy_ai(double x) {
  if (std::isinf(x)) {
    return 0;
  }
  if (x > 2) {
    const double zeta = 2.0 / 3 * x * std::sqrt(x);
    return std::sqrt(x / 3) / kPi * std::exp(-zeta) * bessel_k_scaled(1.0 / 3, zeta);
  }
  return x < -8 ? airy_of_negative(x) : airy_series(x);
}

}  // namespace torch::executor::native
