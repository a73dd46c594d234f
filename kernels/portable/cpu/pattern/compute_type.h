// SPDX-License-Identifier: BSD-3-Clause
// Kernels compute in one of four types, whatever the dtypes of the tensors: float (also for float16 and bfloat16),
// double, int64_t (for every integer, and for bool in arithmetic; storing truncates, which wraps around as in PyTorch),
// and uint8_t as 0 or 1 for logic. So an operator is compiled at most three times instead of once for every combination
// of dtypes. Blocks of elements are converted when they are read and written, unless their dtype is the compute type.
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

/// The size of an element of a compute type in bytes.
constexpr size_t compute_size(ComputeType type) {
  return type == ComputeType::Bool ? 1 : type == ComputeType::Float ? 4 : 8;
}

/// Whether the functions below can read and write tensors of this dtype.
bool is_supported_dtype(ScalarType dtype);

/// The type in which arithmetic on `dtype` is computed; Int for Bool. `dtype` must be supported.
ComputeType arithmetic_type(ScalarType dtype);

/// Whether elements of `dtype` have the representation of `type`, so that they need no conversion.
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
  /// No rounding if the dtype holds every value of the compute type.
  Rounding(ComputeType type, ScalarType dtype) {
    if constexpr (kRoundsResults) {
      choose(type, dtype);
    }
  }

  explicit operator bool() const { return kRoundsResults && store_ != nullptr; }

  /// @param values `count` values of the compute type.
  /// @param elements Memory for as many elements of the dtype.
  void apply(void* values, void* elements, size_t count) const {
    store_(elements, values, count);
    load_(values, elements, count);
  }

 private:
  void choose(ComputeType type, ScalarType dtype);

  ConvertFn store_ = nullptr;
  ConvertFn load_ = nullptr;
};

/// Converts a floating-point value to int64, truncated, without undefined behaviour.
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
  // Tensors of other dtypes can only come from a caller that bypasses the kernel registry.
  ET_CHECK_MSG(false, "this selective build has no code for these dtypes; build it from a program that uses them");
}

/// As above, for operators on floating point only.
template <typename F>
static void with_floating_type(ComputeType type, F&& f) {
  with_arithmetic_type(type == ComputeType::Double ? type : ComputeType::Float, [&](auto zero) {
    if constexpr (!std::is_same_v<decltype(zero), int64_t>) {
      f(zero);
    }
  });
}

}  // namespace torch::executor::native
