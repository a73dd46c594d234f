// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file
 * A temporary tensor for a custom kernel.
 */
#pragma once

#include <algorithm>
#include <limits>
#include <new>

#include <executorch/runtime/kernel/kernel_includes.h>

namespace torch {
namespace executor {

#ifndef USE_ATEN_LIB
/**
 * A tensor in the temporary memory of the context, which is valid until the kernel returns. Its elements have no values
 * yet. Aborts if the memory is full or the lists have different lengths.
 */
inline Tensor allocate_tensor(KernelRuntimeContext& ctx,
                              const ::executorch::aten::ArrayRef<::executorch::aten::SizesType>& sizes,
                              const ::executorch::aten::ArrayRef<::executorch::aten::DimOrderType>& dim_order,
                              const ::executorch::aten::ArrayRef<::executorch::aten::StridesType>& strides,
                              const ScalarType& dtype) {
  ET_CHECK_MSG(dim_order.size() == sizes.size() && strides.size() == sizes.size(),
               "expected %zu dimensions in the dim order and the strides, found %zu and %zu", sizes.size(),
               dim_order.size(), strides.size());
  const auto copied = [&](auto list) {
    using T = std::remove_const_t<std::remove_reference_t<decltype(list[0])>>;
    auto memory = ctx.allocate_temp(std::max<size_t>(list.size() * sizeof(T), 1), alignof(T));
    ET_CHECK_MSG(memory.ok(), "no memory for the sizes of a temporary tensor");
    std::copy(list.begin(), list.end(), static_cast<T*>(memory.get()));
    return static_cast<T*>(memory.get());
  };
  size_t bytes = elementSize(dtype);
  for (const auto size : sizes) {
    ET_CHECK_MSG(size >= 0 && (size == 0 || bytes <= std::numeric_limits<size_t>::max() / static_cast<size_t>(size)),
                 "a temporary tensor cannot have the size %zd", static_cast<ssize_t>(size));
    bytes *= static_cast<size_t>(size);
  }
  auto impl = ctx.allocate_temp(sizeof(TensorImpl), alignof(TensorImpl));
  auto data = ctx.allocate_temp(std::max<size_t>(bytes, 1));
  ET_CHECK_MSG(impl.ok() && data.ok(), "no memory for a temporary tensor of %zu bytes", bytes);
  return Tensor(new (impl.get()) TensorImpl(dtype, static_cast<ssize_t>(sizes.size()), copied(sizes), data.get(),
                                            copied(dim_order), copied(strides)));
}
#endif

}  // namespace executor
}  // namespace torch
