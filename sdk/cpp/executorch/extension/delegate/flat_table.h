// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file
 * Reads flatbuffers of untrusted bytes without generated code: every access is checked when it is made, and needs no
 * alignment. For files with unaligned sections, and for the few options of a vendor's compiler that a delegate needs.
 */
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace executorch {
namespace extension {
namespace delegate {

/// The bytes of one flatbuffer. After an access out of bounds, or to an invalid structure, is_damaged() is true, and
/// the result of the access is zero or empty.
class FlatBytes final {
 public:
  FlatBytes(const uint8_t* data, size_t size) : data_(data), size_(size) {}

  bool is_damaged() const { return is_damaged_; }
  size_t size() const { return size_; }

  /// Whether `count` elements of `width` bytes at `at` are inside.
  bool has(uint64_t at, uint64_t count, uint64_t width) {
    const bool inside = at <= size_ && count <= (size_ - at) / width;
    is_damaged_ = is_damaged_ || !inside;
    return inside;
  }

  template <typename T>
  T number(uint64_t at) {
    T value{};
    if (has(at, 1, sizeof(T))) {
      std::memcpy(&value, data_ + at, sizeof(T));
    }
    return value;
  }

  /// The position to which the offset at `at` leads; 0, which is never a table's position, if that is out of bounds.
  uint64_t follow(uint64_t at) {
    const uint64_t target = at + number<uint32_t>(at);
    return has(target, 1, sizeof(uint32_t)) ? target : 0;
  }

  const uint8_t* data() const { return data_; }
  void damage() { is_damaged_ = true; }

 private:
  const uint8_t* data_;
  size_t size_;
  bool is_damaged_ = false;
};

/// A vector: the count, then the elements.
class FlatVector final {
 public:
  FlatVector() = default;
  FlatVector(FlatBytes& bytes, uint64_t at, size_t width) : bytes_(&bytes), at_(at + sizeof(uint32_t)) {
    const uint32_t count = bytes.number<uint32_t>(at);
    size_ = bytes.has(at_, count, width) ? count : 0;
  }

  uint32_t size() const { return size_; }
  const uint8_t* data() const { return size_ == 0 ? nullptr : bytes_->data() + at_; }
  template <typename T>
  T number(uint32_t index) const {
    return bytes_->number<T>(at_ + uint64_t{index} * sizeof(T));
  }

 private:
  friend class FlatTable;
  FlatBytes* bytes_ = nullptr;
  uint64_t at_ = 0;
  uint32_t size_ = 0;
};

/// A table, whose fields are read by their numbers in the schema. A field that is not stored is zero or empty.
class FlatTable final {
 public:
  FlatTable(FlatBytes& bytes, uint64_t at) : bytes_(bytes), at_(at) {
    const int64_t vtable = static_cast<int64_t>(at) - bytes.number<int32_t>(at);
    if (vtable < 0) {
      bytes.damage();
      return;
    }
    vtable_ = static_cast<uint64_t>(vtable);
    const uint16_t size = bytes.number<uint16_t>(vtable_);
    vtable_size_ = size >= 4 && bytes.has(vtable_, size, 1) ? size : 0;
    if (vtable_size_ == 0) {
      bytes.damage();
    }
  }
  /// The root of a buffer.
  static FlatTable root(FlatBytes& bytes) { return {bytes, bytes.follow(0)}; }

  template <typename T>
  T number(uint32_t field, T absent = 0) const {
    const uint64_t at = position(field);
    return at == 0 ? absent : bytes_.number<T>(at);
  }
  FlatVector vector(uint32_t field, size_t width) const {
    const uint64_t at = position(field);
    return at == 0 ? FlatVector() : FlatVector(bytes_, bytes_.follow(at), width);
  }
  std::string_view text(uint32_t field) const {
    const FlatVector characters = vector(field, 1);
    return {reinterpret_cast<const char*>(characters.data()), characters.size()};
  }
  /// The tables of a vector are read with element().
  FlatVector tables(uint32_t field) const { return vector(field, sizeof(uint32_t)); }
  FlatTable element(const FlatVector& tables, uint32_t index) const {
    return {bytes_, bytes_.follow(tables.at_ + uint64_t{index} * sizeof(uint32_t))};
  }
  bool has(uint32_t field) const { return position(field) != 0; }
  /// Only if has(field).
  FlatTable table(uint32_t field) const { return {bytes_, bytes_.follow(position(field))}; }

 private:
  /// The position of a field; 0 if the table does not have it.
  uint64_t position(uint32_t field) const {
    const uint64_t slot = 4 + 2 * uint64_t{field};
    if (slot + 2 > vtable_size_) {
      return 0;
    }
    const uint16_t offset = bytes_.number<uint16_t>(vtable_ + slot);
    return offset == 0 ? 0 : at_ + offset;
  }

  FlatBytes& bytes_;
  uint64_t at_;
  uint64_t vtable_ = 0;
  uint16_t vtable_size_ = 0;
};

}  // namespace delegate
}  // namespace extension
}  // namespace executorch
