// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/extension/flat_tensor/flat_tensor_data_map.h>

#include <cinttypes>

#include <executorch/extension/flat_tensor/flat_tensor_verifier.h>
#include <executorch/extension/flat_tensor/serialize/flat_tensor_header.h>
#include <executorch/extension/memory_allocator/report_bad_alloc.h>
#include <executorch/runtime/core/error.h>
#include <executorch/runtime/platform/log.h>
#include <executorch/schema/flat_tensor_generated.h>

namespace executorch {
namespace extension {

using executorch::ET_RUNTIME_NAMESPACE::TensorLayout;
using runtime::DataLoader;
using runtime::Error;
using runtime::FreeableBuffer;
using runtime::Result;

namespace {

const DataLoader::SegmentInfo kExternalSegment(DataLoader::SegmentInfo::Type::External);

Result<FlatTensorHeader> load_header(DataLoader* loader, size_t file_size) {
  ET_CHECK_OR_RETURN_ERROR(file_size >= FlatTensorHeader::kNumHeadBytes, InvalidArgument,
                           "a .ptd file holds at least %zu bytes, found %zu; it may be truncated",
                           FlatTensorHeader::kNumHeadBytes, file_size);
  const Result<FreeableBuffer> head = loader->load(0, FlatTensorHeader::kNumHeadBytes, kExternalSegment);
  if (!head.ok()) {
    return head.error();
  }
  const Result<FlatTensorHeader> header = FlatTensorHeader::Parse(head->data(), head->size());
  ET_CHECK_OR_RETURN_ERROR(header.error() != Error::NotFound, InvalidExternalData,
                           "this is not a .ptd file: expected the header 'FH01' at byte 8, found '%.4s'",
                           static_cast<const char*>(head->data()) + FlatTensorHeader::kHeaderOffset);
  if (!header.ok()) {
    return header.error();
  }
  const Error error = internal::check_flat_tensor_header(header.get(), file_size);
  if (error != Error::Ok) {
    return error;
  }
  return header.get();
}

}  // namespace

Result<FlatTensorDataMap> FlatTensorDataMap::load(DataLoader* loader) {
  return internal::report_bad_alloc([&] { return load_index(loader); });
}

Result<FlatTensorDataMap> FlatTensorDataMap::load_index(DataLoader* loader) {
  ET_CHECK_OR_RETURN_ERROR(loader != nullptr, InvalidArgument, "expected a data loader, found a null pointer");
  const Result<size_t> file_size = loader->size();
  if (!file_size.ok()) {
    return file_size.error();
  }
  const Result<FlatTensorHeader> header = load_header(loader, file_size.get());
  if (!header.ok()) {
    return header.error();
  }
  Result<FreeableBuffer> metadata =
      loader->load(0, static_cast<size_t>(header->flatbuffer_offset + header->flatbuffer_size), kExternalSegment);
  if (!metadata.ok()) {
    return metadata.error();
  }
  const auto flat_tensor = internal::verify_flat_tensor(metadata->data(), metadata->size(), header->segment_data_size);
  if (!flat_tensor.ok()) {
    return flat_tensor.error();
  }
  Index index;
  const auto* named_data = flat_tensor.get()->named_data();
  const uint32_t count = named_data == nullptr ? 0 : named_data->size();
  index.reserve(count);
  for (uint32_t i = 0; i < count; ++i) {
    const auto* entry = named_data->Get(i);
    const bool is_new = index.emplace(entry->key()->string_view(), entry).second;
    ET_CHECK_OR_RETURN_ERROR(is_new, InvalidExternalData, ".ptd: the key '%s' occurs twice", entry->key()->c_str());
  }
  return FlatTensorDataMap(header->segment_base_offset, std::move(metadata.get()), loader, flat_tensor.get(),
                           std::move(index));
}

Result<const flat_tensor_flatbuffer::NamedData*> FlatTensorDataMap::find(std::string_view key) const {
  const auto found = index_.find(key);
  if (found == index_.end()) {
    return Error::NotFound;  // not logged: callers search several maps for a key
  }
  return found->second;
}

Result<const TensorLayout> FlatTensorDataMap::get_tensor_layout(std::string_view key) const {
  const auto entry = find(key);
  if (!entry.ok()) {
    return entry.error();
  }
  ET_CHECK_OR_RETURN_ERROR(entry.get()->tensor_layout() != nullptr, NotFound,
                           "'%s' is opaque data, it has no tensor layout", entry.get()->key()->c_str());
  return internal::parse_tensor_layout(entry.get()->tensor_layout(), entry.get()->key()->c_str());
}

Result<FreeableBuffer> FlatTensorDataMap::get_data(std::string_view key) const {
  const auto entry = find(key);
  if (!entry.ok()) {
    return entry.error();
  }
  const auto* segment = flat_tensor_->segments()->Get(entry.get()->segment_index());
  const auto size = static_cast<size_t>(segment->size());
  Result<FreeableBuffer> data =
      loader_->load(static_cast<size_t>(segment_base_offset_ + segment->offset()), size, kExternalSegment);
  ET_CHECK_OR_RETURN_ERROR(!data.ok() || data->size() >= size, AccessFailed,
                           "the loader gave %zu of the %zu bytes of '%s'", data->size(), size,
                           entry.get()->key()->c_str());
  return data;
}

Error FlatTensorDataMap::load_data_into(std::string_view key, void* buffer, size_t size) const {
  const auto entry = find(key);
  if (!entry.ok()) {
    return entry.error();
  }
  const auto* segment = flat_tensor_->segments()->Get(entry.get()->segment_index());
  ET_CHECK_OR_RETURN_ERROR(size <= segment->size(), InvalidArgument, "'%s' holds %" PRIu64 " bytes, %zu were requested",
                           entry.get()->key()->c_str(), segment->size(), size);
  return loader_->load_into(static_cast<size_t>(segment_base_offset_ + segment->offset()), size, kExternalSegment,
                            buffer);
}

Result<uint32_t> FlatTensorDataMap::get_num_keys() const {
  return static_cast<uint32_t>(index_.size());
}

Result<const char*> FlatTensorDataMap::get_key(uint32_t index) const {
  ET_CHECK_OR_RETURN_ERROR(index < index_.size(), InvalidArgument, "key %" PRIu32 " was requested, there are %zu",
                           index, index_.size());
  return flat_tensor_->named_data()->Get(index)->key()->c_str();
}

}  // namespace extension
}  // namespace executorch
