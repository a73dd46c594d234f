// SPDX-License-Identifier: BSD-3-Clause
// Special functions of real numbers in double precision, correct to about 1e-10 of the function's size or better.
// Formulas: NIST Digital Library of Mathematical Functions, by section.
#pragma once

#include <cstdint>

namespace torch::executor::native {

/// The logarithmic derivative of the gamma function (5.11, 5.5, 5.15). At 0 it is infinity with the opposite sign of
/// the zero, at the other poles NaN.
double digamma(double x);

/// The Hurwitz zeta function sum (q + k)^-x (25.11): infinity at x = 1 and at the poles q = 0, -1, ...; NaN for x < 1
/// and for q < 0 where x is not an integer.
double hurwitz_zeta(double x, double q);

/// The derivative of order n of digamma, n > 0.
double polygamma(int64_t n, double x);

/// The regularized incomplete gamma functions P(a, x) and Q(a, x) = 1 - P (8.2); NaN below 0 and at (0, 0).
double gamma_p(double a, double x);
double gamma_q(double a, double x);

/// The inverse of erf; infinite at -1 and 1, NaN outside.
double erf_inverse(double y);

/// The quantile of the normal distribution; infinite at 0 and 1, NaN outside.
double normal_quantile(double p);

/// e^(x^2) erfc(x).
double erfc_scaled(double x);

/// Bessel functions of the first and the second kind of order 0 or 1 (10.8, 10.17); Y is NaN below 0.
double bessel_j(int order, double x);
double bessel_y(int order, double x);

/// e^-|x| I_order(x) (10.25, 10.40), order 0 or 1.
double bessel_i_scaled(int order, double x);

/// e^x K_order(x) (10.31, 10.32); infinite at 0 and NaN below. The order is 0 or 1; for x > 1, any order.
double bessel_k_scaled(double order, double x);

/// The Airy function Ai (9.4, 9.6, 9.7).
double airy_ai(double x);

}  // namespace torch::executor::native
