// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/extension/flat_tensor/flat_tensor_data_map.h>

#include "signatures.h"

namespace surface {

static_assert(is<Result<FlatTensorDataMap> (*)(DataLoader*)>(&FlatTensorDataMap::load));
static_assert(is<Result<const TensorLayout> (FlatTensorDataMap::*)(std::string_view) const>(
    &FlatTensorDataMap::get_tensor_layout));
static_assert(is<Result<FreeableBuffer> (FlatTensorDataMap::*)(std::string_view) const>(&FlatTensorDataMap::get_data));
static_assert(
    is<Error (FlatTensorDataMap::*)(std::string_view, void*, size_t) const>(&FlatTensorDataMap::load_data_into));
static_assert(is<Result<uint32_t> (FlatTensorDataMap::*)() const>(&FlatTensorDataMap::get_num_keys));
static_assert(is<Result<const char*> (FlatTensorDataMap::*)(uint32_t) const>(&FlatTensorDataMap::get_key));
static_assert(std::is_constructible_v<FlatTensorDataMap, FlatTensorDataMap&&>);
static_assert(std::is_destructible_v<FlatTensorDataMap>);

}  // namespace surface
