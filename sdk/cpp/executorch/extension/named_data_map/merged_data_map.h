// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include <executorch/runtime/core/exec_aten/exec_aten.h>
#include <executorch/runtime/core/freeable_buffer.h>
#include <executorch/runtime/core/named_data_map.h>
#include <executorch/runtime/core/result.h>
#include <executorch/runtime/core/span.h>
#include <executorch/runtime/core/tensor_layout.h>
#include <executorch/runtime/executor/merged_data_map.h>
#include <executorch/runtime/platform/compiler.h>

#ifdef USE_ATEN_LIB
#define ET_MERGED_DATA_MAP_NAMESPACE merged_data_map::aten
#else
#define ET_MERGED_DATA_MAP_NAMESPACE merged_data_map
#endif

namespace executorch {
namespace extension {
namespace ET_MERGED_DATA_MAP_NAMESPACE {

/// Merges several NamedDataMaps into one, for weights in several files.
class MergedDataMap final : public executorch::ET_RUNTIME_NAMESPACE::NamedDataMap {
 public:
  /// Merges `named_data_maps`, which must outlive the result. Null entries and maps without keys are skipped.
  /// InvalidArgument if none is left, or if two hold the same key.
  static runtime::Result<MergedDataMap> load(
      runtime::Span<const executorch::ET_RUNTIME_NAMESPACE::NamedDataMap*> named_data_maps);

  /// dtype, sizes and dim order of `key`. NotFound if no map holds it.
  ET_NODISCARD runtime::Result<const executorch::ET_RUNTIME_NAMESPACE::TensorLayout> get_tensor_layout(
      std::string_view key) const override;

  /// The bytes of `key`. NotFound if no map holds it.
  ET_NODISCARD runtime::Result<runtime::FreeableBuffer> get_data(std::string_view key) const override;

  /// Copies the first `size` bytes of `key` to `buffer`.
  ET_NODISCARD runtime::Error load_data_into(std::string_view key, void* buffer, size_t size) const override;

  ET_NODISCARD runtime::Result<uint32_t> get_num_keys() const override;

  /// The key at `index`: those of the first map in its order, then those of the second, and so on.
  ET_NODISCARD runtime::Result<const char*> get_key(uint32_t index) const override;

  MergedDataMap(MergedDataMap&&) noexcept = default;
  ~MergedDataMap() override = default;

 private:
  using NamedDataMap = executorch::ET_RUNTIME_NAMESPACE::NamedDataMap;
  using Pair = runtime::internal::MergedDataMap;

  MergedDataMap(std::vector<Pair>&& pairs, const NamedDataMap* all) : pairs_(std::move(pairs)), all_(all) {}

  MergedDataMap(const MergedDataMap&) = delete;
  MergedDataMap& operator=(const MergedDataMap&) = delete;
  MergedDataMap& operator=(MergedDataMap&&) = delete;

  static runtime::Result<MergedDataMap> load_pairs(runtime::Span<const NamedDataMap*> named_data_maps);

  std::vector<Pair> pairs_;  // the first two maps, then each further map with the pair before it
  const NamedDataMap* all_;  // the last pair, or the only map
};

}  // namespace ET_MERGED_DATA_MAP_NAMESPACE
}  // namespace extension
}  // namespace executorch
