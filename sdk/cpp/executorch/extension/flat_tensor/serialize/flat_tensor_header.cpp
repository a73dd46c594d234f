// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/extension/flat_tensor/serialize/flat_tensor_header.h>

#include <cinttypes>
#include <cstring>

#include <executorch/runtime/core/checked_size.h>
#include <executorch/runtime/core/error.h>
#include <executorch/runtime/platform/log.h>

namespace executorch {
namespace extension {

using runtime::Error;
using runtime::Result;
using runtime::internal::CheckedSize;

namespace {

// Reads byte by byte, which is correct on big-endian hosts and for unaligned data.
template <typename T>
T read_little_endian(const uint8_t* bytes) {
  T value = 0;
  for (size_t i = 0; i < sizeof(T); ++i) {
    value |= static_cast<T>(bytes[i]) << (8 * i);
  }
  return value;
}

}  // namespace

Result<FlatTensorHeader> FlatTensorHeader::Parse(const void* data, size_t size) {
  ET_CHECK_OR_RETURN_ERROR(data != nullptr && size >= kNumHeadBytes, InvalidArgument,
                           "a .ptd file starts with %zu bytes of header, found %zu; it may be truncated", kNumHeadBytes,
                           size);
  const uint8_t* header = static_cast<const uint8_t*>(data) + kHeaderOffset;
  if (std::memcmp(header, kMagic, kMagicSize) != 0) {
    return Error::NotFound;
  }
  const uint32_t length = read_little_endian<uint32_t>(header + 4);
  ET_CHECK_OR_RETURN_ERROR(length >= kHeaderExpectedLength, InvalidExternalData,
                           ".ptd header: expected a length of at least %" PRIu32 ", found %" PRIu32,
                           kHeaderExpectedLength, length);
  FlatTensorHeader result;
  result.flatbuffer_offset = read_little_endian<uint64_t>(header + 8);
  result.flatbuffer_size = read_little_endian<uint64_t>(header + 16);
  result.segment_base_offset = read_little_endian<uint64_t>(header + 24);
  result.segment_data_size = read_little_endian<uint64_t>(header + 32);
  ET_CHECK_OR_RETURN_ERROR(
      (CheckedSize(result.flatbuffer_offset) + CheckedSize(result.flatbuffer_size)).good() &&
          (CheckedSize(result.segment_base_offset) + CheckedSize(result.segment_data_size)).good(),
      InvalidExternalData,
      ".ptd header: its sizes overflow (flatbuffer %" PRIu64 " + %" PRIu64 ", segments %" PRIu64 " + %" PRIu64 ")",
      result.flatbuffer_offset, result.flatbuffer_size, result.segment_base_offset, result.segment_data_size);
  return result;
}

}  // namespace extension
}  // namespace executorch
