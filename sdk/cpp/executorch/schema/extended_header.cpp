// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/schema/extended_header.h>

#include <cinttypes>
#include <cstring>

#include <executorch/runtime/core/checked_size.h>
#include <executorch/runtime/core/error.h>
#include <executorch/runtime/platform/log.h>

#include <flatbuffers/base.h>

namespace executorch {
namespace runtime {

namespace {

// Offsets from the start of the header.
constexpr size_t kLengthOffset = 4;
constexpr size_t kProgramSizeOffset = 8;
constexpr size_t kSegmentBaseOffset = 16;
constexpr size_t kSegmentDataSizeOffset = 24;

// Old writers, without segment_data_size, stop after segment_base_offset.
constexpr uint32_t kMinimumLength = 24;
constexpr uint32_t kLengthWithSegmentDataSize = 32;

/// Reads a number at any address, because a loader may return unaligned data.
template <typename T>
T read_little_endian(const uint8_t* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof(value));
  return flatbuffers::EndianScalar(value);
}

}  // namespace

Result<ExtendedHeader> ExtendedHeader::Parse(const void* data, size_t size) {
  ET_CHECK_OR_RETURN_ERROR(data != nullptr && size >= kNumHeadBytes, InvalidArgument,
                           "The first %zu bytes of a program are needed to look for its extended header, got %zu",
                           kNumHeadBytes, size);
  const uint8_t* header = static_cast<const uint8_t*>(data) + kHeaderOffset;
  if (std::memcmp(header, kMagic, kMagicSize) != 0) {
    return Error::NotFound;
  }
  const uint32_t length = read_little_endian<uint32_t>(header + kLengthOffset);
  ET_CHECK_OR_RETURN_ERROR(length >= kMinimumLength, InvalidProgram,
                           "The extended header says it is %" PRIu32 " bytes long, at least %" PRIu32
                           " are needed: the file is damaged",
                           length, kMinimumLength);
  ExtendedHeader result;
  result.program_size = read_little_endian<uint64_t>(header + kProgramSizeOffset);
  result.segment_base_offset = read_little_endian<uint64_t>(header + kSegmentBaseOffset);
  result.segment_data_size =
      length >= kLengthWithSegmentDataSize ? read_little_endian<uint64_t>(header + kSegmentDataSizeOffset) : 0;
  // The flatbuffer cannot end inside the header, and segments come after the flatbuffer.
  ET_CHECK_OR_RETURN_ERROR(result.program_size >= kHeaderOffset + kMinimumLength, InvalidProgram,
                           "The extended header gives the program %" PRIu64
                           " bytes, less than the header itself: the file is damaged",
                           result.program_size);
  ET_CHECK_OR_RETURN_ERROR(result.segment_base_offset == 0 || result.segment_base_offset >= result.program_size,
                           InvalidProgram,
                           "The extended header puts the segments at byte %" PRIu64 ", inside the program of %" PRIu64
                           " bytes: the file is damaged",
                           result.segment_base_offset, result.program_size);
  ET_CHECK_OR_RETURN_ERROR(result.segment_base_offset != 0 || result.segment_data_size == 0, InvalidProgram,
                           "The extended header announces %" PRIu64
                           " bytes of segments but not where they start: the file is damaged",
                           result.segment_data_size);
  const internal::CheckedSize end =
      internal::CheckedSize(result.segment_base_offset) + internal::CheckedSize(result.segment_data_size);
  ET_CHECK_OR_RETURN_ERROR(end.good(), InvalidProgram,
                           "The segments start at byte %" PRIu64 " and are %" PRIu64
                           " bytes long, more than this machine can address: the file is damaged",
                           result.segment_base_offset, result.segment_data_size);
  return result;
}

}  // namespace runtime
}  // namespace executorch
