// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/extension/tensor/tensor_ptr_maker.h>

#include <cinttypes>
#include <cmath>
#include <limits>
#include <optional>
#include <random>
#include <type_traits>

#include <executorch/extension/tensor/scalar_type_switch.h>
#include <executorch/runtime/platform/log.h>

namespace executorch {
namespace extension {

using aten::ScalarType;
using aten::SizesType;
using aten::StridesType;
using aten::TensorShapeDynamism;

namespace {

std::mt19937_64& random_engine() {
  thread_local std::mt19937_64 engine{std::random_device{}()};
  return engine;
}

/// A tensor whose elements are the numbers that `draw(tag)` returns for the tag of their C++ type.
template <typename Draw>
TensorPtr random_strided(std::vector<SizesType> sizes, std::vector<StridesType> strides, ScalarType type,
                         TensorShapeDynamism dynamism, Draw&& draw) {
  TensorPtr tensor = empty_strided(std::move(sizes), std::move(strides), type, dynamism);
  if (tensor == nullptr) {
    return nullptr;
  }
  const bool drawn = internal::switch_real_type(type, "random tensor", [&](auto tag) {
    using T = typename decltype(tag)::type;
    using Drawn = decltype(draw(tag));
    // Half and BFloat16 are made from float. Integers are made from the widest one, because a negative fraction does
    // not convert to an unsigned type.
    using Step = std::conditional_t<std::is_integral_v<T> && !std::is_same_v<T, bool>, int64_t,
                                    std::conditional_t<std::is_arithmetic_v<T>, Drawn, float>>;
    auto* data = tensor->mutable_data_ptr<T>();
    for (ssize_t i = 0; i < tensor->numel(); ++i) {
      data[i] = static_cast<T>(static_cast<Step>(draw(tag)));
    }
  });
  return drawn ? tensor : nullptr;
}

/// A number in [0, 1) with as many binary digits as T has: with more, the largest would be rounded to 1. 0 for
/// integers.
template <typename T>
double draw_uniform() {
  constexpr int kDigits = std::is_same_v<T, aten::Half>       ? 11
                          : std::is_same_v<T, aten::BFloat16> ? 8
                          : std::is_floating_point_v<T>       ? std::numeric_limits<T>::digits
                                                              : 0;
  if constexpr (kDigits == 0) {
    return 0;
  } else {
    return std::ldexp(static_cast<double>(random_engine()() >> (64 - kDigits)), -kDigits);
  }
}

/// Whether a number is in the range of T, as PyTorch's randint requires it.
template <typename T>
bool is_in_range(int64_t number) {
  if constexpr (std::is_same_v<T, aten::Half>) {
    return number >= -65504 && number <= 65504;
  } else if constexpr (std::is_unsigned_v<T>) {
    return number >= 0 && static_cast<uint64_t>(number) <= std::numeric_limits<T>::max();
  } else if constexpr (std::is_integral_v<T>) {
    return number >= std::numeric_limits<T>::min() && number <= std::numeric_limits<T>::max();
  } else {
    return true;
  }
}

}  // namespace

TensorPtr empty_strided(std::vector<SizesType> sizes, std::vector<StridesType> strides, ScalarType type,
                        TensorShapeDynamism dynamism) {
  const std::optional<size_t> nbytes = internal::byte_count(sizes, type);
  if (!nbytes.has_value()) {
    return nullptr;
  }
  return make_tensor_ptr(std::move(sizes), std::vector<uint8_t>(*nbytes), {}, std::move(strides), type, dynamism);
}

TensorPtr full_strided(std::vector<SizesType> sizes, std::vector<StridesType> strides, aten::Scalar fill_value,
                       ScalarType type, TensorShapeDynamism dynamism) {
  TensorPtr tensor = empty_strided(std::move(sizes), std::move(strides), type, dynamism);
  if (tensor == nullptr ||
      !internal::fill_elements(tensor->mutable_data_ptr(), type, static_cast<size_t>(tensor->numel()), fill_value)) {
    return nullptr;
  }
  return tensor;
}

TensorPtr rand_strided(std::vector<SizesType> sizes, std::vector<StridesType> strides, ScalarType type,
                       TensorShapeDynamism dynamism) {
  return random_strided(std::move(sizes), std::move(strides), type, dynamism,
                        [](auto tag) { return draw_uniform<typename decltype(tag)::type>(); });
}

TensorPtr randn_strided(std::vector<SizesType> sizes, std::vector<StridesType> strides, ScalarType type,
                        TensorShapeDynamism dynamism) {
  std::normal_distribution<float> normal(0.0f, 1.0f);
  return random_strided(std::move(sizes), std::move(strides), type, dynamism,
                        [&](auto /*tag*/) { return normal(random_engine()); });
}

TensorPtr randint_strided(int64_t low, int64_t high, std::vector<SizesType> sizes, std::vector<StridesType> strides,
                          ScalarType type, TensorShapeDynamism dynamism) {
  if (low >= high) {
    ET_LOG(Error, "randint needs low < high, found %" PRId64 " and %" PRId64, low, high);
    return nullptr;
  }
  bool fits = true;
  int64_t end = low;
  const auto check = [&](auto tag) {
    using T = typename decltype(tag)::type;
    end = is_in_range<T>(low) ? high - 1 : low;
    fits = is_in_range<T>(end);
  };
  if (!internal::switch_real_type(type, "random tensor", check)) {
    return nullptr;
  }
  if (!fits) {
    ET_LOG(Error, "randint: a tensor of %s has no element %" PRId64, runtime::toString(type), end);
    return nullptr;
  }
  std::uniform_int_distribution<int64_t> uniform(low, high - 1);
  return random_strided(std::move(sizes), std::move(strides), type, dynamism,
                        [&](auto /*tag*/) { return uniform(random_engine()); });
}

}  // namespace extension
}  // namespace executorch
