// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <functional>
#include <vector>

#include <executorch/extension/tensor/tensor_ptr.h>

namespace executorch {
namespace extension {
namespace internal {

/// The layout of a dense tensor: three vectors with one entry for each dimension.
struct TensorShape {
  std::vector<aten::SizesType> sizes;
  std::vector<aten::DimOrderType> dim_order;
  std::vector<aten::StridesType> strides;
};

/// A tensor over `data`, with its own metadata; `deleter`, if any, is called with `data` by the last owner.
TensorPtr make_tensor_with_storage(TensorShape&& shape, void* data, aten::ScalarType type,
                                   aten::TensorShapeDynamism dynamism, std::function<void(void*)>&& deleter,
                                   aten::Device device);

}  // namespace internal
}  // namespace extension
}  // namespace executorch
