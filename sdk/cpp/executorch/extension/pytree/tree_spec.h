// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file
 * A tree without its leaves, the characters of its text, and the containers that reading it needs.
 */
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include <executorch/extension/pytree/container.h>

namespace executorch {
namespace extension {
namespace pytree {

/// The leaves of a TreeSpec, which have no value.
struct TreeSpecLeaf {};

/// A tree without its leaves.
template <typename Aux = Empty>
using TreeSpec = ContainerHandle<TreeSpecLeaf, Aux>;
template <typename Aux = Empty>
using TreeSpecContainer = Container<TreeSpecLeaf, Aux>;
using StrTreeSpec = std::string;

/// The characters of the text.
struct Config final {
  static constexpr char kTuple = 'T';
  static constexpr char kNamedTuple = 'N';
  static constexpr char kList = 'L';
  static constexpr char kDict = 'D';
  static constexpr char kCustom = 'C';
  static constexpr char kLeaf = '$';
  static constexpr char kNodeDataBegin = '(';
  static constexpr char kNodeDataEnd = ')';
  static constexpr char kDictStrKeyQuote = '\'';
  static constexpr char kDictKeyValueSep = ':';
  static constexpr char kChildrenSep = ',';
  static constexpr char kChildrenDataSep = '#';
};

/// An array whose size is set once.
template <typename T>
struct arr {
  explicit arr(const size_t n) : data_(n == 0 ? nullptr : std::make_unique<T[]>(n)), size_(n) {}

  T& operator[](size_t idx) { return data_[idx]; }
  const T& operator[](size_t idx) const { return data_[idx]; }
  /// The entry; throws std::out_of_range if it does not exist.
  T& at(size_t idx) {
    pytree_check(idx < size_);
    return data_[idx];
  }
  const T& at(size_t idx) const {
    pytree_check(idx < size_);
    return data_[idx];
  }
  inline T* data() { return data_.get(); }
  T* begin() { return data_.get(); }
  T* end() { return data_.get() + size_; }
  const T* begin() const { return data_.get(); }
  const T* end() const { return data_.get() + size_; }
  inline size_t size() const { return size_; }

 private:
  std::unique_ptr<T[]> data_;
  size_t size_;
};

/// A stack of at most SIZE entries. Throws std::out_of_range if it is full or empty.
template <typename T>
struct stack final {
  constexpr static const size_t SIZE = 8;

  size_t size_ = 0;
  T data[SIZE];

  /// push() adds an entry, pop() removes and returns the last one, top() returns a reference to it.
  void push(T&& item) {
    pytree_check(size_ < SIZE);
    data[size_++] = std::move(item);
  }
  T pop() {
    pytree_check(size_ > 0);
    return std::move(data[--size_]);
  }
  T& top() {
    pytree_check(size_ > 0);
    return data[size_ - 1];
  }
  size_t size() { return size_; }
};

/// Counts the leaves of every node, and returns those of `node`. For trees that were built by hand.
template <typename T, typename Aux>
size_t refresh_leaves_num(const ContainerHandle<T, Aux>& node) {
  if (!node.isLeaf()) {
    size_t leaves_num = 0;
    for (size_t i = 0; i < node.size(); ++i) {
      leaves_num += refresh_leaves_num(node[i]);
    }
    node.handle->leaves_num = leaves_num;
  }
  return node.leaves_num();
}

}  // namespace pytree
}  // namespace extension
}  // namespace executorch
