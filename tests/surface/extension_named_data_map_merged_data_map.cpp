// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/extension/named_data_map/merged_data_map.h>

#include "signatures.h"

#if !defined(ET_MERGED_DATA_MAP_NAMESPACE)
#error "A macro of this header is missing."
#endif

namespace surface {

static_assert(
    is<Result<merged_data_map::MergedDataMap> (*)(Span<const NamedDataMap*>)>(&merged_data_map::MergedDataMap::load));
static_assert(is<Result<const TensorLayout> (merged_data_map::MergedDataMap::*)(std::string_view) const>(
    &merged_data_map::MergedDataMap::get_tensor_layout));
static_assert(is<Result<FreeableBuffer> (merged_data_map::MergedDataMap::*)(std::string_view) const>(
    &merged_data_map::MergedDataMap::get_data));
static_assert(is<Error (merged_data_map::MergedDataMap::*)(std::string_view, void*, size_t) const>(
    &merged_data_map::MergedDataMap::load_data_into));
static_assert(
    is<Result<uint32_t> (merged_data_map::MergedDataMap::*)() const>(&merged_data_map::MergedDataMap::get_num_keys));
static_assert(is<Result<const char*> (merged_data_map::MergedDataMap::*)(uint32_t) const>(
    &merged_data_map::MergedDataMap::get_key));
static_assert(std::is_constructible_v<merged_data_map::MergedDataMap, merged_data_map::MergedDataMap&&>);
static_assert(std::is_destructible_v<merged_data_map::MergedDataMap>);

}  // namespace surface
