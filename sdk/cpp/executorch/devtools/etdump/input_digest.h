// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>

#include <executorch/runtime/core/evalue.h>

namespace executorch {
namespace etdump {
namespace internal {

/**
 * Identifies the inputs of a run, so that tools can tell whether a model in eager mode was given the same ones.
 *
 * The upper 32 bits are zlib's CRC-32 of the types, the lower ones that of the contents. Types: for each input a byte,
 * `T`, `i`, `d`, `b` or `n` for a tensor, an integer, a float, a boolean and None, and for a tensor the number of its
 * dtype. Contents, little-endian: for a tensor its rank and sizes as int64_t and its elements in row-major order for
 * every dim order; for a number 8 bytes; for a boolean 1.
 */
class InputDigest {
 public:
  /// Starts a run: the next value is its first input.
  void begin() { *this = InputDigest(); }
  void add(const ::executorch::runtime::EValue& value);
  /// 0 when there are no inputs, or one cannot be read: a list, a text, or a tensor outside the CPU's memory.
  uint64_t value() const { return is_known_ ? static_cast<uint64_t>(types_) << 32 | contents_ : 0; }

 private:
  void add_tensor(const ::executorch::aten::Tensor& tensor);
  void add_type(uint8_t type);
  void add_number(int64_t number);

  uint32_t types_ = 0;
  uint32_t contents_ = 0;
  bool is_known_ = true;
};

}  // namespace internal
}  // namespace etdump
}  // namespace executorch
