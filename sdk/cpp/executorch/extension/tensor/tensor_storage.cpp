// SPDX-License-Identifier: BSD-3-Clause
// Storage of portable tensors with their metadata, and copies to memory of devices.
#include <executorch/extension/tensor/tensor_storage.h>

#include <algorithm>
#include <optional>

#include <executorch/runtime/core/device_allocator.h>
#include <executorch/runtime/core/device_memory_buffer.h>
#include <executorch/runtime/platform/log.h>

namespace executorch {
namespace extension {

namespace {

// A tensor with everything it points to. A TensorPtr points to `tensor` and shares the ownership of the whole.
struct Storage final {
  Storage(internal::TensorShape&& tensor_shape, void* data, aten::ScalarType type, aten::TensorShapeDynamism dynamism,
          std::function<void(void*)>&& deleter, aten::Device device)
      : shape(std::move(tensor_shape)),
        data(data),
        deleter(std::move(deleter)),
        impl(type, static_cast<ssize_t>(shape.sizes.size()), shape.sizes.data(), data, shape.dim_order.data(),
             shape.strides.data(), dynamism, device.type(), device.index()),
        tensor(&impl) {}

  ~Storage() {
    if (deleter) {
      deleter(data);
    }
  }

  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;

  internal::TensorShape shape;
  void* data;  // argument of the deleter, even if the tensor's pointer was changed
  std::function<void(void*)> deleter;
  aten::TensorImpl impl;
  aten::Tensor tensor;
};

/// A copy of a tensor's elements in memory of the CPU; empty, after a log line, if its device cannot be read.
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

namespace internal {

TensorPtr make_tensor_with_storage(TensorShape&& shape, void* data, aten::ScalarType type,
                                   aten::TensorShapeDynamism dynamism, std::function<void(void*)>&& deleter,
                                   aten::Device device) {
  auto storage = std::make_shared<Storage>(std::move(shape), data, type, dynamism, std::move(deleter), device);
  aten::Tensor* const tensor = &storage->tensor;
  return TensorPtr(std::move(storage), tensor);
}

}  // namespace internal

TensorPtr clone_tensor_ptr_to(const TensorPtr& tensor, aten::Device target) {
  if (tensor == nullptr || (tensor->const_data_ptr() == nullptr && tensor->nbytes() > 0)) {
    ET_LOG(Error, "expected a tensor with data to copy, found %s", tensor == nullptr ? "a null pointer" : "no data");
    return nullptr;
  }
  auto data = read_elements(*tensor);
  if (!data.has_value()) {
    return nullptr;
  }
  std::vector<aten::SizesType> sizes(tensor->sizes().begin(), tensor->sizes().end());
  std::vector<aten::DimOrderType> dim_order(tensor->dim_order().begin(), tensor->dim_order().end());
  if (data->empty()) {  // allocators of devices have no memory of 0 bytes
    return make_tensor_ptr(std::move(sizes), nullptr, std::move(dim_order), {}, tensor->scalar_type(),
                           tensor->shape_dynamism(), {}, target);
  }
  if (target.is_cpu()) {
    return make_tensor_ptr(std::move(sizes), std::move(*data), std::move(dim_order), {}, tensor->scalar_type(),
                           tensor->shape_dynamism());
  }
  auto memory = runtime::DeviceMemoryBuffer::create(data->size(), target.type(), target.index());
  if (!memory.ok()) {
    return nullptr;  // the reason has been logged
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
