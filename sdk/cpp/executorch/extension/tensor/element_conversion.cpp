// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/extension/tensor/element_conversion.h>

#include <algorithm>
#include <cinttypes>
#include <cstring>
#include <limits>

#include <executorch/extension/tensor/scalar_type_switch.h>

namespace executorch {
namespace extension {
namespace internal {

namespace {

bool is_floating(aten::ScalarType type) {
  using aten::ScalarType;
  return type == ScalarType::Half || type == ScalarType::BFloat16 || type == ScalarType::Float ||
         type == ScalarType::Double;
}

/// The dtypes that PyTorch has for interchange only. ExecuTorch converts floating-point numbers to them.
bool is_barebones_unsigned(aten::ScalarType type) {
  using aten::ScalarType;
  return type == ScalarType::UInt16 || type == ScalarType::UInt32 || type == ScalarType::UInt64;
}

/// Truncates a number; outside the range of To, returns its nearest limit, and 0 for NaN.
template <typename To>
To saturate(double value) {
  // The largest 64-bit value is not a double: the next double is 2^64.
  constexpr double kEnd = static_cast<double>(std::numeric_limits<To>::max() / 2 + 1) * 2;
  if (!(value > 0)) {
    return 0;
  }
  return value < kEnd ? static_cast<To>(value) : std::numeric_limits<To>::max();
}

// Half and BFloat16 convert to and from float only; other types go through float, as in PyTorch.
template <typename To, typename From>
To convert_element(From value) {
  constexpr bool is_fraction = !std::is_integral_v<From>;
  if constexpr (is_fraction && std::is_unsigned_v<To> && !std::is_same_v<To, bool> && sizeof(To) > 1) {
    if constexpr (std::is_arithmetic_v<From>) {
      return saturate<To>(static_cast<double>(value));
    } else {
      return saturate<To>(static_cast<double>(static_cast<float>(value)));
    }
  } else if constexpr (std::is_arithmetic_v<From> && std::is_arithmetic_v<To>) {
    return static_cast<To>(value);
  } else if constexpr (std::is_arithmetic_v<To>) {
    return static_cast<To>(static_cast<float>(value));
  } else {
    return static_cast<To>(static_cast<float>(value));
  }
}

/// Whether a number is in the range of the integer type T, as PyTorch requires it; its fraction is dropped later.
/// Beyond the range, a conversion is undefined. The unsigned types of interchange saturate instead.
template <typename T>
bool holds(double value) {
  constexpr auto kMost = std::numeric_limits<T>::max();
  constexpr double kEnd = static_cast<double>(kMost / 2 + 1) * 2;  // float64 does not have the largest int64
  return (std::is_unsigned_v<T> && sizeof(T) > 1) ||
         (value >= static_cast<double>(std::numeric_limits<T>::min()) &&
          (sizeof(T) < sizeof(int64_t) ? value <= static_cast<double>(kMost) : value < kEnd));
}

/// As in PyTorch, unsigned types also hold the negative numbers that wrap to one of theirs.
template <typename T>
bool holds(int64_t value) {
  if constexpr (sizeof(T) == sizeof(int64_t)) {
    return true;
  } else {
    const auto most = static_cast<int64_t>(std::numeric_limits<T>::max());
    return value <= most &&
           value >= (std::is_signed_v<T> ? static_cast<int64_t>(std::numeric_limits<T>::min()) : -most);
  }
}

/// The element of dtype `type`, whose C++ type is T, for a number. Empty, after a log line, if it has none.
template <typename T>
std::optional<T> element_of(const aten::Scalar& value, aten::ScalarType type) {
  constexpr bool is_limited = std::is_integral_v<T> && !std::is_same_v<T, bool>;
  if (value.isBoolean()) {
    return convert_element<T>(value.to<bool>());
  }
  if (value.isIntegral(false)) {
    const int64_t number = value.to<int64_t>();
    if constexpr (is_limited) {
      if (!holds<T>(number)) {
        ET_LOG(Error, "a tensor of %s has no element %" PRId64, runtime::toString(type), number);
        return std::nullopt;
      }
    }
    return convert_element<T>(number);
  }
  const double number = value.to<double>();
  if constexpr (is_limited) {
    if (!holds<T>(number)) {
      ET_LOG(Error, "a tensor of %s has no element %g", runtime::toString(type), number);
      return std::nullopt;
    }
  }
  return convert_element<T>(number);
}

/// Fills complex elements, pairs of a real and an imaginary part of type T, with a real number.
template <typename T>
bool fill_complex(void* data, size_t count, const aten::Scalar& value) {
  const T real = element_of<T>(value, aten::ScalarType::Undefined).value_or(T(0));  // fractions hold every number
  auto* target = static_cast<T*>(data);
  for (size_t i = 0; i < count; ++i) {
    target[2 * i] = real;
    target[2 * i + 1] = T(0);
  }
  return true;
}

}  // namespace

std::optional<std::vector<uint8_t>> convert_elements(const void* data, aten::ScalarType from, size_t count,
                                                     aten::ScalarType to) {
  if (!runtime::isValid(from) || !runtime::isValid(to)) {
    ET_LOG(Error, "%d is not a dtype", static_cast<int>(runtime::isValid(from) ? to : from));
    return std::nullopt;
  }
  std::vector<uint8_t> result(count * runtime::elementSize(to));
  if (from == to) {
    if (!result.empty()) {
      std::memcpy(result.data(), data, result.size());
    }
    return result;
  }
  if (is_floating(from) && !is_floating(to) && !is_barebones_unsigned(to)) {
    ET_LOG(Error, "%s elements cannot become %s: fractions would be lost", runtime::toString(from),
           runtime::toString(to));
    return std::nullopt;
  }
  if (to == aten::ScalarType::Bool) {
    ET_LOG(Error, "%s elements cannot become Bool: compare them with zero instead", runtime::toString(from));
    return std::nullopt;
  }
  bool converted = false;
  const bool known = switch_real_type(from, "conversion", [&](auto from_tag) {
    using From = typename decltype(from_tag)::type;
    const auto* source = static_cast<const From*>(data);
    converted = switch_real_type(to, "conversion", [&](auto to_tag) {
      using To = typename decltype(to_tag)::type;
      auto* target = reinterpret_cast<To*>(result.data());
      for (size_t i = 0; i < count; ++i) {
        target[i] = convert_element<To>(source[i]);
      }
    });
  });
  if (!known || !converted) {
    return std::nullopt;
  }
  return result;
}

bool fill_elements(void* data, aten::ScalarType type, size_t count, const aten::Scalar& value) {
  if (type == aten::ScalarType::ComplexHalf) {
    return fill_complex<aten::Half>(data, count, value);
  }
  if (type == aten::ScalarType::ComplexFloat) {
    return fill_complex<float>(data, count, value);
  }
  if (type == aten::ScalarType::ComplexDouble) {
    return fill_complex<double>(data, count, value);
  }
  bool filled = false;
  const bool known = switch_real_type(type, "fill", [&](auto tag) {
    using T = typename decltype(tag)::type;
    const std::optional<T> element = element_of<T>(value, type);
    filled = element.has_value();
    if (filled) {
      std::fill_n(static_cast<T*>(data), count, *element);
    }
  });
  return known && filled;
}

}  // namespace internal
}  // namespace extension
}  // namespace executorch
