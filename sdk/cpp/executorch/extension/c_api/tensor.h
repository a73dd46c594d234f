// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <executorch/extension/c_api/executorch.h>
#include <executorch/extension/c_api/release.h>
#include <executorch/extension/module/planned_buffers.h>
#include <executorch/runtime/core/exec_aten/exec_aten.h>

namespace executorch {
namespace extension {
namespace c_api {

/// A tensor with everything that it refers to: its own memory or the caller's.
struct TensorStorage final {
  std::vector<int32_t> sizes;
  std::vector<uint8_t> dim_order;
  std::vector<int32_t> strides;
  internal::ZeroedBuffer own_data{0};
  Release borrowed_data;
  std::unique_ptr<aten::TensorImpl> impl;
};

}  // namespace c_api
}  // namespace extension
}  // namespace executorch

/// A tensor of the caller (`storage` is set) or of a result.
struct et_tensor {
  std::shared_ptr<executorch::extension::c_api::TensorStorage> storage;
  executorch::aten::Tensor tensor;
  /// Keeps the memory of a result's tensor alive.
  std::shared_ptr<const void> lease;
};
