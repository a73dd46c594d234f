// SPDX-License-Identifier: BSD-3-Clause
// tensor_storage.h for at::Tensor, which owns its memory itself.
#include <executorch/extension/tensor/tensor_storage.h>

#include <c10/core/Allocator.h>
#include <c10/util/Exception.h>

#include <executorch/runtime/core/exec_aten/util/tensor_access.h>
#include <executorch/runtime/platform/log.h>

namespace executorch {
namespace extension {
namespace internal {

TensorPtr make_tensor_with_storage(TensorShape&& shape, void* data, aten::ScalarType type,
                                   aten::TensorShapeDynamism dynamism, std::function<void(void*)>&& deleter,
                                   aten::Device device) {
  if (!device.is_cpu()) {
    ET_LOG(Error, "memory of the CPU can be made a tensor; use PyTorch's functions for other devices");
    return nullptr;
  }
  size_t nbytes = runtime::elementSize(type);
  for (const aten::SizesType size : shape.sizes) {
    nbytes *= static_cast<size_t>(size);
  }
  ::c10::DataPtr memory(data, device);
  if (deleter) {
    // The deleter gets the original data, also if it is null or the tensor's pointer was changed.
    struct Owner {
      void* data;
      std::function<void(void*)> deleter;
    };
    memory = ::c10::DataPtr(
        data, new Owner{data, std::move(deleter)},
        [](void* context) {
          auto* owner = static_cast<Owner*>(context);
          owner->deleter(owner->data);
          delete owner;
        },
        device);
  }
  return std::make_shared<aten::Tensor>(
      runtime::internal::make_tensor(shape.sizes, shape.strides, type, dynamism, std::move(memory), nbytes));
}

}  // namespace internal

TensorPtr clone_tensor_ptr_to(const TensorPtr& tensor, aten::Device target) {
  if (tensor == nullptr || (tensor->const_data_ptr() == nullptr && tensor->nbytes() > 0)) {
    ET_LOG(Error, "expected a tensor with data to copy, found %s", tensor == nullptr ? "a null pointer" : "no data");
    return nullptr;
  }
  try {
    return std::make_shared<aten::Tensor>(tensor->to(target, tensor->scalar_type(), false, /*copy=*/true));
  } catch (const ::c10::Error& error) {
    ET_LOG(Error, "a tensor could not be copied: %s", error.what_without_backtrace());
    return nullptr;
  }
}

}  // namespace extension
}  // namespace executorch
