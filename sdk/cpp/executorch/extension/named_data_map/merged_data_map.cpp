// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/extension/named_data_map/merged_data_map.h>

#include <cinttypes>

#include <executorch/extension/memory_allocator/report_bad_alloc.h>
#include <executorch/runtime/core/error.h>
#include <executorch/runtime/platform/log.h>

namespace executorch {
namespace extension {
namespace ET_MERGED_DATA_MAP_NAMESPACE {

using executorch::ET_RUNTIME_NAMESPACE::TensorLayout;
using runtime::Error;
using runtime::FreeableBuffer;
using runtime::Result;
using runtime::Span;

Result<MergedDataMap> MergedDataMap::load(Span<const NamedDataMap*> named_data_maps) {
  return internal::report_bad_alloc([&] { return load_index(named_data_maps); });
}

Result<MergedDataMap> MergedDataMap::load_index(Span<const NamedDataMap*> named_data_maps) {
  Index index;
  std::vector<const char*> keys;
  for (size_t i = 0; i < named_data_maps.size(); ++i) {
    const NamedDataMap* map = named_data_maps[i];
    if (map == nullptr) {
      continue;
    }
    const Result<uint32_t> count = map->get_num_keys();
    if (!count.ok()) {
      return count.error();
    }
    for (uint32_t k = 0; k < count.get(); ++k) {
      const Result<const char*> key = map->get_key(k);
      if (!key.ok()) {
        return key.error();
      }
      const bool is_new = index.emplace(key.get(), map).second;
      ET_CHECK_OR_RETURN_ERROR(is_new, InvalidArgument,
                               "the key '%s' is in two of the data files; each may be in one only", key.get());
      keys.push_back(key.get());
    }
  }
  ET_CHECK_OR_RETURN_ERROR(!keys.empty(), InvalidArgument,
                           "expected at least one data map with data, found %zu that are null or empty",
                           named_data_maps.size());
  return MergedDataMap(std::move(index), std::move(keys));
}

Result<const MergedDataMap::NamedDataMap*> MergedDataMap::find(std::string_view key) const {
  const auto found = index_.find(key);
  if (found == index_.end()) {
    return Error::NotFound;
  }
  return found->second;
}

Result<const TensorLayout> MergedDataMap::get_tensor_layout(std::string_view key) const {
  const auto map = find(key);
  if (!map.ok()) {
    return map.error();
  }
  return map.get()->get_tensor_layout(key);
}

Result<FreeableBuffer> MergedDataMap::get_data(std::string_view key) const {
  const auto map = find(key);
  if (!map.ok()) {
    return map.error();
  }
  return map.get()->get_data(key);
}

Error MergedDataMap::load_data_into(std::string_view key, void* buffer, size_t size) const {
  const auto map = find(key);
  if (!map.ok()) {
    return map.error();
  }
  return map.get()->load_data_into(key, buffer, size);
}

Result<uint32_t> MergedDataMap::get_num_keys() const {
  return static_cast<uint32_t>(keys_.size());
}

Result<const char*> MergedDataMap::get_key(uint32_t index) const {
  ET_CHECK_OR_RETURN_ERROR(index < keys_.size(), InvalidArgument, "key %" PRIu32 " was asked for, there are %zu", index,
                           keys_.size());
  return keys_[index];
}

}  // namespace ET_MERGED_DATA_MAP_NAMESPACE
}  // namespace extension
}  // namespace executorch
