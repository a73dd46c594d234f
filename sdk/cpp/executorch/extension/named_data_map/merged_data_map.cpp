// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/extension/named_data_map/merged_data_map.h>

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
  return internal::report_bad_alloc([&] { return load_pairs(named_data_maps); });
}

Result<MergedDataMap> MergedDataMap::load_pairs(Span<const NamedDataMap*> named_data_maps) {
  std::vector<Pair> pairs;
  pairs.reserve(named_data_maps.size());  // a pair refers to the one before it, which must not move
  const NamedDataMap* all = nullptr;
  for (const NamedDataMap* map : named_data_maps) {
    const Result<uint32_t> count = map == nullptr ? Result<uint32_t>(0u) : map->get_num_keys();
    if (!count.ok()) {
      return count.error();
    }
    if (count.get() == 0) {
      continue;
    }
    if (all == nullptr) {
      all = map;
      continue;
    }
    auto pair = Pair::load(all, map);
    if (!pair.ok()) {
      return pair.error();
    }
    pairs.push_back(std::move(*pair));
    all = &pairs.back();
  }
  ET_CHECK_OR_RETURN_ERROR(all != nullptr, InvalidArgument,
                           "expected at least one data map with data, found %zu that are null or empty",
                           named_data_maps.size());
  return MergedDataMap(std::move(pairs), all);
}

Result<const TensorLayout> MergedDataMap::get_tensor_layout(std::string_view key) const {
  return all_->get_tensor_layout(key);
}

Result<FreeableBuffer> MergedDataMap::get_data(std::string_view key) const {
  return all_->get_data(key);
}

Error MergedDataMap::load_data_into(std::string_view key, void* buffer, size_t size) const {
  return all_->load_data_into(key, buffer, size);
}

Result<uint32_t> MergedDataMap::get_num_keys() const {
  return all_->get_num_keys();
}

Result<const char*> MergedDataMap::get_key(uint32_t index) const {
  return all_->get_key(index);
}

}  // namespace ET_MERGED_DATA_MAP_NAMESPACE
}  // namespace extension
}  // namespace executorch
