// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/extension/flat_tensor/serialize/serialize.h>

#include <system_error>
#include <vector>

#include <executorch/extension/file_cache/replace_file.h>
#include <executorch/extension/flat_tensor/serialize/flat_tensor_header.h>
#include <executorch/runtime/core/exec_aten/util/tensor_access.h>
#include <executorch/runtime/platform/log.h>
#include <executorch/schema/flat_tensor_generated.h>

namespace executorch {
namespace extension {
namespace flat_tensor {

using runtime::Error;

namespace {

// The header's length, padded so that the tables behind it keep their alignment.
constexpr size_t kPaddedHeaderSize = 48;

size_t round_up(size_t value, size_t alignment) {
  return (value + alignment - 1) & ~(alignment - 1);
}

template <typename T>
void append_little_endian(std::string& out, T value) {
  for (size_t i = 0; i < sizeof(T); ++i) {
    out.push_back(static_cast<char>((value >> (8 * i)) & 0xff));
  }
}

// Fills `builder` with the metadata and returns the end of the last segment, relative to the first one's start.
size_t build_metadata(flatbuffers::FlatBufferBuilder& builder, const std::map<std::string, aten::Tensor>& tensor_map,
                      size_t alignment) {
  namespace fb = flat_tensor_flatbuffer;
  std::vector<flatbuffers::Offset<fb::DataSegment>> segments;
  std::vector<flatbuffers::Offset<fb::NamedData>> named_data;
  size_t offset = 0;
  size_t end = 0;
  for (const auto& [key, tensor] : tensor_map) {
    const auto sizes = builder.CreateVector(std::vector<int32_t>(tensor.sizes().begin(), tensor.sizes().end()));
    const auto order = runtime::internal::dim_order_of(tensor);
    const auto dim_order = builder.CreateVector(order.data(), order.size());
    const auto layout = fb::CreateTensorLayout(
        builder, static_cast<executorch_flatbuffer::ScalarType>(tensor.scalar_type()), sizes, dim_order);
    named_data.push_back(
        fb::CreateNamedData(builder, builder.CreateString(key), static_cast<uint32_t>(segments.size()), layout));
    segments.push_back(fb::CreateDataSegment(builder, offset, tensor.nbytes()));
    end = offset + tensor.nbytes();
    offset = round_up(end, alignment);
  }
  const auto segment_vector = builder.CreateVector(segments);
  const auto named_data_vector = builder.CreateVector(named_data);
  fb::FinishFlatTensorBuffer(builder, fb::CreateFlatTensor(builder, kSchemaVersion, segment_vector, named_data_vector));
  return end;
}

/// The parts of a file, which refer to `head`, `padding` and the tensors.
struct Content {
  std::string head, padding;
  std::vector<FilePart> parts;
};

Error make_content(const std::map<std::string, aten::Tensor>& tensor_map, size_t tensor_alignment, Content& content) {
  ET_CHECK_OR_RETURN_ERROR(tensor_alignment >= 8 && (tensor_alignment & (tensor_alignment - 1)) == 0, InvalidArgument,
                           "tensor_alignment must be a power of two of at least 8, found %zu", tensor_alignment);
  for (const auto& [key, tensor] : tensor_map) {
    ET_CHECK_OR_RETURN_ERROR(tensor.nbytes() == 0 || tensor.const_data_ptr() != nullptr, InvalidArgument,
                             "the tensor '%s' has no data to write", key.c_str());
    ET_CHECK_OR_RETURN_ERROR(runtime::internal::is_dense_on_cpu(tensor), InvalidArgument,
                             "the tensor '%s' is not dense in memory of the CPU: make a dense copy there", key.c_str());
  }
  flatbuffers::FlatBufferBuilder builder;
  const size_t segment_data_size = build_metadata(builder, tensor_map, tensor_alignment);
  const size_t metadata_size = kPaddedHeaderSize + builder.GetSize();
  const size_t segment_base_offset = round_up(metadata_size, tensor_alignment);

  // The header goes between the identifier and the tables: the root offset, relative to byte 0, grows by its size.
  const char* flatbuffer = reinterpret_cast<const char*>(builder.GetBufferPointer());
  std::string& head = content.head;
  append_little_endian<uint32_t>(
      head, flatbuffers::ReadScalar<uint32_t>(flatbuffer) + static_cast<uint32_t>(kPaddedHeaderSize));
  head.append(flatbuffer + 4, 4);
  head.append(FlatTensorHeader::kMagic, FlatTensorHeader::kMagicSize);
  append_little_endian<uint32_t>(head, FlatTensorHeader::kHeaderExpectedLength);
  append_little_endian<uint64_t>(head, kPaddedHeaderSize);
  append_little_endian<uint64_t>(head, builder.GetSize());
  append_little_endian<uint64_t>(head, segment_base_offset);
  append_little_endian<uint64_t>(head, segment_data_size);
  head.resize(FlatTensorHeader::kHeaderOffset + kPaddedHeaderSize, '\0');
  head.append(flatbuffer + 8, builder.GetSize() - 8);
  head.resize(segment_base_offset, '\0');

  content.padding.assign(tensor_alignment, '\0');
  content.parts.push_back({head.data(), head.size()});
  size_t written = 0;
  for (const auto& entry : tensor_map) {
    content.parts.push_back({content.padding.data(), round_up(written, tensor_alignment) - written});
    written = round_up(written, tensor_alignment) + entry.second.nbytes();
    content.parts.push_back({entry.second.const_data_ptr(), entry.second.nbytes()});
  }
  return Error::Ok;
}

}  // namespace

Error save_ptd(std::ostream& out, const std::map<std::string, aten::Tensor>& tensor_map,
               const size_t tensor_alignment) {
  Content content;
  ET_CHECK_OK_OR_RETURN_ERROR(make_content(tensor_map, tensor_alignment, content));
  for (const FilePart& part : content.parts) {
    out.write(static_cast<const char*>(part.data), static_cast<std::streamsize>(part.size));
  }
  ET_CHECK_OR_RETURN_ERROR(out.good(), AccessFailed, "writing a .ptd to the stream failed");
  return Error::Ok;
}

Error save_ptd(const std::string& path, const std::map<std::string, aten::Tensor>& tensor_map,
               const size_t tensor_alignment) {
  Content content;
  ET_CHECK_OK_OR_RETURN_ERROR(make_content(tensor_map, tensor_alignment, content));
  const std::error_code error = replace_file(path, {content.parts.data(), content.parts.size()});
  ET_CHECK_OR_RETURN_ERROR(!error, AccessFailed, "%s: cannot be written: %s", path.c_str(), error.message().c_str());
  return Error::Ok;
}

}  // namespace flat_tensor
}  // namespace extension
}  // namespace executorch
