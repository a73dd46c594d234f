// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>

#include <executorch/runtime/core/result.h>

namespace executorch {
namespace runtime {

/// The extended header of a `.pte`: the end of the flatbuffer, and the location of the data segments. It is at byte 8
/// of the file, between the flatbuffer's identifier and its tables; a program without segments has none. All numbers in
/// the file are little-endian.
struct ExtendedHeader {
  /// Bytes from the start of the file that `Parse` needs.
  static constexpr size_t kNumHeadBytes = 64;
  /// Where the header starts, in bytes from the start of the file.
  static constexpr size_t kHeaderOffset = 8;
  static constexpr size_t kMagicSize = 4;
  static constexpr char kMagic[kMagicSize] = {'e', 'h', '0', '0'};

  /// Reads the header from the first `size` bytes of a program.
  ///
  /// Errors: InvalidArgument if `size` is less than kNumHeadBytes; NotFound if there is no header, so that all of the
  /// file is the flatbuffer; InvalidProgram if the header has impossible values.
  static Result<ExtendedHeader> Parse(const void* data, size_t size);

  /// Size in bytes of the flatbuffer, from the start of the file and including this header.
  uint64_t program_size;
  /// Offset in bytes of the first segment from the start of the file; 0: no segments.
  uint64_t segment_base_offset;
  /// Bytes from segment_base_offset to the end of the last segment; 0 in files written before the field existed.
  uint64_t segment_data_size;
};

}  // namespace runtime
}  // namespace executorch

namespace torch {
namespace executor {
using ::executorch::runtime::ExtendedHeader;
}  // namespace executor
}  // namespace torch
