// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <iterator>
#include <type_traits>

namespace c10 {
namespace detail {

template <typename I>
class integer_iterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = I;
  using difference_type = std::ptrdiff_t;
  using pointer = const I*;
  using reference = I;

  explicit constexpr integer_iterator(I value) : value_(value) {}
  constexpr I operator*() const { return value_; }
  constexpr const I* operator->() const { return &value_; }
  constexpr integer_iterator& operator++() {
    ++value_;
    return *this;
  }
  constexpr integer_iterator operator++(int) {
    const integer_iterator before = *this;
    ++value_;
    return before;
  }
  constexpr bool operator==(const integer_iterator& other) const { return value_ == other.value_; }
  constexpr bool operator!=(const integer_iterator& other) const { return value_ != other.value_; }

 private:
  I value_;
};

}  // namespace detail

/// Half-open range of integers; iterate it with a range-based for. Made by irange().
template <typename I>
class integer_range {
 public:
  constexpr integer_range(I begin, I end) : begin_(begin), end_(begin < end ? end : begin) {}
  constexpr detail::integer_iterator<I> begin() const { return detail::integer_iterator<I>(begin_); }
  constexpr detail::integer_iterator<I> end() const { return detail::integer_iterator<I>(end_); }

 private:
  I begin_;
  I end_;
};

/// begin, begin + 1, ..., end - 1 with the type of `end`; empty when end <= begin.
template <typename Begin, typename End,
          std::enable_if_t<std::is_integral<Begin>::value && std::is_integral<End>::value, bool> = true>
constexpr integer_range<End> irange(Begin begin, End end) {
  return {static_cast<End>(begin), end};
}

/// 0, 1, ..., end - 1; empty when end <= 0.
template <typename Integer, std::enable_if_t<std::is_integral<Integer>::value, bool> = true>
constexpr integer_range<Integer> irange(Integer end) {
  return {Integer(0), end};
}

}  // namespace c10
