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
 * Two CRC-32 (of zlib): the upper 32 bits are of the types, the lower ones of the contents. Types are a byte for each
 * input, `T`, `i`, `d`, `b` or `n` for a tensor, an integer, a float, a boolean and None, and for a tensor the number
 * of its dtype. Contents are int64_t and the bytes of elements, little-endian: of a tensor its rank, its sizes and its
 * elements in row-major order, whatever its dim order is; of a number 8 bytes; of a boolean 1.
 */
class InputDigest {
 public:
  /// The next value is the first input of a run.
  void begin() { *this = InputDigest(); }
  void add(const ::executorch::runtime::EValue& value);
  /// 0 when there are no inputs, or one cannot be read: a list, a text, or a tensor that the CPU does not see.
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
