// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/runtime/core/named_data_map.h>

#include "signatures.h"

namespace surface {

static_assert(std::is_destructible_v<NamedDataMap>);
static_assert(
    is<Result<const TensorLayout> (NamedDataMap::*)(std::string_view) const>(&NamedDataMap::get_tensor_layout));
static_assert(is<Result<FreeableBuffer> (NamedDataMap::*)(std::string_view) const>(&NamedDataMap::get_data));
static_assert(is<Error (NamedDataMap::*)(std::string_view, void*, size_t) const>(&NamedDataMap::load_data_into));
static_assert(is<Result<uint32_t> (NamedDataMap::*)() const>(&NamedDataMap::get_num_keys));
static_assert(is<Result<const char*> (NamedDataMap::*)(uint32_t) const>(&NamedDataMap::get_key));

}  // namespace surface
