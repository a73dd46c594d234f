// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <utility>
#include <vector>

#include <executorch/runtime/core/exec_aten/exec_aten.h>
#include <executorch/runtime/core/span.h>
#include <executorch/runtime/kernel/operator_registry.h>

namespace executorch {
namespace ET_RUNTIME_NAMESPACE {
namespace testing {

/// Key of tensors given as (dtype, dim order) pairs; see internal::make_kernel_key_string().
inline Error make_kernel_key(const std::vector<std::pair<aten::ScalarType, std::vector<aten::DimOrderType>>>& tensors,
                             char* buf, size_t buf_size) {
  std::vector<TensorMeta> meta;
  for (const auto& [dtype, dim_order] : tensors) {
    // TensorMeta takes a mutable view and does not write through it.
    meta.emplace_back(dtype,
                      Span<aten::DimOrderType>(const_cast<aten::DimOrderType*>(dim_order.data()), dim_order.size()));
  }
  return ET_RUNTIME_NAMESPACE::internal::make_kernel_key_string({meta.data(), meta.size()}, buf, buf_size);
}

}  // namespace testing
}  // namespace ET_RUNTIME_NAMESPACE
}  // namespace executorch
