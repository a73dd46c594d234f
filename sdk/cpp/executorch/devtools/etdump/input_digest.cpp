// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/devtools/etdump/input_digest.h>

#include <array>
#include <cstring>

#include <executorch/runtime/core/exec_aten/util/tensor_access.h>
#include <executorch/runtime/core/exec_aten/util/tensor_dimension_limit.h>

namespace executorch {
namespace etdump {
namespace internal {

using ::executorch::aten::Tensor;
using ::executorch::runtime::EValue;
using ::executorch::runtime::kTensorDimensionLimit;
using ::executorch::runtime::Tag;

namespace {

constexpr std::array<uint32_t, 256> make_crc_table() {
  std::array<uint32_t, 256> table{};
  for (uint32_t byte = 0; byte < table.size(); ++byte) {
    uint32_t value = byte;
    for (int bit = 0; bit < 8; ++bit) {
      value = (value >> 1) ^ ((value & 1) != 0 ? 0xEDB88320u : 0u);
    }
    table[byte] = value;
  }
  return table;
}

constexpr std::array<uint32_t, 256> kCrcTable = make_crc_table();

/// The CRC-32 of `size` more bytes.
uint32_t crc32(uint32_t crc, const void* data, size_t size) {
  const auto* bytes = static_cast<const uint8_t*>(data);
  uint32_t value = ~crc;
  for (size_t i = 0; i < size; ++i) {
    value = (value >> 8) ^ kCrcTable[(value ^ bytes[i]) & 0xFF];
  }
  return ~value;
}

bool is_row_major(const Tensor& tensor) {
  int64_t expected = 1;
  for (size_t i = static_cast<size_t>(tensor.dim()); i > 0; --i) {
    if (tensor.sizes()[i - 1] != 1 && tensor.strides()[i - 1] != expected) {
      return false;
    }
    expected *= tensor.sizes()[i - 1];
  }
  return true;
}

/// The CRC of the elements of a tensor that is not empty and not contiguous.
uint32_t crc32_of_strided(uint32_t crc, const Tensor& tensor) {
  const auto sizes = tensor.sizes();
  const auto strides = tensor.strides();
  const auto* data = static_cast<const uint8_t*>(tensor.const_data_ptr());
  const auto bytes = static_cast<size_t>(tensor.element_size());
  int64_t index[kTensorDimensionLimit]{};
  int64_t at = 0;
  for (auto left = tensor.numel(); left > 0; --left) {
    crc = crc32(crc, data + static_cast<size_t>(at) * bytes, bytes);
    for (size_t i = sizes.size(); i > 0; --i) {
      at += strides[i - 1];
      if (++index[i - 1] < sizes[i - 1]) {
        break;
      }
      at -= index[i - 1] * strides[i - 1];
      index[i - 1] = 0;
    }
  }
  return crc;
}

}  // namespace

void InputDigest::add(const EValue& value) {
  switch (value.tag) {
    case Tag::Tensor:
      add_tensor(value.toTensor());
      break;
    case Tag::Int:
      add_type('i');
      add_number(value.toInt());
      break;
    case Tag::Double: {
      const double number = value.toDouble();
      int64_t bits = 0;
      std::memcpy(&bits, &number, sizeof(bits));
      add_type('d');
      add_number(bits);
      break;
    }
    case Tag::Bool: {
      const uint8_t bit = value.toBool() ? 1 : 0;
      add_type('b');
      contents_ = crc32(contents_, &bit, sizeof(bit));
      break;
    }
    case Tag::None:
      add_type('n');
      break;
    default:
      is_known_ = false;
  }
}

void InputDigest::add_tensor(const Tensor& tensor) {
  const bool has_data = tensor.numel() == 0 || tensor.const_data_ptr() != nullptr;
  is_known_ = is_known_ && has_data && static_cast<size_t>(tensor.dim()) <= kTensorDimensionLimit &&
              tensor.device().is_cpu() && ::executorch::runtime::internal::is_dense_on_cpu(tensor);
  if (!is_known_) {
    return;
  }
  add_type('T');
  add_type(static_cast<uint8_t>(tensor.scalar_type()));
  add_number(tensor.dim());
  for (const auto size : tensor.sizes()) {
    add_number(size);
  }
  contents_ = is_row_major(tensor) ? crc32(contents_, tensor.const_data_ptr(), tensor.nbytes())
                                   : crc32_of_strided(contents_, tensor);
}

void InputDigest::add_type(uint8_t type) {
  types_ = crc32(types_, &type, sizeof(type));
}

void InputDigest::add_number(int64_t number) {
  uint8_t bytes[sizeof(number)];
  for (size_t i = 0; i < sizeof(number); ++i) {
    bytes[i] = static_cast<uint8_t>(static_cast<uint64_t>(number) >> (8 * i));
  }
  contents_ = crc32(contents_, bytes, sizeof(bytes));
}

}  // namespace internal
}  // namespace etdump
}  // namespace executorch
