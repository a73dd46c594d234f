// SPDX-License-Identifier: BSD-3-Clause
#include "kernels/portable/cpu/pattern/block_reader.h"

#include <algorithm>
#include <cstring>

#include "kernels/portable/cpu/pattern/element_size.h"

namespace torch::executor::native {
void gather(void* dst, const char* src, int64_t stride, size_t element_size, size_t count) {
  with_element_size(element_size, [&](auto tag) {
    auto* to = static_cast<decltype(tag)*>(dst);
    const auto* from = reinterpret_cast<const decltype(tag)*>(src);
    for (size_t i = 0; i < count; ++i) {
      to[i] = from[static_cast<int64_t>(i) * stride];
    }
  });
}

void scatter(char* dst, int64_t stride, const void* src, size_t element_size, size_t count) {
  with_element_size(element_size, [&](auto tag) {
    auto* to = reinterpret_cast<decltype(tag)*>(dst);
    const auto* from = static_cast<const decltype(tag)*>(src);
    for (size_t i = 0; i < count; ++i) {
      to[static_cast<int64_t>(i) * stride] = from[i];
    }
  });
}

void repeat_first(void* dst, size_t element_size, size_t count) {
  with_element_size(element_size, [&](auto tag) {
    auto* to = static_cast<decltype(tag)*>(dst);
    std::fill(to + 1, to + count, to[0]);
  });
}

void BlockReader::start(const void* data, ScalarType dtype, ComputeType type, int64_t stride) {
  data_ = static_cast<const char*>(data);
  element_size_ = executorch::runtime::elementSize(dtype);
  value_size_ = compute_size(type);
  stride_ = stride;
  type_ = type;
  convert_ = is_same_representation(dtype, type) ? nullptr : load_fn(dtype, type);
  rounding_ = Rounding();
  repeated_ = nullptr;
}

void BlockReader::start_repeating(const void* data, ComputeType type) {
  data_ = static_cast<const char*>(data);
  element_size_ = value_size_ = compute_size(type);
  stride_ = 0;
  type_ = type;
  convert_ = nullptr;
  rounding_ = Rounding();
  repeated_ = nullptr;
}

const void* BlockReader::read(int64_t offset, size_t count) {
  const char* from = data_ + offset * static_cast<int64_t>(element_size_);
  if (is_direct()) {
    return from;
  }
  if (stride_ == 0) {
    if (repeated_ != from) {
      convert_ != nullptr ? convert_(values_, from, 1) : void(std::memcpy(values_, from, value_size_));
      if (rounding_) {
        rounding_.apply(values_, raw_, 1);
      }
      repeat_first(values_, value_size_, count);
      repeated_ = from;
    }
    return values_;
  }
  if (convert_ == nullptr) {
    gather(values_, from, stride_, element_size_, count);
  } else if (stride_ == 1) {
    convert_(values_, from, count);
  } else {
    gather(raw_, from, stride_, element_size_, count);
    convert_(values_, raw_, count);
  }
  if (rounding_) {
    rounding_.apply(values_, raw_, count);
  }
  return values_;
}

BlockWriter::BlockWriter(void* data, ScalarType dtype, ComputeType type, int64_t stride)
    : data_(static_cast<char*>(data)),
      element_size_(executorch::runtime::elementSize(dtype)),
      stride_(stride),
      type_(type) {
  const bool is_logic = dtype == ScalarType::Bool && type == ComputeType::Bool;  // already 0 or 1
  if (!is_logic && !is_same_representation(dtype, type)) {
    convert_ = store_fn(type, dtype);
  }
}

void BlockWriter::commit(int64_t offset, size_t count) {
  if (is_direct()) {
    return;
  }
  if (rounding_) {
    rounding_.apply(values_, raw_, count);
  }
  if (stride_ == 1) {
    convert_ != nullptr ? convert_(address(offset), values_, count)
                        : void(std::memcpy(address(offset), values_, count * element_size_));
    return;
  }
  const void* elements = values_;
  if (convert_ != nullptr) {
    convert_(raw_, values_, count);
    elements = raw_;
  }
  scatter(address(offset), stride_, elements, element_size_, count);
}

}  // namespace torch::executor::native
