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

/// All tensors of a map, by their keys, with copies of their data: of a checkpoint in a `.ptd`, for instance. The
/// errors of the map, InvalidExternalData if the layout of one is not that of a dense tensor.
ET_NODISCARD runtime::Result<std::map<std::string, TensorPtr>> load_state_dict(const runtime::NamedDataMap& data);

}  // namespace training
}  // namespace extension
}  // namespace executorch
