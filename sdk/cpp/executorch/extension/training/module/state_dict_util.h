// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <map>
#include <string>

#include <executorch/extension/tensor/tensor_ptr.h>
#include <executorch/runtime/core/named_data_map.h>
#include <executorch/runtime/core/result.h>

namespace executorch {
namespace extension {
namespace training {

/// Copies all tensors of a map, such as a checkpoint in a `.ptd`. The result maps keys to tensors. Errors: the map's,
/// and InvalidExternalData for a tensor whose layout is not dense.
ET_NODISCARD runtime::Result<std::map<std::string, TensorPtr>> load_state_dict(const runtime::NamedDataMap& data);

}  // namespace training
}  // namespace extension
}  // namespace executorch
