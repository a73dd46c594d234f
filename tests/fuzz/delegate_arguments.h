// SPDX-License-Identifier: BSD-3-Clause
// The arguments that drivers of delegates' payloads pass to a delegate.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>
#include <vector>

#include <executorch/runtime/core/checked_size.h>
#include <executorch/runtime/core/exec_aten/exec_aten.h>
#include <executorch/runtime/core/exec_aten/util/dim_order_util.h>
#include <executorch/runtime/core/exec_aten/util/scalar_type_util.h>
#include <executorch/runtime/core/named_data_map.h>

#include "exact_buffer.h"

namespace executorch {
namespace fuzz {

/// Returns the same bytes for every name.
class AnyData final : public runtime::NamedDataMap {
 public:
  AnyData() : bytes_(1 << 16) { std::memset(bytes_.data.get(), 0x3d, bytes_.bytes); }
  runtime::Result<const runtime::TensorLayout> get_tensor_layout(std::string_view) const override {
    return runtime::Error::NotFound;
  }
  runtime::Result<runtime::FreeableBuffer> get_data(std::string_view) const override {
    return runtime::FreeableBuffer(bytes_.data.get(), bytes_.bytes, nullptr);
  }
  runtime::Error load_data_into(std::string_view, void*, size_t) const override { return runtime::Error::NotSupported; }
  runtime::Result<uint32_t> get_num_keys() const override { return 0; }
  runtime::Result<const char*> get_key(uint32_t) const override { return runtime::Error::InvalidArgument; }

 private:
  ExactBuffer bytes_;
};

/// Whether a tensor can have this shape: even without elements, its strides must fit. Delegates never get other shapes.
template <typename Sizes>
bool is_shape_of_tensor(const Sizes& dims) {
  runtime::internal::CheckedSize stride = 1;
  for (const auto dim : dims) {
    stride = stride * runtime::internal::CheckedSize(std::max<size_t>(static_cast<size_t>(dim), 1));
  }
  return stride.at_most(INT32_MAX);
}

/// A tensor that owns its data, sizes and strides.
struct OwnedTensor {
  template <typename Sizes>
  OwnedTensor(aten::ScalarType dtype, const Sizes& dims, uint8_t fill)
      : sizes(dims.begin(), dims.end()),
        dim_order(dims.size()),
        strides(dims.size()),
        data(count(dims) * runtime::elementSize(dtype)) {
    for (size_t i = 0; i < dim_order.size(); ++i) {
      dim_order[i] = static_cast<uint8_t>(i);
    }
    runtime::dim_order_to_stride_nocheck(sizes.data(), dim_order.data(), sizes.size(), strides.data());
    if (data.bytes > 0) {
      // Indices must be small whatever the sizes, so they are 0.
      const bool is_integer = runtime::isIntegralType(dtype, /*includeBool=*/true);
      std::memset(data.data.get(), is_integer && runtime::elementSize(dtype) > 1 ? 0 : fill, data.bytes);
    }
    impl = std::make_unique<aten::TensorImpl>(dtype, static_cast<ssize_t>(sizes.size()), sizes.data(), data.data.get(),
                                              dim_order.data(), strides.data(),
                                              runtime::TensorShapeDynamism::DYNAMIC_BOUND);
  }

  template <typename Sizes>
  static size_t count(const Sizes& dims) {
    size_t elements = 1;
    for (const auto dim : dims) {
      elements *= static_cast<size_t>(dim);
    }
    return elements;
  }

  std::vector<int32_t> sizes;
  std::vector<uint8_t> dim_order;
  std::vector<int32_t> strides;
  ExactBuffer data;
  std::unique_ptr<aten::TensorImpl> impl;
};

}  // namespace fuzz
}  // namespace executorch
