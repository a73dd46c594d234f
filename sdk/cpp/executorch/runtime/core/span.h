// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>

#include <executorch/runtime/platform/assert.h>

namespace executorch {
namespace runtime {

/**
 * A view of `size()` elements that it does not own; the elements may be written. Cheap to copy.
 *
 * The pointed-to memory must outlive the view.
 */
template <typename T>
class Span final {
 public:
  using value_type = T;
  using iterator = T*;
  using size_type = size_t;

  constexpr Span() noexcept : data_(nullptr), length_(0) {}

  /// @param data May be null only when `length` is 0.
  /* implicit */ constexpr Span(T* data, size_t length) : data_(data), length_(length) {
    ET_DCHECK(data_ != nullptr || length_ == 0);
  }

  /// The elements in [begin, end).
  constexpr Span(T* begin, T* end) : data_(begin), length_(static_cast<size_t>(end - begin)) {}

  template <size_t N>
  /* implicit */ constexpr Span(T (&Arr)[N]) : data_(Arr), length_(N) {}

  /// A view of one element.
  /* implicit */ constexpr Span(T& single_element) : data_(&single_element), length_(1) {}

  iterator begin() const noexcept { return data_; }
  iterator end() const noexcept { return data_ + length_; }
  constexpr bool empty() const noexcept { return length_ == 0; }
  constexpr T* data() const noexcept { return data_; }
  constexpr size_t size() const noexcept { return length_; }

  /// @pre index < size(); checked in debug builds.
  T& operator[](size_t index) const {
    ET_DCHECK_MSG(index < length_, "index %" ET_PRIsize_t " of a span of %" ET_PRIsize_t " elements", index, length_);
    return data_[index];
  }

 private:
  T* data_;
  size_t length_;
};

}  // namespace runtime
}  // namespace executorch

namespace torch {
namespace executor {
using ::executorch::runtime::Span;
}  // namespace executor
}  // namespace torch
