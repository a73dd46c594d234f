// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <executorch/runtime/core/error.h>
#include <executorch/runtime/core/freeable_buffer.h>
#include <executorch/runtime/core/result.h>
#include <executorch/runtime/core/tensor_layout.h>

namespace executorch {
namespace runtime {

/// Data found by name: weights outside of the program or blobs of a backend. A missing key is Error::NotFound.
class NamedDataMap {
 public:
  virtual ~NamedDataMap() = default;

  /// Element type, sizes and dim order of a tensor; valid as long as the map. For data without a layout,
  /// Error::NotFound or Error::NotImplemented.
  ET_NODISCARD virtual Result<const TensorLayout> get_tensor_layout(std::string_view key) const = 0;

  /// The bytes. Keep the buffer as long as the bytes are used, and the map as long as the buffer.
  ET_NODISCARD virtual Result<FreeableBuffer> get_data(std::string_view key) const = 0;

  /// Copies the first `size` bytes; Error::InvalidArgument when there are fewer.
  ET_NODISCARD virtual Error load_data_into(std::string_view key, void* buffer, size_t size) const = 0;

  /// Number of keys.
  ET_NODISCARD virtual Result<uint32_t> get_num_keys() const = 0;

  /// Key number `index`, NUL-terminated; valid as long as the map. Error::InvalidArgument when there are fewer.
  ET_NODISCARD virtual Result<const char*> get_key(uint32_t index) const = 0;
};

}  // namespace runtime
}  // namespace executorch

namespace torch {
namespace executor {
using ::executorch::runtime::NamedDataMap;
}  // namespace executor
}  // namespace torch
