// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <type_traits>

#include <executorch/runtime/core/portable_type/bfloat16.h>
#include <executorch/runtime/core/portable_type/half.h>
#include <executorch/runtime/core/tag.h>
#include <executorch/runtime/platform/assert.h>

namespace executorch {
namespace runtime {
namespace etensor {

/**
 * A number argument of an operator: an integer, a double or a bool.
 *
 * isIntegral(), isFloatingPoint() and isBoolean() say which; to<T>() converts. Reading a double as an integer or
 * anything but a bool as a bool is a programming error and aborts.
 */
class Scalar {
 public:
  /// Integer 0.
  Scalar() : Scalar(int64_t(0)) {}

  template <typename T, typename std::enable_if<std::is_integral<T>::value, bool>::type = true>
  /* implicit */ Scalar(T val) : tag_(Tag::Int) {
    v_.as_int = static_cast<int64_t>(val);
  }
  /* implicit */ Scalar(bool val) : tag_(Tag::Bool) { v_.as_bool = val; }
  /* implicit */ Scalar(double val) : tag_(Tag::Double) { v_.as_double = val; }
  /* implicit */ Scalar(BFloat16 val) : Scalar(static_cast<double>(static_cast<float>(val))) {}
  /* implicit */ Scalar(Half val) : Scalar(static_cast<double>(static_cast<float>(val))) {}

  /// The value as int64_t, double or bool.
  template <typename T>
  T to() const;

  bool isIntegral(bool includeBool) const { return tag_ == Tag::Int || (includeBool && tag_ == Tag::Bool); }
  bool isFloatingPoint() const { return tag_ == Tag::Double; }
  bool isBoolean() const { return tag_ == Tag::Bool; }

 private:
  int64_t toInt() const {
    if (isBoolean()) {
      return v_.as_bool ? 1 : 0;
    }
    ET_CHECK_MSG(isIntegral(/*includeBool=*/false), "expected a Scalar that holds an integer or a bool, found %s",
                 tag_to_string(tag_));
    return v_.as_int;
  }

  double toFloatingPoint() const { return isFloatingPoint() ? v_.as_double : static_cast<double>(toInt()); }

  bool toBool() const {
    ET_CHECK_MSG(isBoolean(), "expected a Scalar that holds a bool, found %s", tag_to_string(tag_));
    return v_.as_bool;
  }

  Tag tag_;
  union {
    double as_double;
    int64_t as_int;
    bool as_bool;
  } v_;
};

#define ET_DEFINE_SCALAR_TO_METHOD(T, name) \
  template <>                               \
  inline T Scalar::to<T>() const {          \
    return to##name();                      \
  }
ET_DEFINE_SCALAR_TO_METHOD(double, FloatingPoint)
ET_DEFINE_SCALAR_TO_METHOD(int64_t, Int)
ET_DEFINE_SCALAR_TO_METHOD(bool, Bool)
#undef ET_DEFINE_SCALAR_TO_METHOD

}  // namespace etensor
}  // namespace runtime
}  // namespace executorch

namespace torch {
namespace executor {
using ::executorch::runtime::etensor::Scalar;
}  // namespace executor
}  // namespace torch
