// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/runtime/executor/pte_data_map.h>

#include <executorch/runtime/core/error.h>
#include <executorch/runtime/executor/loaded_bytes.h>
#include <executorch/schema/program_generated.h>

namespace executorch {
namespace runtime {
namespace internal {

namespace {

// Keys come from callers as views that need not end in NUL.
#define ET_KEY(key) static_cast<int>((key).size()), (key).data()

}  // namespace

Result<PteDataMap> PteDataMap::create(DataLoader* loader, size_t segment_base_offset,
                                      const flatbuffers::FlatbufferNamedData* named_data,
                                      const flatbuffers::FlatbufferDataSegment* segments) {
  ET_CHECK_OR_RETURN_ERROR(loader != nullptr && named_data != nullptr && segments != nullptr, InvalidArgument,
                           "A map of named data needs a loader, the named data and the segments; one of them is null");
  return PteDataMap(loader, segment_base_offset, named_data, segments);
}

Result<PteDataMap::Location> PteDataMap::locate(std::string_view key) const {
  const uint32_t count = named_data_->size(), start = next_.load(std::memory_order_relaxed);
  for (uint32_t i = 0; i < count; ++i) {
    const uint32_t number = start < count - i ? start + i : start - (count - i);
    const auto* entry = named_data_->Get(number);
    if (entry->key() == nullptr || entry->key()->string_view() != key) {
      continue;
    }
    next_.store(number + 1, std::memory_order_relaxed);
    const uint32_t index = entry->segment_index();
    ET_CHECK_OR_RETURN_ERROR(index < segments_->size(), InvalidArgument,
                             "Named data '%.*s' is in segment %" PRIu32 " of %" PRIu32, ET_KEY(key), index,
                             segments_->size());
    const auto* segment = segments_->Get(index);
    return Location{segment_base_offset_ + static_cast<size_t>(segment->offset()), static_cast<size_t>(segment->size()),
                    index};
  }
  // Not logged, because callers search several files for a key.
  return Error::NotFound;
}

Result<const TensorLayout> PteDataMap::get_tensor_layout(std::string_view key) const {
  const auto location = locate(key);
  return location.ok() ? Error::NotImplemented : location.error();
}

Result<FreeableBuffer> PteDataMap::get_data(std::string_view key) const {
  ET_ASSIGN_OR_RETURN(location, locate(key));
  return load_bytes(loader_, location.offset, location.size,
                    DataLoader::SegmentInfo(DataLoader::SegmentInfo::Type::Constant, location.segment_index),
                    "named data");
}

Error PteDataMap::load_data_into(std::string_view key, void* buffer, size_t size) const {
  ET_ASSIGN_OR_RETURN(location, locate(key));
  ET_CHECK_OR_RETURN_ERROR(size <= location.size, InvalidArgument,
                           "Named data '%.*s' has %zu bytes, %zu were requested", ET_KEY(key), location.size, size);
  return loader_->load_into(location.offset, size,
                            DataLoader::SegmentInfo(DataLoader::SegmentInfo::Type::Constant, location.segment_index),
                            buffer);
}

Result<uint32_t> PteDataMap::get_num_keys() const {
  return named_data_->size();
}

Result<const char*> PteDataMap::get_key(uint32_t index) const {
  ET_CHECK_OR_RETURN_ERROR(index < named_data_->size(), InvalidArgument,
                           "Key %" PRIu32 " was requested, there are %" PRIu32, index, named_data_->size());
  return named_data_->Get(index)->key()->c_str();
}

}  // namespace internal
}  // namespace runtime
}  // namespace executorch
