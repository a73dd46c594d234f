// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file
 * The indices of all elements of a tensor, in the order of its sizes, for custom kernels:
 *
 *     for (const auto& indexes : DelinearizedIndexesRange(t)) {
 *       // indexes[d] is the index in dimension d.
 *     }
 *
 * Counting up is faster than dividing for each element, as delinearize_index() does.
 */
#pragma once

#include <array>
#include <cstddef>
#include <iterator>

#include <executorch/runtime/kernel/kernel_includes.h>

namespace torch {
namespace executor {
namespace internal {

class DelinearizedIndexesIterator {
 public:
  using difference_type = ssize_t;
  using value_type = std::array<size_t, kTensorDimensionLimit>;
  using reference = const value_type&;
  using pointer = const value_type*;
  using iterator_category = std::forward_iterator_tag;
  /// Chooses the constructor of the position after the last element.
  struct make_end_t {
    explicit constexpr make_end_t() = default;
  };

  DelinearizedIndexesIterator() = default;
  explicit DelinearizedIndexesIterator(const Tensor& t) : sizes_(t.sizes()) {}
  DelinearizedIndexesIterator(make_end_t /*end*/, const Tensor& t)
      : position_(static_cast<size_t>(t.numel())), sizes_(t.sizes()) {}

  bool operator==(const DelinearizedIndexesIterator& other) const { return position_ == other.position_; }
  bool operator!=(const DelinearizedIndexesIterator& other) const { return !(*this == other); }
  reference operator*() const { return indexes_; }
  pointer operator->() const { return &indexes_; }
  DelinearizedIndexesIterator& operator++() {
    ++position_;
    for (size_t i = sizes_.size(); i-- > 0;) {
      if (++indexes_[i] < static_cast<size_t>(sizes_[i])) {
        break;
      }
      indexes_[i] = 0;
    }
    return *this;
  }
  DelinearizedIndexesIterator operator++(int) {
    const auto before = *this;
    ++*this;
    return before;
  }
  difference_type operator-(const DelinearizedIndexesIterator& other) const {
    return static_cast<difference_type>(position_) - static_cast<difference_type>(other.position_);
  }

 private:
  size_t position_ = 0;
  value_type indexes_ = {};
  ::executorch::aten::ArrayRef<::executorch::aten::SizesType> sizes_;
};

}  // namespace internal

/// The indices of all elements, for a loop.
class DelinearizedIndexesRange {
 public:
  using iterator = internal::DelinearizedIndexesIterator;

  /// Refers to `t`, which must outlive the range.
  explicit DelinearizedIndexesRange(const Tensor& t) : tensor_(t) {}
  iterator begin() const { return iterator(tensor_); }
  iterator end() const { return iterator(iterator::make_end_t(), tensor_); }

 private:
  const Tensor& tensor_;
};

}  // namespace executor
}  // namespace torch
