// SPDX-License-Identifier: BSD-3-Clause
#include "options.h"

#include <cstddef>
#include <cstring>
#include <optional>

#include <executorch/runtime/platform/log.h>

namespace executorch {
namespace backends {
namespace enn {

using runtime::ArrayRef;
using runtime::CompileSpec;
using runtime::Error;
using runtime::Result;

namespace {

constexpr char kKey[] = "enn_compile_options";

/// A view of bytes that reads numbers only inside of its bounds.
class Bytes {
 public:
  Bytes(const void* data, size_t size) : data_(static_cast<const uint8_t*>(data)), size_(size) {}

  template <typename T>
  std::optional<T> at(int64_t place) const {
    if (place < 0 || place > static_cast<int64_t>(size_) - static_cast<int64_t>(sizeof(T))) {
      return std::nullopt;
    }
    T number;
    std::memcpy(&number, data_ + place, sizeof(T));
    return number;
  }

 private:
  const uint8_t* data_;
  size_t size_;
};

std::optional<int32_t> chip_in(const Bytes& bytes) {
  constexpr uint32_t kIdentifier = 'E' | 'E' << 8 | 'T' << 16 | 'O' << 24;
  const auto table = bytes.at<uint32_t>(0);
  if (!table || bytes.at<uint32_t>(4) != kIdentifier) {
    return std::nullopt;
  }
  const auto back = bytes.at<int32_t>(*table);
  if (!back) {
    return std::nullopt;
  }
  const int64_t fields = static_cast<int64_t>(*table) - *back;
  const auto size = bytes.at<uint16_t>(fields);
  if (!size) {
    return std::nullopt;
  }
  const auto offset = *size > 4 ? bytes.at<uint16_t>(fields + 4) : std::optional<uint16_t>(0);
  if (!offset || *offset == 0) {
    return offset ? std::optional<int32_t>(0) : std::nullopt;
  }
  return bytes.at<int32_t>(static_cast<int64_t>(*table) + *offset);
}

}  // namespace

Result<int32_t> read_chip(ArrayRef<CompileSpec> specs) {
  for (const CompileSpec& spec : specs) {
    if (std::strcmp(spec.key, kKey) == 0) {
      const auto chip = chip_in(Bytes(spec.value.buffer, spec.value.nbytes));
      ET_CHECK_OR_RETURN_ERROR(
          chip.has_value(), InvalidProgram,
          "Samsung: the compile spec %s has %zu bytes that are not options: export the model again", kKey,
          spec.value.nbytes);
      return *chip;
    }
  }
  return 0;
}

}  // namespace enn
}  // namespace backends
}  // namespace executorch
