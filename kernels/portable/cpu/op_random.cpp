// SPDX-License-Identifier: BSD-3-Clause
// rand.out, randn.out, randperm.out
#include <cmath>
#include <limits>
#include <utility>

#include "kernels/portable/cpu/math/random.h"
#include "kernels/portable/cpu/math/visit_dtype.h"
#include "kernels/portable/cpu/pattern/checks.h"

namespace torch::executor::native {
namespace {

using executorch::runtime::toRealValueType;

// The number of binary digits of a value in [0, 1) that the dtype holds without rounding up to 1.
template <typename T>
constexpr int digits() {
  return std::is_same_v<T, Half> ? 11 : std::is_same_v<T, BFloat16> ? 8 : std::numeric_limits<T>::digits;
}

// The number of real numbers in `out`; a complex number has two.
int64_t count_parts(const Tensor& out) {
  return executorch::runtime::isComplexType(out.scalar_type()) ? 2 * static_cast<int64_t>(out.numel()) : out.numel();
}

}  // namespace

/// Uniformly distributed numbers in [0, 1); both parts of complex numbers are.
Tensor& rand_out(KernelRuntimeContext& ctx, IntArrayRef size, Tensor& out) {
  const char* op = "rand.out";
  if (check_resize(ctx, op, out, size.data(), size.size())) {
    visit_floating(ctx, op, toRealValueType(out.scalar_type()), [&](auto tag) {
      using T = typename decltype(tag)::Type;
      const RandomStream random;
      T* numbers = static_cast<T*>(out.mutable_data_ptr());
      for (int64_t i = 0; i < count_parts(out); ++i) {
        numbers[i] = static_cast<T>(random.uniform(static_cast<uint64_t>(i), digits<T>()));
      }
    });
  }
  return out;
}

/// Normally distributed numbers of mean 0 and variance 1 (Box and Muller 1958); each part of a complex number has
/// variance 1/2.
Tensor& randn_out(KernelRuntimeContext& ctx, IntArrayRef size, Tensor& out) {
  const char* op = "randn.out";
  if (check_resize(ctx, op, out, size.data(), size.size())) {
    const int64_t count = count_parts(out);
    const double scale = count == out.numel() ? -2.0 : -1.0;
    visit_floating(ctx, op, toRealValueType(out.scalar_type()), [&](auto tag) {
      using T = typename decltype(tag)::Type;
      const RandomStream random;
      constexpr double two_pi = 6.283185307179586;
      T* numbers = static_cast<T*>(out.mutable_data_ptr());
      for (int64_t i = 0; i < count; ++i) {
        const uint64_t pair = static_cast<uint64_t>(i) & ~uint64_t(1);
        const double radius = std::sqrt(scale * std::log(1 - random.uniform(pair)));
        const double angle = two_pi * random.uniform(pair + 1);
        numbers[i] = static_cast<T>(static_cast<float>(radius * (i % 2 == 0 ? std::cos(angle) : std::sin(angle))));
      }
    });
  }
  return out;
}

/// The integers from 0 to n - 1 in random order (Fisher and Yates).
Tensor& randperm_out(KernelRuntimeContext& ctx, int64_t n, Tensor& out) {
  const char* op = "randperm.out";
  ET_KERNEL_CHECK_MSG(ctx, n >= 0, InvalidArgument, out, "%s: n is %lld; it must not be negative", op,
                      static_cast<long long>(n));
  if (check_resize(ctx, op, out, &n, 1)) {
    visit_real(ctx, op, out.scalar_type(), [&](auto tag) {
      using T = typename decltype(tag)::Type;
      T* values = out.mutable_data_ptr<T>();
      for (int64_t i = 0; i < n; ++i) {
        values[i] = static_cast<T>(i);
      }
      const RandomStream random;
      for (int64_t i = n - 1; i > 0; --i) {
        const uint64_t other = random.bits(static_cast<uint64_t>(i)) % static_cast<uint64_t>(i + 1);
        std::swap(values[i], values[other]);
      }
    });
  }
  return out;
}

}  // namespace torch::executor::native
