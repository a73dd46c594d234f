// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file
 * Arithmetic of the 16-bit floating point types, defined once for Half and BFloat16. All of it is computed in float and
 * rounded once. As in PyTorch: with float or double the result has that type, with an integer it stays 16-bit.
 */
#pragma once

#include <cstdint>

#define C10_REDUCED_FLOAT_MIXED_OPERATOR(T, OP)        \
  inline float operator OP(T a, float b) {             \
    return static_cast<float>(a) OP b;                 \
  }                                                    \
  inline float operator OP(float a, T b) {             \
    return a OP static_cast<float>(b);                 \
  }                                                    \
  inline double operator OP(T a, double b) {           \
    return static_cast<double>(a) OP b;                \
  }                                                    \
  inline double operator OP(double a, T b) {           \
    return a OP static_cast<double>(b);                \
  }                                                    \
  inline T operator OP(T a, int b) {                   \
    return a OP static_cast<T>(static_cast<float>(b)); \
  }                                                    \
  inline T operator OP(int a, T b) {                   \
    return static_cast<T>(static_cast<float>(a)) OP b; \
  }                                                    \
  inline T operator OP(T a, int64_t b) {               \
    return a OP static_cast<T>(static_cast<float>(b)); \
  }                                                    \
  inline T operator OP(int64_t a, T b) {               \
    return static_cast<T>(static_cast<float>(a)) OP b; \
  }

#define C10_REDUCED_FLOAT_OPERATORS(T)                                    \
  inline T operator+(const T& a, const T& b) {                            \
    return static_cast<float>(a) + static_cast<float>(b);                 \
  }                                                                       \
  inline T operator-(const T& a, const T& b) {                            \
    return static_cast<float>(a) - static_cast<float>(b);                 \
  }                                                                       \
  inline T operator*(const T& a, const T& b) {                            \
    return static_cast<float>(a) * static_cast<float>(b);                 \
  }                                                                       \
  inline T operator/(const T& a, const T& b) {                            \
    return static_cast<float>(a) / static_cast<float>(b);                 \
  }                                                                       \
  inline T operator-(const T& a) {                                        \
    return T(static_cast<unsigned short>(a.x ^ 0x8000u), T::from_bits()); \
  }                                                                       \
  inline T& operator+=(T& a, const T& b) {                                \
    return a = a + b;                                                     \
  }                                                                       \
  inline T& operator-=(T& a, const T& b) {                                \
    return a = a - b;                                                     \
  }                                                                       \
  inline T& operator*=(T& a, const T& b) {                                \
    return a = a * b;                                                     \
  }                                                                       \
  inline T& operator/=(T& a, const T& b) {                                \
    return a = a / b;                                                     \
  }                                                                       \
  inline float& operator+=(float& a, const T& b) {                        \
    return a += static_cast<float>(b);                                    \
  }                                                                       \
  inline float& operator-=(float& a, const T& b) {                        \
    return a -= static_cast<float>(b);                                    \
  }                                                                       \
  inline float& operator*=(float& a, const T& b) {                        \
    return a *= static_cast<float>(b);                                    \
  }                                                                       \
  inline float& operator/=(float& a, const T& b) {                        \
    return a /= static_cast<float>(b);                                    \
  }                                                                       \
  C10_REDUCED_FLOAT_MIXED_OPERATOR(T, +)                                  \
  C10_REDUCED_FLOAT_MIXED_OPERATOR(T, -)                                  \
  C10_REDUCED_FLOAT_MIXED_OPERATOR(T, *)                                  \
  C10_REDUCED_FLOAT_MIXED_OPERATOR(T, /)
