// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/extension/tensor/tensor_ptr.h>

#include <algorithm>
#include <numeric>
#include <optional>

#include <executorch/extension/tensor/tensor_storage.h>
#include <executorch/runtime/core/exec_aten/util/dim_order_util.h>
#include <executorch/runtime/core/exec_aten/util/tensor_access.h>
#include <executorch/runtime/core/exec_aten/util/tensor_dimension_limit.h>
#include <executorch/runtime/core/exec_aten/util/tensor_util.h>
#include <executorch/runtime/platform/log.h>

namespace executorch {
namespace extension {

using aten::DimOrderType;
using aten::ScalarType;
using aten::SizesType;
using aten::StridesType;
using aten::TensorShapeDynamism;

// Returns `value` from the function, after a log line, unless the condition holds.
#define ET_CHECK_OR_RETURN_VALUE(condition, value, ...) \
  do {                                                  \
    if (ET_UNLIKELY(!(condition))) {                    \
      ET_LOG(Error, __VA_ARGS__);                       \
      return value;                                     \
    }                                                   \
  } while (0)

namespace {

// The number of elements. nullopt (logged) for invalid sizes, or if the bytes of a large dtype overflow.
std::optional<size_t> element_count(const std::vector<SizesType>& sizes) {
  ET_CHECK_OR_RETURN_VALUE(sizes.size() <= runtime::kTensorDimensionLimit, std::nullopt,
                           "a tensor has at most %zu dimensions, found %zu", runtime::kTensorDimensionLimit,
                           sizes.size());
  constexpr size_t kLargestElement = 16;
  size_t bytes = kLargestElement;
  for (const SizesType size : sizes) {
    ET_CHECK_OR_RETURN_VALUE(size >= 0, std::nullopt, "a tensor cannot have the negative size %d",
                             static_cast<int>(size));
    ET_CHECK_OR_RETURN_VALUE(!__builtin_mul_overflow(bytes, static_cast<size_t>(size), &bytes), std::nullopt,
                             "the tensor's number of elements overflows");
  }
  return bytes / kLargestElement;
}

// From the dimension with the largest step to that with the smallest; ties keep their order.
std::vector<DimOrderType> dim_order_of_strides(const std::vector<StridesType>& strides) {
  std::vector<DimOrderType> dim_order(strides.size());
  std::iota(dim_order.begin(), dim_order.end(), 0);
  std::sort(dim_order.begin(), dim_order.end(),
            [&](DimOrderType a, DimOrderType b) { return strides[a] != strides[b] ? strides[a] > strides[b] : a < b; });
  return dim_order;
}

bool is_permutation(const std::vector<DimOrderType>& dim_order, size_t rank) {
  ET_CHECK_OR_RETURN_VALUE(dim_order.size() == rank, false, "expected a dim order of %zu dimensions, found %zu", rank,
                           dim_order.size());
  std::vector<bool> seen(rank, false);
  for (const DimOrderType dim : dim_order) {
    ET_CHECK_OR_RETURN_VALUE(dim < rank && !seen[dim], false, "a dim order lists every dimension from 0 to %zu once",
                             rank - 1);
    seen[dim] = true;
  }
  return true;
}

}  // namespace

TensorPtr make_tensor_ptr(std::vector<SizesType> sizes, void* data, std::vector<DimOrderType> dim_order,
                          std::vector<StridesType> strides, const ScalarType type, const TensorShapeDynamism dynamism,
                          std::function<void(void*)> deleter, aten::Device device) {
  const size_t rank = sizes.size();
  ET_CHECK_OR_RETURN_VALUE(runtime::isValid(type), nullptr, "%d is not a dtype", static_cast<int>(type));
  if (!element_count(sizes).has_value()) {
    return nullptr;
  }
  if (dim_order.empty() && rank > 0) {
    if (strides.empty()) {
      dim_order.resize(rank);
      std::iota(dim_order.begin(), dim_order.end(), 0);
    } else {
      ET_CHECK_OR_RETURN_VALUE(strides.size() == rank, nullptr, "expected %zu strides, found %zu", rank,
                               strides.size());
      dim_order = dim_order_of_strides(strides);
    }
  }
  if (!is_permutation(dim_order, rank)) {
    return nullptr;
  }
  std::vector<StridesType> expected(rank);
  if (runtime::dim_order_to_stride(sizes.data(), dim_order.data(), rank, expected.data()) != runtime::Error::Ok) {
    return nullptr;
  }
  ET_CHECK_OR_RETURN_VALUE(strides.empty() || strides.size() == rank, nullptr, "expected %zu strides, found %zu", rank,
                           strides.size());
  for (size_t i = 0; i < strides.size(); ++i) {
    // The stride of a dimension of size 1 is never used.
    ET_CHECK_OR_RETURN_VALUE(strides[i] == expected[i] || sizes[i] <= 1, nullptr,
                             "stride %zu is %d, a dense tensor of these sizes and this dim order has %d there", i,
                             static_cast<int>(strides[i]), static_cast<int>(expected[i]));
  }
  return internal::make_tensor_with_storage({std::move(sizes), std::move(dim_order), std::move(expected)}, data, type,
                                            dynamism, std::move(deleter), device);
}

TensorPtr make_tensor_ptr(std::vector<SizesType> sizes, std::vector<uint8_t> data, std::vector<DimOrderType> dim_order,
                          std::vector<StridesType> strides, ScalarType type, TensorShapeDynamism dynamism) {
  const std::optional<size_t> needed = internal::byte_count(sizes, type);
  if (!needed.has_value()) {
    return nullptr;
  }
  ET_CHECK_OR_RETURN_VALUE(data.size() >= *needed, nullptr, "a tensor of these sizes holds %zu bytes, found %zu",
                           *needed, data.size());
  auto owner = std::make_shared<std::vector<uint8_t>>(std::move(data));
  void* const raw_data = owner->data();
  return make_tensor_ptr(std::move(sizes), raw_data, std::move(dim_order), std::move(strides), type, dynamism,
                         [owner](void*) {});
}

namespace internal {

std::optional<size_t> byte_count(const std::vector<SizesType>& sizes, ScalarType type) {
  ET_CHECK_OR_RETURN_VALUE(runtime::isValid(type), std::nullopt, "%d is not a dtype", static_cast<int>(type));
  const std::optional<size_t> count = element_count(sizes);
  if (!count.has_value()) {
    return std::nullopt;
  }
  return *count * runtime::elementSize(type);
}

bool check_element_count(const std::vector<SizesType>& sizes, size_t count) {
  const std::optional<size_t> needed = element_count(sizes);
  if (!needed.has_value()) {
    return false;
  }
  ET_CHECK_OR_RETURN_VALUE(count == *needed, false, "a tensor of these sizes holds %zu elements, found %zu", *needed,
                           count);
  return true;
}

bool check_not_null(const TensorPtr& tensor) {
  ET_CHECK_OR_RETURN_VALUE(tensor != nullptr, false,
                           "expected a tensor, found a null pointer: the call that made it has failed");
  return true;
}

TensorPtr make_converted_tensor_ptr(std::vector<SizesType> sizes, const void* data, ScalarType from, size_t count,
                                    std::vector<DimOrderType> dim_order, std::vector<StridesType> strides,
                                    ScalarType type, TensorShapeDynamism dynamism) {
  if (!check_element_count(sizes, count)) {
    return nullptr;
  }
  std::optional<std::vector<uint8_t>> converted = convert_elements(data, from, count, type);
  if (!converted.has_value()) {
    return nullptr;
  }
  return make_tensor_ptr(std::move(sizes), std::move(*converted), std::move(dim_order), std::move(strides), type,
                         dynamism);
}

}  // namespace internal

TensorPtr make_tensor_ptr(const aten::Tensor& tensor, std::vector<SizesType> sizes, std::vector<DimOrderType> dim_order,
                          std::vector<StridesType> strides, std::function<void(void*)> deleter) {
  if (sizes.empty()) {
    sizes.assign(tensor.sizes().begin(), tensor.sizes().end());
  }
  // The dim order stays, unless another one is given or the rank changes.
  if (dim_order.empty() && strides.empty() && sizes.size() == static_cast<size_t>(tensor.dim())) {
    const auto order = runtime::internal::dim_order_of(tensor);
    dim_order.assign(order.begin(), order.end());
  }
  const std::optional<size_t> count = element_count(sizes);
  if (!count.has_value()) {
    return nullptr;
  }
  ET_CHECK_OR_RETURN_VALUE(*count <= static_cast<size_t>(tensor.numel()), nullptr,
                           "the view needs %zu elements, the tensor holds %zu", *count,
                           static_cast<size_t>(tensor.numel()));
  return make_tensor_ptr(std::move(sizes), tensor.mutable_data_ptr(), std::move(dim_order), std::move(strides),
                         tensor.scalar_type(), runtime::internal::shape_dynamism_of(tensor), std::move(deleter),
                         tensor.device());
}

TensorPtr clone_tensor_ptr(const aten::Tensor& tensor, ScalarType type) {
  ET_CHECK_OR_RETURN_VALUE(tensor.device().is_cpu(), nullptr,
                           "only tensors in CPU memory can be cloned: clone_tensor_ptr_to() copies from devices");
  ET_CHECK_OR_RETURN_VALUE(runtime::internal::is_dense_on_cpu(tensor), nullptr,
                           "only tensors that are dense in memory can be cloned");
  std::vector<SizesType> sizes(tensor.sizes().begin(), tensor.sizes().end());
  const auto order = runtime::internal::dim_order_of(tensor);
  std::vector<DimOrderType> dim_order(order.begin(), order.end());
  if (tensor.const_data_ptr() == nullptr) {
    return make_tensor_ptr(std::move(sizes), nullptr, std::move(dim_order), {}, type,
                           runtime::internal::shape_dynamism_of(tensor));
  }
  std::vector<uint8_t> data;
  if (type == tensor.scalar_type()) {  // copies dtypes that cannot be converted, too
    const auto* bytes = static_cast<const uint8_t*>(tensor.const_data_ptr());
    data.assign(bytes, bytes + tensor.nbytes());
  } else {
    auto converted = internal::convert_elements(tensor.const_data_ptr(), tensor.scalar_type(),
                                                static_cast<size_t>(tensor.numel()), type);
    if (!converted.has_value()) {
      return nullptr;
    }
    data = std::move(*converted);
  }
  return make_tensor_ptr(std::move(sizes), std::move(data), std::move(dim_order), {}, type,
                         runtime::internal::shape_dynamism_of(tensor));
}

runtime::Error resize_tensor_ptr(TensorPtr& tensor, const std::vector<SizesType>& sizes) {
  ET_CHECK_OR_RETURN_ERROR(tensor != nullptr, InvalidArgument, "expected a tensor, found a null pointer");
  return runtime::resize_tensor(*tensor, aten::ArrayRef<SizesType>(sizes.data(), sizes.size()));
}

}  // namespace extension
}  // namespace executorch
