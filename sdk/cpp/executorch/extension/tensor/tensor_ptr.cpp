// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/extension/tensor/tensor_ptr.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <optional>

#include <executorch/runtime/core/device_allocator.h>
#include <executorch/runtime/core/device_memory_buffer.h>
#include <executorch/runtime/core/exec_aten/util/tensor_util.h>
#include <executorch/runtime/platform/assert.h>
#include <executorch/runtime/platform/log.h>

namespace executorch {
namespace extension {

using aten::DimOrderType;
using aten::ScalarType;
using aten::SizesType;
using aten::StridesType;
using aten::TensorShapeDynamism;

namespace {

// A tensor with everything it points to. A TensorPtr points to `tensor` and shares the ownership of the whole.
struct Storage final {
  Storage(ScalarType type, void* data, TensorShapeDynamism dynamism, std::vector<SizesType>&& sizes,
          std::vector<DimOrderType>&& dim_order, std::vector<StridesType>&& strides,
          std::function<void(void*)>&& deleter, aten::Device device)
      : sizes(std::move(sizes)),
        dim_order(std::move(dim_order)),
        strides(std::move(strides)),
        data(data),
        deleter(std::move(deleter)),
        impl(type, static_cast<ssize_t>(this->sizes.size()), this->sizes.data(), data, this->dim_order.data(),
             this->strides.data(), dynamism, device.type(), device.index()),
        tensor(&impl) {}

  ~Storage() {
    if (deleter) {
      deleter(data);
    }
  }

  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;

  std::vector<SizesType> sizes;
  std::vector<DimOrderType> dim_order;
  std::vector<StridesType> strides;
  void* data;  // what the deleter is owed, even if the tensor was pointed elsewhere
  std::function<void(void*)> deleter;
  aten::TensorImpl impl;
  aten::Tensor tensor;
};

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
    // The step of a dimension with one index is never taken.
    ET_CHECK_MSG(strides[i] == expected[i] || sizes[i] <= 1,
                 "stride %zu is %d, a dense tensor of these sizes and this dim order has %d there", i,
                 static_cast<int>(strides[i]), static_cast<int>(expected[i]));
  }
  auto storage = std::make_shared<Storage>(type, data, dynamism, std::move(sizes), std::move(dim_order),
                                           std::move(expected), std::move(deleter), device);
  aten::Tensor* const tensor = &storage->tensor;
  return TensorPtr(std::move(storage), tensor);
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
    // The memory layout is the tensor's too, unless another one is asked for.
    if (dim_order.empty() && strides.empty()) {
      dim_order.assign(tensor.dim_order().begin(), tensor.dim_order().end());
    }
  }
  const size_t count = checked_element_count(sizes);
  ET_CHECK_MSG(count <= static_cast<size_t>(tensor.numel()), "the view needs %zu elements, the tensor holds %zu", count,
               static_cast<size_t>(tensor.numel()));
  return make_tensor_ptr(std::move(sizes), tensor.mutable_data_ptr(), std::move(dim_order), std::move(strides),
                         tensor.scalar_type(), tensor.shape_dynamism(), std::move(deleter), tensor.device());
}

TensorPtr clone_tensor_ptr(const aten::Tensor& tensor, ScalarType type) {
  ET_CHECK_MSG(tensor.device_type() == aten::DeviceType::CPU, "only tensors in CPU memory can be cloned");
  std::vector<SizesType> sizes(tensor.sizes().begin(), tensor.sizes().end());
  std::vector<DimOrderType> dim_order(tensor.dim_order().begin(), tensor.dim_order().end());
  if (tensor.const_data_ptr() == nullptr) {
    return make_tensor_ptr(std::move(sizes), nullptr, std::move(dim_order), {}, type, tensor.shape_dynamism());
  }
  std::vector<uint8_t> data;
  if (type == tensor.scalar_type()) {  // copies dtypes that cannot be converted, too
    const auto* bytes = static_cast<const uint8_t*>(tensor.const_data_ptr());
    data.assign(bytes, bytes + tensor.nbytes());
  } else {
    data = internal::convert_elements(tensor.const_data_ptr(), tensor.scalar_type(),
                                      static_cast<size_t>(tensor.numel()), type);
  }
  return make_tensor_ptr(std::move(sizes), std::move(data), std::move(dim_order), {}, type, tensor.shape_dynamism());
}

runtime::Error resize_tensor_ptr(TensorPtr& tensor, const std::vector<SizesType>& sizes) {
  ET_CHECK_OR_RETURN_ERROR(tensor != nullptr, InvalidArgument, "expected a tensor, found a null pointer");
  return runtime::resize_tensor(*tensor, aten::ArrayRef<SizesType>(sizes.data(), sizes.size()));
}

namespace {

/// The elements of a tensor in memory of the CPU; empty, after a log line, when they cannot be had.
std::optional<std::vector<uint8_t>> read_elements(const aten::Tensor& tensor) {
  std::vector<uint8_t> data(tensor.nbytes());
  if (tensor.device().is_cpu()) {
    const auto* bytes = static_cast<const uint8_t*>(tensor.const_data_ptr());
    std::copy(bytes, bytes + data.size(), data.begin());
    return data;
  }
  runtime::DeviceAllocator* allocator = runtime::get_device_allocator(tensor.device_type());
  if (allocator == nullptr || allocator->copy_device_to_host(data.data(), tensor.const_data_ptr(), data.size(),
                                                             tensor.device_index()) != runtime::Error::Ok) {
    ET_LOG(Error, "%zu bytes of device type %d %s", data.size(), static_cast<int>(tensor.device_type()),
           allocator == nullptr ? "cannot be read: it has no allocator" : "could not be copied to the CPU");
    return std::nullopt;
  }
  return data;
}

}  // namespace

TensorPtr clone_tensor_ptr_to(const TensorPtr& tensor, aten::Device target) {
  if (tensor == nullptr || tensor->const_data_ptr() == nullptr) {
    ET_LOG(Error, "expected a tensor with data to copy, found %s", tensor == nullptr ? "a null pointer" : "no data");
    return nullptr;
  }
  auto data = read_elements(*tensor);
  if (!data.has_value()) {
    return nullptr;
  }
  std::vector<SizesType> sizes(tensor->sizes().begin(), tensor->sizes().end());
  std::vector<DimOrderType> dim_order(tensor->dim_order().begin(), tensor->dim_order().end());
  if (target.is_cpu()) {
    return make_tensor_ptr(std::move(sizes), std::move(*data), std::move(dim_order), {}, tensor->scalar_type(),
                           tensor->shape_dynamism());
  }
  auto memory = runtime::DeviceMemoryBuffer::create(data->size(), target.type(), target.index());
  if (!memory.ok()) {
    return nullptr;  // what was missing has been said
  }
  const auto owner = std::make_shared<runtime::DeviceMemoryBuffer>(std::move(*memory));
  runtime::DeviceAllocator* allocator = runtime::get_device_allocator(target.type());
  if (allocator->copy_host_to_device(owner->data(), data->data(), data->size(), target.index()) != runtime::Error::Ok) {
    ET_LOG(Error, "%zu bytes could not be copied to device type %d", data->size(), static_cast<int>(target.type()));
    return nullptr;
  }
  return make_tensor_ptr(
      std::move(sizes), owner->data(), std::move(dim_order), {}, tensor->scalar_type(), tensor->shape_dynamism(),
      [owner](void*) {}, target);
}

}  // namespace extension
}  // namespace executorch
