// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>

#include <executorch/runtime/core/data_loader.h>
#include <executorch/runtime/core/named_data_map.h>

// Declared, not included: users of Program need no flatbuffers.
namespace executorch_flatbuffer {
struct DataSegment;
struct NamedData;
}  // namespace executorch_flatbuffer
namespace flatbuffers {
template <typename T>
struct Offset;
template <typename T, typename SizeT>
class Vector;
using FlatbufferNamedData = Vector<Offset<executorch_flatbuffer::NamedData>, uint32_t>;
using FlatbufferDataSegment = Vector<Offset<executorch_flatbuffer::DataSegment>, uint32_t>;
}  // namespace flatbuffers

namespace executorch {
namespace runtime {
namespace internal {

/// The named data that a `.pte` carries: blobs, without a tensor layout. Owns nothing: the loader and the program must
/// outlive it. Any number of threads may use it.
class PteDataMap final : public NamedDataMap {
 public:
  /// @param loader Reads the program's file.
  /// @param segment_base_offset Offset in bytes of the first segment in the file.
  /// Errors: InvalidArgument for a null pointer.
  static Result<PteDataMap> create(DataLoader* loader, size_t segment_base_offset,
                                   const flatbuffers::FlatbufferNamedData* named_data,
                                   const flatbuffers::FlatbufferDataSegment* segments);

  PteDataMap(PteDataMap&& other) noexcept
      : PteDataMap(other.loader_, other.segment_base_offset_, other.named_data_, other.segments_) {}
  ~PteDataMap() override = default;

  /// Errors: NotFound for an unknown key, NotImplemented for a known one: blobs have no layout.
  Result<const TensorLayout> get_tensor_layout(std::string_view key) const override;

  /// Errors: NotFound, or what the loader returns.
  Result<FreeableBuffer> get_data(std::string_view key) const override;

  /// Reads the first `size` bytes. Errors: NotFound, InvalidArgument when the entry is shorter; the loader's errors.
  Error load_data_into(std::string_view key, void* buffer, size_t size) const override;

  Result<uint32_t> get_num_keys() const override;

  /// Errors: InvalidArgument when `index` is out of range. The string lives as long as the program.
  Result<const char*> get_key(uint32_t index) const override;

 private:
  // Made in place, in memory of a method or program, and never deleted: without this, the virtual destructor would
  // require the heap's operator delete.
  static void operator delete(void*) {}

  struct Location {
    size_t offset;  ///< in the file
    size_t size;
    uint32_t segment_index;
  };

  PteDataMap(DataLoader* loader, size_t segment_base_offset, const flatbuffers::FlatbufferNamedData* named_data,
             const flatbuffers::FlatbufferDataSegment* segments)
      : loader_(loader), segment_base_offset_(segment_base_offset), named_data_(named_data), segments_(segments) {}

  Result<Location> locate(std::string_view key) const;

  DataLoader* loader_;
  size_t segment_base_offset_;
  const flatbuffers::FlatbufferNamedData* named_data_;
  const flatbuffers::FlatbufferDataSegment* segments_;
  /// The index where a search begins: after the last entry that was found, because callers mostly ask for entries in
  /// sequence.
  mutable std::atomic<uint32_t> next_{0};
};

}  // namespace internal
}  // namespace runtime
}  // namespace executorch
