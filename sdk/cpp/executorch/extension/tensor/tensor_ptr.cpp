// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/extension/tensor/tensor_ptr.h>

#include <algorithm>
#include <numeric>

#include <executorch/extension/tensor/tensor_storage.h>
#include <executorch/runtime/core/exec_aten/util/tensor_access.h>
#include <executorch/runtime/core/exec_aten/util/tensor_util.h>
#include <executorch/runtime/platform/assert.h>

namespace executorch {
namespace extension {

using aten::DimOrderType;
using aten::ScalarType;
using aten::SizesType;
using aten::StridesType;
using aten::TensorShapeDynamism;

namespace {

size_t checked_element_count(const std::vector<SizesType>& sizes) {
  size_t count = 1;
  for (const SizesType size : sizes) {
    ET_CHECK_MSG(size >= 0, "a tensor cannot have the negative size %d", static_cast<int>(size));
    ET_CHECK_MSG(!__builtin_mul_overflow(count, static_cast<size_t>(size), &count),
                 "the tensor's number of elements overflows");
  }
  return count;
}

// From the dimension with the largest step to that with the smallest; ties keep their order.
std::vector<DimOrderType> dim_order_of_strides(const std::vector<StridesType>& strides) {
  std::vector<DimOrderType> dim_order(strides.size());
  std::iota(dim_order.begin(), dim_order.end(), 0);
  std::sort(dim_order.begin(), dim_order.end(),
            [&](DimOrderType a, DimOrderType b) { return strides[a] != strides[b] ? strides[a] > strides[b] : a < b; });
  return dim_order;
}

void check_is_permutation(const std::vector<DimOrderType>& dim_order, size_t rank) {
  ET_CHECK_MSG(dim_order.size() == rank, "expected a dim order of %zu dimensions, found %zu", rank, dim_order.size());
  std::vector<bool> seen(rank, false);
  for (const DimOrderType dim : dim_order) {
    ET_CHECK_MSG(dim < rank && !seen[dim], "a dim order lists every dimension from 0 to %zu once", rank - 1);
    seen[dim] = true;
  }
}

std::vector<StridesType> dense_strides(const std::vector<SizesType>& sizes,
                                       const std::vector<DimOrderType>& dim_order) {
  std::vector<StridesType> strides(sizes.size());
  int64_t step = 1;
  for (size_t i = dim_order.size(); i-- > 0;) {
    strides[dim_order[i]] = static_cast<StridesType>(step);
    step *= std::max<SizesType>(sizes[dim_order[i]], 1);
  }
  return strides;
}

}  // namespace

TensorPtr make_tensor_ptr(std::vector<SizesType> sizes, void* data, std::vector<DimOrderType> dim_order,
                          std::vector<StridesType> strides, const ScalarType type, const TensorShapeDynamism dynamism,
                          std::function<void(void*)> deleter, aten::Device device) {
  const size_t rank = sizes.size();
  (void)checked_element_count(sizes);
  if (dim_order.empty() && rank > 0) {
    if (strides.empty()) {
      dim_order.resize(rank);
      std::iota(dim_order.begin(), dim_order.end(), 0);
    } else {
      dim_order = dim_order_of_strides(strides);
    }
  }
  check_is_permutation(dim_order, rank);
  std::vector<StridesType> expected = dense_strides(sizes, dim_order);
  ET_CHECK_MSG(strides.empty() || strides.size() == rank, "expected %zu strides, found %zu", rank, strides.size());
  for (size_t i = 0; i < strides.size(); ++i) {
    // The stride of a dimension of size 1 is never used.
    ET_CHECK_MSG(strides[i] == expected[i] || sizes[i] <= 1,
                 "stride %zu is %d, a dense tensor of these sizes and this dim order has %d there", i,
                 static_cast<int>(strides[i]), static_cast<int>(expected[i]));
  }
  return internal::make_tensor_with_storage({std::move(sizes), std::move(dim_order), std::move(expected)}, data, type,
                                            dynamism, std::move(deleter), device);
}

TensorPtr make_tensor_ptr(std::vector<SizesType> sizes, std::vector<uint8_t> data, std::vector<DimOrderType> dim_order,
                          std::vector<StridesType> strides, ScalarType type, TensorShapeDynamism dynamism) {
  const size_t needed = checked_element_count(sizes) * runtime::elementSize(type);
  ET_CHECK_MSG(data.size() >= needed, "a tensor of these sizes holds %zu bytes, found %zu", needed, data.size());
  auto owner = std::make_shared<std::vector<uint8_t>>(std::move(data));
  void* const raw_data = owner->data();
  return make_tensor_ptr(std::move(sizes), raw_data, std::move(dim_order), std::move(strides), type, dynamism,
                         [owner](void*) {});
}

namespace internal {

void check_element_count(const std::vector<SizesType>& sizes, size_t count) {
  const size_t needed = checked_element_count(sizes);
  ET_CHECK_MSG(count == needed, "a tensor of these sizes holds %zu elements, found %zu", needed, count);
}

TensorPtr make_converted_tensor_ptr(std::vector<SizesType> sizes, const void* data, ScalarType from, size_t count,
                                    std::vector<DimOrderType> dim_order, std::vector<StridesType> strides,
                                    ScalarType type, TensorShapeDynamism dynamism) {
  check_element_count(sizes, count);
  return make_tensor_ptr(std::move(sizes), convert_elements(data, from, count, type), std::move(dim_order),
                         std::move(strides), type, dynamism);
}

}  // namespace internal

TensorPtr make_tensor_ptr(const aten::Tensor& tensor, std::vector<SizesType> sizes, std::vector<DimOrderType> dim_order,
                          std::vector<StridesType> strides, std::function<void(void*)> deleter) {
  if (sizes.empty()) {
    sizes.assign(tensor.sizes().begin(), tensor.sizes().end());
  }
  // Dimensions keep their places in memory, unless others are asked for or their number changes.
  if (dim_order.empty() && strides.empty() && sizes.size() == static_cast<size_t>(tensor.dim())) {
    const auto order = runtime::internal::dim_order_of(tensor);
    dim_order.assign(order.begin(), order.end());
  }
  const size_t count = checked_element_count(sizes);
  ET_CHECK_MSG(count <= static_cast<size_t>(tensor.numel()), "the view needs %zu elements, the tensor holds %zu", count,
               static_cast<size_t>(tensor.numel()));
  return make_tensor_ptr(std::move(sizes), tensor.mutable_data_ptr(), std::move(dim_order), std::move(strides),
                         tensor.scalar_type(), runtime::internal::shape_dynamism_of(tensor), std::move(deleter),
                         tensor.device());
}

TensorPtr clone_tensor_ptr(const aten::Tensor& tensor, ScalarType type) {
  ET_CHECK_MSG(tensor.device().is_cpu(), "only tensors in CPU memory can be cloned");
  ET_CHECK_MSG(runtime::internal::is_dense_on_cpu(tensor),
               "only tensors whose elements follow each other can be cloned");
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
    data = internal::convert_elements(tensor.const_data_ptr(), tensor.scalar_type(),
                                      static_cast<size_t>(tensor.numel()), type);
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
