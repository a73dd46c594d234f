// SPDX-License-Identifier: BSD-3-Clause
#include "kernels/portable/cpu/pattern/scalar_range.h"

#include <cfloat>
#include <cmath>
#include <cstdint>

namespace torch::executor::native {
namespace {

/// The largest finite value of a floating-point dtype whose range eager checks; 0 for a dtype that accepts every
/// number.
double largest_float(ScalarType dtype) {
  switch (dtype) {
    case ScalarType::Half:
    case ScalarType::ComplexHalf:
      return 65504;
    case ScalarType::Float:
    case ScalarType::ComplexFloat:
      return FLT_MAX;
    default:
      return 0;
  }
}

/// Sets the range of an integer dtype; returns false for other dtypes.
bool integer_range(ScalarType dtype, int64_t* low, uint64_t* high) {
  switch (dtype) {
    case ScalarType::Byte:
      return *low = 0, *high = UINT8_MAX, true;
    case ScalarType::Char:
      return *low = INT8_MIN, *high = INT8_MAX, true;
    case ScalarType::Short:
      return *low = INT16_MIN, *high = INT16_MAX, true;
    case ScalarType::UInt16:
      return *low = 0, *high = UINT16_MAX, true;
    case ScalarType::Int:
      return *low = INT32_MIN, *high = INT32_MAX, true;
    case ScalarType::UInt32:
      return *low = 0, *high = UINT32_MAX, true;
    case ScalarType::Long:
      return *low = INT64_MIN, *high = INT64_MAX, true;
    case ScalarType::UInt64:
      return *low = 0, *high = UINT64_MAX, true;
    default:
      return false;
  }
}

}  // namespace

bool is_in_scalar_range(const Scalar& scalar, ScalarType dtype) {
  if (scalar.isBoolean() || dtype == ScalarType::Bool) {
    return true;
  }
  const bool is_integer = scalar.isIntegral(/*includeBool=*/false);
  int64_t low = 0;
  uint64_t high = 0;
  if (!integer_range(dtype, &low, &high)) {
    const double largest = largest_float(dtype);
    const double value = is_integer ? static_cast<double>(scalar.to<int64_t>()) : scalar.to<double>();
    return largest == 0 || !std::isfinite(value) || std::fabs(value) <= largest;
  }
  if (is_integer) {
    const int64_t value = scalar.to<int64_t>();
    if (value >= 0) {
      return static_cast<uint64_t>(value) <= high;
    }
    return low < 0 ? value >= low : uint64_t{0} - static_cast<uint64_t>(value) <= high;
  }
  const double value = scalar.to<double>();
  return value >= static_cast<double>(low) && value <= static_cast<double>(high);
}

bool check_scalar_range(KernelRuntimeContext& ctx, const char* op, const Scalar& scalar, ScalarType dtype) {
  const bool fits = is_in_scalar_range(scalar, dtype);
  ET_KERNEL_CHECK_MSG(ctx, fits, InvalidArgument, false, "%s: the number %g is beyond the range of %s", op,
                      scalar.isFloatingPoint() ? scalar.to<double>() : static_cast<double>(scalar.to<int64_t>()),
                      toString(dtype));
  return true;
}

}  // namespace torch::executor::native
