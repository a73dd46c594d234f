// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/extension/tensor/tensor_ptr_maker.h>

#include <cinttypes>
#include <optional>
#include <random>

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

template <typename Distribution>
TensorPtr random_strided(std::vector<SizesType> sizes, std::vector<StridesType> strides, ScalarType type,
                         TensorShapeDynamism dynamism, Distribution&& distribution) {
  TensorPtr tensor = empty_strided(std::move(sizes), std::move(strides), type, dynamism);
  if (tensor == nullptr) {
    return nullptr;
  }
  const bool drawn = internal::switch_real_type(type, "random tensor", [&](auto tag) {
    using T = typename decltype(tag)::type;
    using Drawn = typename std::remove_reference_t<Distribution>::result_type;
    // Half and BFloat16 are made from float. Integers are made from the widest one, because a negative fraction does
    // not convert to an unsigned type.
    using Step = std::conditional_t<std::is_integral_v<T> && !std::is_same_v<T, bool>, int64_t,
                                    std::conditional_t<std::is_arithmetic_v<T>, Drawn, float>>;
    auto* data = tensor->mutable_data_ptr<T>();
    for (ssize_t i = 0; i < tensor->numel(); ++i) {
      data[i] = static_cast<T>(static_cast<Step>(distribution(random_engine())));
    }
  });
  return drawn ? tensor : nullptr;
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
                        std::uniform_real_distribution<float>(0.0f, 1.0f));
}

TensorPtr randn_strided(std::vector<SizesType> sizes, std::vector<StridesType> strides, ScalarType type,
                        TensorShapeDynamism dynamism) {
  return random_strided(std::move(sizes), std::move(strides), type, dynamism,
                        std::normal_distribution<float>(0.0f, 1.0f));
}

TensorPtr randint_strided(int64_t low, int64_t high, std::vector<SizesType> sizes, std::vector<StridesType> strides,
                          ScalarType type, TensorShapeDynamism dynamism) {
  if (low >= high) {
    ET_LOG(Error, "randint needs low < high, found %" PRId64 " and %" PRId64, low, high);
    return nullptr;
  }
  return random_strided(std::move(sizes), std::move(strides), type, dynamism,
                        std::uniform_int_distribution<int64_t>(low, high - 1));
}

}  // namespace extension
}  // namespace executorch
