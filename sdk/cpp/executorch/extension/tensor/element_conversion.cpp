// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/extension/tensor/element_conversion.h>

#include <cstring>

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

// Half and BFloat16 convert to and from float only; going through it loses nothing for them.
template <typename To, typename From>
To convert_element(From value) {
  if constexpr (std::is_arithmetic_v<From> && std::is_arithmetic_v<To>) {
    return static_cast<To>(value);
  } else if constexpr (std::is_arithmetic_v<To>) {
    return static_cast<To>(static_cast<float>(value));
  } else {
    return static_cast<To>(static_cast<float>(value));
  }
}

}  // namespace

std::vector<uint8_t> convert_elements(const void* data, aten::ScalarType from, size_t count, aten::ScalarType to) {
  std::vector<uint8_t> result(count * runtime::elementSize(to));
  if (from == to) {
    if (!result.empty()) {
      std::memcpy(result.data(), data, result.size());
    }
    return result;
  }
  ET_CHECK_MSG(!is_floating(from) || is_floating(to), "%s elements cannot become %s: fractions would be lost",
               runtime::toString(from), runtime::toString(to));
  ET_CHECK_MSG(to != aten::ScalarType::Bool, "%s elements cannot become Bool: compare them with zero instead",
               runtime::toString(from));
  switch_real_type(from, "conversion", [&](auto from_tag) {
    using From = typename decltype(from_tag)::type;
    const auto* source = static_cast<const From*>(data);
    switch_real_type(to, "conversion", [&](auto to_tag) {
      using To = typename decltype(to_tag)::type;
      auto* target = reinterpret_cast<To*>(result.data());
      for (size_t i = 0; i < count; ++i) {
        target[i] = convert_element<To>(source[i]);
      }
    });
  });
  return result;
}

void fill_elements(void* data, aten::ScalarType type, size_t count, const aten::Scalar& value) {
  switch_real_type(type, "fill", [&](auto tag) {
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
