// SPDX-License-Identifier: BSD-3-Clause
// Makes the tensor of a value of a program, without data. Part of tensor_parser.cpp, which calls these functions in
// only one place, so that they are ET_INLINE.
#pragma once

#include <algorithm>
#include <cstring>
#include <new>

#include <executorch/runtime/core/exec_aten/util/dim_order_util.h>
#include <executorch/runtime/core/exec_aten/util/scalar_type_util.h>
#include <executorch/runtime/core/exec_aten/util/tensor_access.h>
#include <executorch/runtime/core/memory_allocator.h>
#include <executorch/runtime/executor/program_check.h>
#include <executorch/schema/program_generated.h>

namespace executorch {
namespace runtime {
namespace deserialization {
namespace internal {

using ::executorch::runtime::internal::size_of;

/// Reduces sizes until a tensor with these sizes can be addressed. Only the upper bounds of an input that the
/// application owns may be larger; such an input can have as many elements as fit the address space.
ET_INLINE void limit_sizes(const executorch_flatbuffer::Tensor& tensor, uint32_t dim, aten::SizesType* sizes) {
  if constexpr (!::executorch::runtime::internal::kBoundsMayOverflow) {
    return;
  }
  const size_t limit =
      static_cast<size_t>(PTRDIFF_MAX) / elementSize(static_cast<aten::ScalarType>(tensor.scalar_type()));
  size_t elements = 1;
  for (uint32_t i = dim; i-- > 0;) {  // from the innermost dimension on
    // The number of elements inside of a dimension is its stride, which has 32 bits.
    const size_t most = i == 0 ? limit : std::min<size_t>(limit, INT32_MAX);
    aten::SizesType& size = sizes[tensor.dim_order()->Get(i)];
    if (size > 0) {
      size = static_cast<aten::SizesType>(std::min<size_t>(static_cast<size_t>(size), most / elements));
      elements *= static_cast<size_t>(size);
    }
  }
}

#ifdef USE_ATEN_LIB

/// A tensor with the layout of `tensor`, which was validated, and no data. Errors: NotSupported for other devices than
/// the CPU.
ET_INLINE Result<aten::Tensor> make_tensor(const executorch_flatbuffer::Tensor& tensor,
                                           MemoryAllocator* /*allocator*/) {
  const auto* extra = tensor.extra_tensor_info();
  ET_CHECK_OR_RETURN_ERROR(extra == nullptr || extra->device_type() == executorch_flatbuffer::DeviceType::CPU,
                           NotSupported, "A tensor is in memory of device type %d; at::Tensor is supported on the CPU",
                           static_cast<int>(extra->device_type()));
  const uint32_t dim = size_of(tensor.sizes());
  aten::SizesType sizes[kTensorDimensionLimit];
  aten::StridesType strides[kTensorDimensionLimit];
  for (uint32_t i = 0; i < dim; ++i) {
    sizes[i] = tensor.sizes()->Get(i);
  }
  if (dim > 0) {
    limit_sizes(tensor, dim, sizes);
    dim_order_to_stride_nocheck(sizes, tensor.dim_order()->data(), dim, strides);
  }
  return ::executorch::runtime::internal::make_tensor({sizes, dim}, {strides, dim},
                                                      static_cast<aten::ScalarType>(tensor.scalar_type()),
                                                      static_cast<TensorShapeDynamism>(tensor.shape_dynamism()),
                                                      ::c10::DataPtr(nullptr, aten::Device(aten::DeviceType::CPU)), 0);
}

#else

/// The shape arrays of a tensor whose layout was validated. The sizes and dim order of a static tensor stay in the
/// program, because no one writes to them.
struct Shape {
  aten::SizesType* sizes;
  aten::DimOrderType* dim_order;
  aten::StridesType* strides;
};

ET_INLINE Result<Shape> make_shape(const executorch_flatbuffer::Tensor& tensor, MemoryAllocator* allocator) {
  const uint32_t dim = size_of(tensor.sizes());
  Shape shape{nullptr, nullptr, nullptr};
  if (dim == 0) {
    return shape;
  }
  shape.sizes = const_cast<int32_t*>(tensor.sizes()->data());
  shape.dim_order = const_cast<uint8_t*>(tensor.dim_order()->data());
  if (tensor.shape_dynamism() != executorch_flatbuffer::TensorShapeDynamism::STATIC) {
    auto* sizes = allocator->allocateList<aten::SizesType>(dim);
    auto* dim_order = allocator->allocateList<aten::DimOrderType>(dim);
    if (sizes == nullptr || dim_order == nullptr) {
      return Error::MemoryAllocationFailed;
    }
    std::memcpy(sizes, shape.sizes, dim * sizeof(*sizes));
    std::memcpy(dim_order, shape.dim_order, dim * sizeof(*dim_order));
    limit_sizes(tensor, dim, sizes);
    shape.sizes = sizes;
    shape.dim_order = dim_order;
  }
  shape.strides = allocator->allocateList<aten::StridesType>(dim);
  if (shape.strides == nullptr) {
    return Error::MemoryAllocationFailed;
  }
  dim_order_to_stride_nocheck(shape.sizes, shape.dim_order, dim, shape.strides);
  return shape;
}

/// A tensor with the layout of `tensor`, which was validated, and no data. Errors: MemoryAllocationFailed.
ET_INLINE Result<aten::Tensor> make_tensor(const executorch_flatbuffer::Tensor& tensor, MemoryAllocator* allocator) {
  ET_ASSIGN_OR_RETURN(shape, make_shape(tensor, allocator));
  auto* memory = allocator->allocateInstance<aten::TensorImpl>();
  if (memory == nullptr) {
    return Error::MemoryAllocationFailed;
  }
  const auto* extra = tensor.extra_tensor_info();
  return aten::Tensor(new (memory) aten::TensorImpl(
      static_cast<aten::ScalarType>(tensor.scalar_type()), static_cast<ssize_t>(size_of(tensor.sizes())), shape.sizes,
      nullptr, shape.dim_order, shape.strides, static_cast<TensorShapeDynamism>(tensor.shape_dynamism()),
      extra == nullptr ? etensor::DeviceType::CPU : static_cast<etensor::DeviceType>(extra->device_type()),
      extra == nullptr ? etensor::DeviceIndex{0} : extra->device_index()));
}

#endif

}  // namespace internal
}  // namespace deserialization
}  // namespace runtime
}  // namespace executorch
