// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>

// Short vectors and run-time choice of the instruction set, without intrinsics: loops are written once, in functions
// that are always inlined, and compiled for the build's baseline and, on x86-64, for AVX2 with FMA as well.

#if defined(__GNUC__) || defined(__clang__)
#define ET_ALWAYS_INLINE inline __attribute__((always_inline))
#else
#define ET_ALWAYS_INLINE inline
#endif

// A second version is compiled in builds for baseline x86-64, if the compiler has the `target` attribute.
#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__)) && !(defined(__AVX2__) && defined(__FMA__))
#define ET_HAS_AVX2_VERSION 1
#define ET_TARGET_AVX2 __attribute__((target("avx2,fma")))
#else
#define ET_HAS_AVX2_VERSION 0
#define ET_TARGET_AVX2
#endif

// Defines `void name(parameters)`, which runs the version of `name_body(arguments)` that is compiled for the best
// instruction set of this machine. name_body must be ET_ALWAYS_INLINE. `linkage` is `static` or empty; both lists are
// in parentheses.
#if ET_HAS_AVX2_VERSION
#define ET_MULTIVERSION(linkage, name, parameters, arguments) \
  ET_TARGET_AVX2 static void name##_avx2 parameters {         \
    name##_body arguments;                                    \
  }                                                           \
  static void name##_baseline parameters {                    \
    name##_body arguments;                                    \
  }                                                           \
  linkage void name parameters {                              \
    if (::torch::executor::simd::has_avx2()) {                \
      name##_avx2 arguments;                                  \
    } else {                                                  \
      name##_baseline arguments;                              \
    }                                                         \
  }
#else
#define ET_MULTIVERSION(linkage, name, parameters, arguments) \
  linkage void name parameters {                              \
    name##_body arguments;                                    \
  }
#endif

namespace torch {
namespace executor {
namespace simd {

/// Whether this machine has AVX2 and FMA.
inline bool has_avx2() {
#if ET_HAS_AVX2_VERSION
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#else
  return false;
#endif
}

#if defined(__GNUC__) || defined(__clang__)
// GCC ignores a vector_size that depends on a template parameter.
template <int kWidth>
struct FloatVector;
template <>
struct FloatVector<4> {
  typedef float Type __attribute__((vector_size(16)));
};
template <>
struct FloatVector<8> {
  typedef float Type __attribute__((vector_size(32)));
};
#endif

/// kWidth floats, which the compiler keeps in as many registers as they need. Pass them by reference: the calling
/// convention for values would depend on the instruction set.
template <int kWidth>
struct Floats {
#if defined(__GNUC__) || defined(__clang__)
  using Type = typename FloatVector<kWidth>::Type;
  Type value;

  ET_ALWAYS_INLINE void load(const float* p) { __builtin_memcpy(&value, p, sizeof(value)); }
  ET_ALWAYS_INLINE void store(float* p) const { __builtin_memcpy(p, &value, sizeof(value)); }
  ET_ALWAYS_INLINE void fill(float x) { value = x - Type{}; }
  ET_ALWAYS_INLINE void add_product(float x, const Floats& y) { value += x * y.value; }
  ET_ALWAYS_INLINE void add_product(const Floats& x, const Floats& y) { value += x.value * y.value; }
  ET_ALWAYS_INLINE void add(const Floats& x) { value += x.value; }
  ET_ALWAYS_INLINE float sum() const {
    float total = 0;
    for (int i = 0; i < kWidth; ++i) {
      total += value[i];
    }
    return total;
  }
#else
  float value[kWidth];

  void load(const float* p) {
    for (int i = 0; i < kWidth; ++i) value[i] = p[i];
  }
  void store(float* p) const {
    for (int i = 0; i < kWidth; ++i) p[i] = value[i];
  }
  void fill(float x) {
    for (int i = 0; i < kWidth; ++i) value[i] = x;
  }
  void add_product(float x, const Floats& y) {
    for (int i = 0; i < kWidth; ++i) value[i] += x * y.value[i];
  }
  void add_product(const Floats& x, const Floats& y) {
    for (int i = 0; i < kWidth; ++i) value[i] += x.value[i] * y.value[i];
  }
  void add(const Floats& x) {
    for (int i = 0; i < kWidth; ++i) value[i] += x.value[i];
  }
  float sum() const {
    float total = 0;
    for (int i = 0; i < kWidth; ++i) total += value[i];
    return total;
  }
#endif
};

}  // namespace simd
}  // namespace executor
}  // namespace torch
