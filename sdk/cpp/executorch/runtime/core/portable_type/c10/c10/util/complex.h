// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <executorch/runtime/core/portable_type/c10/c10/util/Half.h>

namespace c10 {

/**
 * A complex number stored as real part, imaginary part, like PyTorch's complex dtypes.
 *
 * T is Half, float or double. Products and quotients are the schoolbook formulas: no recovery of infinities.
 */
template <typename T>
struct alignas(sizeof(T) * 2) complex {
  using value_type = T;

  T real_ = T();
  T imag_ = T();

  constexpr complex() = default;
  constexpr complex(const T& re, const T& im = T()) : real_(re), imag_(im) {}

  /// Conversion between precisions.
  template <typename U>
  constexpr explicit complex(const complex<U>& other)
      : real_(static_cast<T>(other.real())), imag_(static_cast<T>(other.imag())) {}

  constexpr T real() const { return real_; }
  constexpr void real(T value) { real_ = value; }
  constexpr T imag() const { return imag_; }
  constexpr void imag(T value) { imag_ = value; }

  /// True unless the number is zero.
  constexpr explicit operator bool() const { return real_ != T() || imag_ != T(); }

  constexpr complex& operator=(T re) {
    real_ = re;
    imag_ = T();
    return *this;
  }
  constexpr complex& operator+=(const complex& b) { return *this = complex(real_ + b.real_, imag_ + b.imag_); }
  constexpr complex& operator-=(const complex& b) { return *this = complex(real_ - b.real_, imag_ - b.imag_); }
  constexpr complex& operator*=(const complex& b) {
    return *this = complex(real_ * b.real_ - imag_ * b.imag_, real_ * b.imag_ + imag_ * b.real_);
  }
  constexpr complex& operator/=(const complex& b) {
    const T norm = b.real_ * b.real_ + b.imag_ * b.imag_;
    return *this = complex((real_ * b.real_ + imag_ * b.imag_) / norm, (imag_ * b.real_ - real_ * b.imag_) / norm);
  }

  // Hidden friends: a real operand converts implicitly.
  friend constexpr complex operator+(complex a, const complex& b) { return a += b; }
  friend constexpr complex operator-(complex a, const complex& b) { return a -= b; }
  friend constexpr complex operator*(complex a, const complex& b) { return a *= b; }
  friend constexpr complex operator/(complex a, const complex& b) { return a /= b; }
  friend constexpr complex operator+(const complex& a) { return a; }
  friend constexpr complex operator-(const complex& a) { return complex(-a.real_, -a.imag_); }
  friend constexpr bool operator==(const complex& a, const complex& b) {
    return a.real_ == b.real_ && a.imag_ == b.imag_;
  }
  friend constexpr bool operator!=(const complex& a, const complex& b) { return !(a == b); }
};

}  // namespace c10
