// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>

#include <executorch/runtime/core/result.h>

namespace executorch {
namespace extension {

/// The extended header of a `.ptd` file, between the flatbuffer's identifier and its tables. All numbers in the file
/// are little-endian:
///
///     offset  size  field
///          8     4  magic "FH01"
///         12     4  length of this header, at least 40
///         16     8  flatbuffer_offset
///         24     8  flatbuffer_size
///         32     8  segment_base_offset
///         40     8  segment_data_size
struct FlatTensorHeader {
  /// Number of bytes at the start of the file that contain the whole header.
  static constexpr size_t kNumHeadBytes = 64;
  /// Offset of the header in the file.
  static constexpr size_t kHeaderOffset = 8;
  static constexpr size_t kMagicSize = 4;
  static constexpr char kMagic[kMagicSize] = {'F', 'H', '0', '1'};
  static constexpr uint32_t kHeaderExpectedLength = 4 + 4 + 8 + 8 + 8 + 8;

  /// Reads the header from the first `size` bytes of a file. InvalidArgument if `size` < kNumHeadBytes, NotFound if the
  /// magic is not there, InvalidExternalData if the header is too short or its sizes overflow.
  static runtime::Result<FlatTensorHeader> Parse(const void* data, size_t size);

  /// Bytes of this header with its padding, inside of the flatbuffer; the metadata ends after both numbers of bytes.
  uint64_t flatbuffer_offset;
  /// Bytes of the flatbuffer without this header and its padding.
  uint64_t flatbuffer_size;
  /// Offset from the start of the file to the first segment; 0 without segments.
  uint64_t segment_base_offset;
  /// Bytes of all segments with the padding between them.
  uint64_t segment_data_size;
};

}  // namespace extension
}  // namespace executorch
