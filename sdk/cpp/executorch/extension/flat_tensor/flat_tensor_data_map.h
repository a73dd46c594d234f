// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <utility>

#include <executorch/runtime/core/data_loader.h>
#include <executorch/runtime/core/exec_aten/exec_aten.h>
#include <executorch/runtime/core/freeable_buffer.h>
#include <executorch/runtime/core/named_data_map.h>
#include <executorch/runtime/core/result.h>
#include <executorch/runtime/core/tensor_layout.h>
#include <executorch/runtime/platform/compiler.h>

// The generated reader stays out of the public headers.
namespace flat_tensor_flatbuffer {
struct FlatTensor;
struct NamedData;
}  // namespace flat_tensor_flatbuffer

namespace executorch {
namespace extension {

/// The named data of a `.ptd` file. `load` verifies all metadata, so that nothing later can read outside the file:
/// the flatbuffer's structure, every segment's range, every layout against its segment's size, and that keys are
/// unique. Data is loaded key by key, on request.
class FlatTensorDataMap final : public runtime::NamedDataMap {
 public:
  /// Reads and verifies the metadata. `loader` must outlive the map.
  /// InvalidExternalData, with a log line that gives the reason, if the file is not a valid `.ptd`; InvalidArgument if
  /// it is too short or the loader gives unaligned memory; the loader's error if it cannot be read.
  static runtime::Result<FlatTensorDataMap> load(runtime::DataLoader* loader);

  /// dtype, sizes and dim order of `key`. NotFound if there is no such key or it is an opaque blob without a layout.
  ET_NODISCARD runtime::Result<const executorch::ET_RUNTIME_NAMESPACE::TensorLayout> get_tensor_layout(
      std::string_view key) const override;

  /// The bytes of `key`. NotFound if there is no such key.
  ET_NODISCARD runtime::Result<runtime::FreeableBuffer> get_data(std::string_view key) const override;

  /// Copies the first `size` bytes of `key` to `buffer`. InvalidArgument if it holds fewer.
  ET_NODISCARD runtime::Error load_data_into(std::string_view key, void* buffer, size_t size) const override;

  ET_NODISCARD runtime::Result<uint32_t> get_num_keys() const override;

  /// The key at `index`, in the order of the file; valid as long as the map. InvalidArgument if out of range.
  ET_NODISCARD runtime::Result<const char*> get_key(uint32_t index) const override;

  FlatTensorDataMap(FlatTensorDataMap&&) noexcept = default;
  ~FlatTensorDataMap() override = default;

 private:
  using Index = std::unordered_map<std::string_view, const flat_tensor_flatbuffer::NamedData*>;

  FlatTensorDataMap(uint64_t segment_base_offset, runtime::FreeableBuffer&& metadata, runtime::DataLoader* loader,
                    const flat_tensor_flatbuffer::FlatTensor* flat_tensor, Index&& index)
      : segment_base_offset_(segment_base_offset),
        metadata_(std::move(metadata)),
        loader_(loader),
        flat_tensor_(flat_tensor),
        index_(std::move(index)) {}

  FlatTensorDataMap(const FlatTensorDataMap&) = delete;
  FlatTensorDataMap& operator=(const FlatTensorDataMap&) = delete;
  FlatTensorDataMap& operator=(FlatTensorDataMap&&) = delete;

  static runtime::Result<FlatTensorDataMap> load_index(runtime::DataLoader* loader);
  runtime::Result<const flat_tensor_flatbuffer::NamedData*> find(std::string_view key) const;

  uint64_t segment_base_offset_;
  runtime::FreeableBuffer metadata_;  // the flatbuffer that the two members below point into
  runtime::DataLoader* loader_;
  const flat_tensor_flatbuffer::FlatTensor* flat_tensor_;
  Index index_;
};

}  // namespace extension
}  // namespace executorch
