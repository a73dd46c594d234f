// SPDX-License-Identifier: BSD-3-Clause
// Kernels compute in one of four types, whatever the tensors hold: float (also for float16 and bfloat16), double,
// int64_t (every integer, and bool in arithmetic; storing truncates, which is PyTorch's wrap-around), and uint8_t as
// 0/1 for logic. An operator is therefore compiled at most three times, not once for every combination of dtypes;
// blocks of elements are converted on their way in and out, and not at all when the dtype is the compute type.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "kernels/portable/cpu/pattern/selected_dtypes.h"
#include "kernels/portable/cpu/pattern/types.h"

namespace torch::executor::native {

enum class ComputeType : uint8_t { Float, Double, Int, Bool };

template <typename C>
constexpr ComputeType compute_type_of() {
  static_assert(std::is_same_v<C, float> || std::is_same_v<C, double> || std::is_same_v<C, int64_t> ||
                std::is_same_v<C, uint8_t>);
  if constexpr (std::is_same_v<C, float>) {
    return ComputeType::Float;
  } else if constexpr (std::is_same_v<C, double>) {
    return ComputeType::Double;
  } else if constexpr (std::is_same_v<C, int64_t>) {
    return ComputeType::Int;
  } else {
    return ComputeType::Bool;
  }
}

/// Bytes of one element of a compute type.
constexpr size_t compute_size(ComputeType type) {
  return type == ComputeType::Bool ? 1 : type == ComputeType::Float ? 4 : 8;
}

/// True if tensors of this dtype can be read and written by the functions below.
bool is_supported_dtype(ScalarType dtype);

/// The type in which arithmetic on `dtype` is done; Int for Bool. `dtype` must be supported.
ComputeType arithmetic_type(ScalarType dtype);

/// True if elements of `dtype` have the representation of `type`, so that no conversion is needed.
bool is_same_representation(ScalarType dtype, ComputeType type);

/// Converts `count` contiguous elements. Source and destination do not overlap. Floating-point values that do not fit
/// an integer give the most negative value of int64 (int32 for an int32 destination), as on x86 in PyTorch.
using ConvertFn = void (*)(void* dst, const void* src, size_t count);

ConvertFn load_fn(ScalarType from, ComputeType to);
ConvertFn store_fn(ComputeType from, ScalarType to);

/// Rounds values of a compute type to what a dtype can hold, or wraps them around.
class Rounding {
 public:
  Rounding() = default;
  /// None if every value of the compute type is one of the dtype.
  Rounding(ComputeType type, ScalarType dtype);

  explicit operator bool() const { return store_ != nullptr; }

  /// @param values `count` values of the compute type.
  /// @param elements Memory for as many elements of the dtype.
  void apply(void* values, void* elements, size_t count) const {
    store_(elements, values, count);
    load_(values, elements, count);
  }

 private:
  ConvertFn store_ = nullptr;
  ConvertFn load_ = nullptr;
};

/// floor/trunc'ed floating-point value to int64 without undefined behaviour.
template <typename F>
inline int64_t float_to_int64(F value) {
  constexpr F limit = static_cast<F>(9223372036854775808.0);
  return value >= -limit && value < limit ? static_cast<int64_t>(value) : INT64_MIN;
}

/// The value of a Scalar in a compute type.
template <typename C>
C scalar_to(const Scalar& scalar) {
  if (scalar.isBoolean()) {
    return static_cast<C>(scalar.to<bool>());
  }
  if (scalar.isIntegral(/*includeBool=*/false)) {
    const int64_t value = scalar.to<int64_t>();
    return std::is_same_v<C, uint8_t> ? static_cast<C>(value != 0) : static_cast<C>(value);
  }
  const double value = scalar.to<double>();
  if constexpr (std::is_same_v<C, uint8_t>) {
    return value != 0;
  } else if constexpr (std::is_same_v<C, int64_t>) {
    return float_to_int64(value);
  } else {
    return static_cast<C>(value);
  }
}

/// Writes the value of `scalar` as one element of `type` at `dst` (at least 8 bytes).
void store_scalar(const Scalar& scalar, ComputeType type, void* dst);

/// Writes the value of `scalar` as one element of a supported dtype at `dst` (at least 8 bytes).
void store_scalar_as(const Scalar& scalar, ScalarType dtype, void* dst);

/// Calls `f` with a zero of the C++ type of `type` (Float, Double or Int).
template <typename F>
static void with_arithmetic_type(ComputeType type, F&& f) {
  switch (type) {
    case ComputeType::Float:
      return f(float{});
    case ComputeType::Double:
      if constexpr (is_selected(ScalarType::Double)) {
        return f(double{});
      }
      break;
    default:
      if constexpr (kSelectsIntegers) {
        return f(int64_t{});
      }
      break;
  }
  // Tensors of such a dtype come only from a caller that goes around the kernel registry.
  ET_CHECK_MSG(false, "this selective build has no code for these dtypes; build it from a program that uses them");
}

/// As above, for operators that are defined on floating point only.
template <typename F>
static void with_floating_type(ComputeType type, F&& f) {
  with_arithmetic_type(type == ComputeType::Double ? type : ComputeType::Float, [&](auto zero) {
    if constexpr (!std::is_same_v<decltype(zero), int64_t>) {
      f(zero);
    }
  });
}

}  // namespace torch::executor::native
