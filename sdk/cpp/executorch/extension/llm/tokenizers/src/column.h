// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <vector>

namespace tokenizers::detail {

/// An array that owns its memory, and can be changed, or a view of a loaded file, which cannot.
template <typename T>
class Column {
 public:
  Column() = default;
  Column(Column&&) = default;
  Column& operator=(Column&&) = default;
  Column(const Column&) = delete;
  Column& operator=(const Column&) = delete;

  const T* data() const { return data_; }
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  const T& operator[](size_t i) const { return data_[i]; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }

  /// An element of an array that is not a view.
  T& change(size_t i) { return own_[i]; }
  /// Calls `edit(std::vector<T>&)`. The vector of a view is empty.
  template <typename Edit>
  void edit(const Edit& edit) {
    edit(own_);
    data_ = own_.data();
    size_ = own_.size();
  }
  /// `data` must outlive this.
  void view(const T* data, size_t size) {
    own_.clear();
    data_ = data;
    size_ = size;
  }

 private:
  std::vector<T> own_;
  const T* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace tokenizers::detail
