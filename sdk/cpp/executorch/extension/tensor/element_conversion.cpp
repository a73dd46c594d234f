// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/extension/tensor/element_conversion.h>

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

// Half and BFloat16 convert to and from float only; going through it loses nothing for them.
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
  return switch_real_type(type, "fill", [&](auto tag) {
    using T = typename decltype(tag)::type;
    T element;
    if (value.isBoolean()) {
      element = convert_element<T>(value.to<bool>());
    } else if (value.isIntegral(false)) {
      element = convert_element<T>(value.to<int64_t>());
    } else {
      element = convert_element<T>(value.to<double>());
    }
    auto* target = static_cast<T*>(data);
    for (size_t i = 0; i < count; ++i) {
      target[i] = element;
    }
  });
}

}  // namespace internal
}  // namespace extension
}  // namespace executorch
