// SPDX-License-Identifier: BSD-3-Clause
// Reads and writes runs of elements (equally spaced in memory) as values of a compute type, a block at a time.
#pragma once

#include <cstddef>

#include "kernels/portable/cpu/pattern/compute_type.h"

namespace torch::executor::native {

/// The elements of a block; buffers of this many values are on the stack.
constexpr size_t kBlock = 128;

/// Copies `count` elements of `element_size` bytes (1, 2, 4 or 8), `stride` elements apart, to `dst`.
void gather(void* dst, const char* src, int64_t stride, size_t element_size, size_t count);

/// The inverse of gather.
void scatter(char* dst, int64_t stride, const void* src, size_t element_size, size_t count);

/// Copies the first of `count` elements of `element_size` bytes (1, 2, 4 or 8) to all others.
void repeat_first(void* dst, size_t element_size, size_t count);

/// Reads from the memory of one tensor.
class BlockReader {
 public:
  BlockReader() = default;
  /// `stride`: the distance between elements of a block, in elements.
  BlockReader(const void* data, ScalarType dtype, ComputeType type, int64_t stride) {
    start(data, dtype, type, stride);
  }
  BlockReader(const Tensor& tensor, ComputeType type, int64_t stride)
      : BlockReader(tensor.const_data_ptr(), tensor.scalar_type(), type, stride) {}
  // Not copyable: copying the buffers would often cost more than reading a block.
  BlockReader(const BlockReader&) = delete;
  BlockReader& operator=(const BlockReader&) = delete;

  /// Makes the next reads read from `data`.
  void start(const void* data, ScalarType dtype, ComputeType type, int64_t stride);

  /// Makes every block the value of the compute type at `data`, repeated.
  void start_repeating(const void* data, ComputeType type);

  /// Makes the next reads round values to what that dtype can hold. To be called after start() or start_repeating().
  void round_to(ScalarType dtype) { rounding_ = Rounding(type_, dtype); }

  /// Whether any number of elements can be read at once, because they are used in place.
  bool is_direct() const { return stride_ == 1 && convert_ == nullptr && !rounding_; }

  /// Returns `count` values, from element `offset` of the tensor on, which are valid until the next call. At most
  /// kBlock unless is_direct(). If the stride is 0, no later call with the same offset may ask for more than the first
  /// one did.
  const void* read(int64_t offset, size_t count);

  int64_t stride() const { return stride_; }

 private:
  const char* data_ = nullptr;
  size_t element_size_ = 0;
  size_t value_size_ = 0;
  int64_t stride_ = 0;
  ComputeType type_ = ComputeType::Float;
  ConvertFn convert_ = nullptr;  // null: elements have the representation of the compute type
  Rounding rounding_;
  const char* repeated_ = nullptr;
  alignas(16) char raw_[kBlock * sizeof(int64_t)];
  alignas(16) char values_[kBlock * sizeof(int64_t)];
};

/// Writes to the memory of one tensor.
class BlockWriter {
 public:
  BlockWriter(void* data, ScalarType dtype, ComputeType type, int64_t stride);
  BlockWriter(const Tensor& tensor, ComputeType type, int64_t stride)
      : BlockWriter(tensor.mutable_data_ptr(), tensor.scalar_type(), type, stride) {}

  /// Makes the next writes round values to what that dtype can hold.
  void round_to(ScalarType dtype) { rounding_ = Rounding(type_, dtype); }

  bool is_direct() const { return stride_ == 1 && convert_ == nullptr && !rounding_; }

  /// The address to which the values of the elements from `offset` on are written. Must be followed by commit().
  void* begin(int64_t offset) { return is_direct() ? address(offset) : values_; }
  void commit(int64_t offset, size_t count);

  int64_t stride() const { return stride_; }

 private:
  char* address(int64_t offset) const { return data_ + offset * static_cast<int64_t>(element_size_); }

  char* data_;
  size_t element_size_;
  int64_t stride_;
  ComputeType type_;
  ConvertFn convert_ = nullptr;
  Rounding rounding_;
  alignas(16) char raw_[kBlock * sizeof(int64_t)];
  alignas(16) char values_[kBlock * sizeof(int64_t)];
};

}  // namespace torch::executor::native
