// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>

#include <executorch/runtime/core/result.h>

namespace executorch {
namespace etdump {

/// Stores the elements of logged tensors: the debug buffer that the Inspector reads together with the ETDump.
class DataSinkBase {
 public:
  virtual ~DataSinkBase() = default;

  /// Stores `length` bytes and returns the offset of the first one. Errors: the payload does not fit.
  virtual ::executorch::runtime::Result<size_t> write(const void* ptr, size_t length) = 0;

  /// Returns the bytes used so far, including padding.
  virtual size_t get_used_bytes() const = 0;
};

}  // namespace etdump
}  // namespace executorch
