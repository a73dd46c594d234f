// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/extension/flat_tensor/flat_tensor_verifier.h>

#include <cinttypes>

#include <executorch/runtime/core/checked_size.h>
#include <executorch/runtime/core/span.h>
#include <executorch/runtime/platform/log.h>
#include <executorch/schema/flat_tensor_generated.h>
#include <executorch/schema/flat_tensor_tables.h>

namespace executorch {
namespace extension {
namespace internal {

using executorch::ET_RUNTIME_NAMESPACE::TensorLayout;
using runtime::Error;
using runtime::Result;
using runtime::Span;
using runtime::internal::CheckedSize;

namespace {

/// The metadata holds integers of eight bytes.
constexpr size_t kMetadataAlignment = 8;

}  // namespace

Error check_flat_tensor_header(const FlatTensorHeader& header, size_t file_size) {
  const CheckedSize metadata_end = CheckedSize(header.flatbuffer_offset) + CheckedSize(header.flatbuffer_size);
  ET_CHECK_OR_RETURN_ERROR(metadata_end.at_most(file_size), InvalidExternalData,
                           ".ptd: its header announces %" PRIu64 " bytes of metadata from byte %" PRIu64
                           " on, the file holds %zu; it may be truncated",
                           header.flatbuffer_size, header.flatbuffer_offset, file_size);
  if (header.segment_base_offset == 0 && header.segment_data_size == 0) {
    return Error::Ok;
  }
  ET_CHECK_OR_RETURN_ERROR(metadata_end.at_most(header.segment_base_offset), InvalidExternalData,
                           ".ptd: segments start at %" PRIu64 ", inside the metadata that ends at %" PRIu64,
                           header.segment_base_offset, metadata_end.value());
  const CheckedSize segments_end = CheckedSize(header.segment_base_offset) + CheckedSize(header.segment_data_size);
  ET_CHECK_OR_RETURN_ERROR(segments_end.at_most(file_size), InvalidExternalData,
                           ".ptd: its header announces %" PRIu64 " bytes of segments from byte %" PRIu64
                           " on, the file holds %zu; it may be truncated",
                           header.segment_data_size, header.segment_base_offset, file_size);
  return Error::Ok;
}

Result<const TensorLayout> parse_tensor_layout(const flat_tensor_flatbuffer::TensorLayout* layout, const char* key) {
  const auto* sizes = layout->sizes();
  const auto* dim_order = layout->dim_order();
  ET_CHECK_OR_RETURN_ERROR(sizes != nullptr && dim_order != nullptr && sizes->size() == dim_order->size(),
                           InvalidExternalData, ".ptd: '%s': sizes and dim_order must exist and have one length", key);
  const Result<const TensorLayout> result = TensorLayout::create(
      Span<const int32_t>(sizes->data(), sizes->size()), Span<const uint8_t>(dim_order->data(), dim_order->size()),
      static_cast<aten::ScalarType>(layout->scalar_type()));
  ET_CHECK_OR_RETURN_ERROR(result.ok(), InvalidExternalData,
                           ".ptd: '%s': its sizes, dim order or scalar type (%d) make no valid layout", key,
                           static_cast<int>(layout->scalar_type()));
  return result.get();
}

namespace {

Error verify_segments(const flat_tensor_flatbuffer::FlatTensor* flat_tensor, uint64_t segment_data_size) {
  const auto* segments = flat_tensor->segments();
  const uint32_t count = segments == nullptr ? 0 : segments->size();
  for (uint32_t i = 0; i < count; ++i) {
    const auto* segment = segments->Get(i);
    const CheckedSize end = CheckedSize(segment->offset()) + CheckedSize(segment->size());
    ET_CHECK_OR_RETURN_ERROR(end.at_most(segment_data_size), InvalidExternalData,
                             ".ptd: segment %" PRIu32 " is bytes [%" PRIu64 ", +%" PRIu64
                             ") of segment data of %" PRIu64 " bytes",
                             i, segment->offset(), segment->size(), segment_data_size);
  }
  return Error::Ok;
}

Error verify_named_data(const flat_tensor_flatbuffer::FlatTensor* flat_tensor) {
  const auto* segments = flat_tensor->segments();
  const uint32_t segment_count = segments == nullptr ? 0 : segments->size();
  const auto* named_data = flat_tensor->named_data();
  const uint32_t count = named_data == nullptr ? 0 : named_data->size();
  for (uint32_t i = 0; i < count; ++i) {
    const auto* entry = named_data->Get(i);
    ET_CHECK_OR_RETURN_ERROR(entry->key() != nullptr, InvalidExternalData, ".ptd: entry %" PRIu32 " has no key", i);
    const char* key = entry->key()->c_str();
    ET_CHECK_OR_RETURN_ERROR(entry->segment_index() < segment_count, InvalidExternalData,
                             ".ptd: '%s' is in segment %" PRIu32 ", there are %" PRIu32, key, entry->segment_index(),
                             segment_count);
    if (entry->tensor_layout() == nullptr) {
      continue;  // an opaque blob
    }
    const Result<const TensorLayout> layout = parse_tensor_layout(entry->tensor_layout(), key);
    if (!layout.ok()) {
      return layout.error();
    }
    const uint64_t segment_size = segments->Get(entry->segment_index())->size();
    ET_CHECK_OR_RETURN_ERROR(layout->nbytes() <= segment_size, InvalidExternalData,
                             ".ptd: the tensor '%s' needs %zu bytes, its segment holds %" PRIu64, key, layout->nbytes(),
                             segment_size);
  }
  return Error::Ok;
}

}  // namespace

Result<const flat_tensor_flatbuffer::FlatTensor*> verify_flat_tensor(const void* data, size_t size,
                                                                     uint64_t segment_data_size) {
  const auto* bytes = static_cast<const uint8_t*>(data);
  ET_CHECK_OR_RETURN_ERROR(reinterpret_cast<uintptr_t>(data) % kMetadataAlignment == 0, InvalidArgument,
                           ".ptd: its metadata is at address %p; the loader must put it at a multiple of %zu", data,
                           kMetadataAlignment);
  ET_CHECK_OR_RETURN_ERROR(size >= 8 && flat_tensor_flatbuffer::FlatTensorBufferHasIdentifier(data),
                           InvalidExternalData, "expected a .ptd file of version '%s', found the identifier '%.4s'",
                           flat_tensor_flatbuffer::FlatTensorIdentifier(),
                           size >= 8 ? reinterpret_cast<const char*>(bytes + 4) : "");
  ET_CHECK_OR_RETURN_ERROR(runtime::internal::verify_tables(flat_tensor_flatbuffer::kFlatTensorSchema, data, size,
                                                            flat_tensor_flatbuffer::FlatTensorIdentifier()),
                           InvalidExternalData,
                           ".ptd: its metadata (%zu bytes) is not a sound flatbuffer; the file is damaged", size);
  const auto* flat_tensor = flat_tensor_flatbuffer::GetFlatTensor(data);
  ET_CHECK_OR_RETURN_ERROR(flat_tensor->version() == 0, InvalidExternalData,
                           ".ptd: expected schema version 0, found %" PRIu32 "; a newer runtime is needed",
                           flat_tensor->version());
  Error error = verify_segments(flat_tensor, segment_data_size);
  if (error == Error::Ok) {
    error = verify_named_data(flat_tensor);
  }
  if (error != Error::Ok) {
    return error;
  }
  return flat_tensor;
}

}  // namespace internal
}  // namespace extension
}  // namespace executorch
