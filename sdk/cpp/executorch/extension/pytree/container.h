// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file
 * Nested lists, tuples and dicts whose leaves are not owned. Included by pytree.h.
 */
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include <executorch/runtime/platform/compiler.h>

/// The name that existing code uses for functions that must be inlined.
#define EXECUTORCH_ALWAYS_INLINE ET_INLINE

namespace executorch {
namespace extension {
namespace pytree {

/// Throws std::out_of_range unless `must_be_true`: for invalid texts, and for unknown indices and keys.
inline void pytree_check(bool must_be_true) {
  if (!must_be_true) {
    throw std::out_of_range("pytree: the text is not a tree, or there is no such entry");
  }
}

/// The kind of a node.
enum class Kind : uint8_t { List, Tuple, NamedTuple, Dict, Leaf, Custom, None };

using KeyStr = std::string;
using KeyInt = int32_t;

/// A key of a dict: a string or an integer.
class Key {
 public:
  /// The type of the key; None for a key without a value.
  enum class Kind : uint8_t { None, Int, Str };

  Key() = default;
  /*implicit*/ Key(KeyInt key) : kind_(Kind::Int), int_(key) {}
  /*implicit*/ Key(KeyStr key) : kind_(Kind::Str), str_(std::move(key)) {}
  /*implicit*/ Key(const char* key) : Key(KeyStr(key)) {}

  Kind kind() const { return kind_; }
  KeyInt as_int() const {
    pytree_check(kind_ == Kind::Int);
    return int_;
  }
  operator KeyInt() const { return as_int(); }
  const KeyStr& as_str() const {
    pytree_check(kind_ == Kind::Str);
    return str_;
  }
  operator const KeyStr&() const { return as_str(); }

  bool operator==(const Key& rhs) const { return kind_ == rhs.kind_ && int_ == rhs.int_ && str_ == rhs.str_; }
  bool operator!=(const Key& rhs) const { return !(*this == rhs); }

 private:
  Kind kind_ = Kind::None;
  KeyInt int_ = 0;
  KeyStr str_;
};

/// The additional data of a container without any.
struct Empty {};

template <typename T, typename Aux>
struct ContainerHandle;

/// A node. `Aux` is additional data of the application.
template <typename T, typename Aux = Empty>
struct Container : public Aux {
  using handle_type = ContainerHandle<T, Aux>;
  using leaf_type = T;

  Kind kind = Kind::None;
  size_t size = 0;                       ///< Number of children.
  leaf_type* leaf = nullptr;             ///< Not owned by this object.
  std::unique_ptr<handle_type[]> items;  ///< The children.
  std::unique_ptr<Key[]> keys;           ///< For a dict, the key of each child.
  std::string custom_type;
  mutable size_t leaves_num = 0u;  ///< Number of leaves of the whole subtree.

  explicit Container(Kind kind, size_t size = 0u)
      : kind(kind),
        size(size),
        items(size == 0 ? nullptr : std::make_unique<handle_type[]>(size)),
        keys(kind == Kind::Dict && size != 0 ? std::make_unique<Key[]>(size) : nullptr) {}
  explicit Container(leaf_type* leaf) : kind(Kind::Leaf), leaf(leaf), leaves_num(1u) {}

  Container(const Container&) = delete;
  Container& operator=(const Container&) = delete;
};

/// Owns a node and, through it, its subtree. Everything but assignment needs a node.
template <typename T, typename Aux = Empty>
struct ContainerHandle {
  using container_type = Container<T, Aux>;
  using leaf_type = T;

  std::unique_ptr<container_type> handle;

  ContainerHandle() = default;
  template <typename... Args>
  explicit ContainerHandle(Kind kind, Args... args) : handle(std::make_unique<container_type>(kind, args...)) {}
  /*implicit*/ ContainerHandle(leaf_type* leaf) : handle(std::make_unique<container_type>(leaf)) {}
  explicit ContainerHandle(container_type* c) : handle(c) {}
  explicit ContainerHandle(std::unique_ptr<container_type> c) : handle(std::move(c)) {}

  /// Makes this node a leaf.
  void set_leaf(leaf_type* leaf) { handle = std::make_unique<container_type>(leaf); }
  operator leaf_type() const { return leaf(); }
  const leaf_type& leaf() const { return *checked_leaf(); }
  leaf_type& leaf() { return *checked_leaf(); }
  const leaf_type* leaf_ptr() const { return node().leaf; }
  leaf_type* leaf_ptr() { return node().leaf; }

  const ContainerHandle& operator[](size_t idx) const { return child(idx); }
  ContainerHandle& operator[](size_t idx) { return child(idx); }
  /// Whether a dict has this key.
  bool contains(const KeyStr& lookup_key) const { return index_of(Key(lookup_key)) < size(); }
  /// The child with this key; throws std::out_of_range for an unknown key.
  const ContainerHandle& at(const Key& lookup_key) const { return child(index_of(lookup_key)); }
  const ContainerHandle& at(const KeyInt& lookup_key) const { return at(Key(lookup_key)); }
  const ContainerHandle& at(const KeyStr& lookup_key) const { return at(Key(lookup_key)); }
  const ContainerHandle& at(const char* lookup_key) const { return at(Key(lookup_key)); }
  /// Key of a child of a dict.
  const Key& key(size_t idx) const { return checked_key(idx); }
  Key& key(size_t idx) { return checked_key(idx); }

  size_t size() const { return node().size; }
  size_t leaves_num() const { return node().leaves_num; }
  bool isDict() const { return kind() == Kind::Dict; }
  bool isList() const { return kind() == Kind::List; }
  bool isNamedTuple() const { return kind() == Kind::NamedTuple; }
  bool isTuple() const { return kind() == Kind::Tuple; }
  bool isLeaf() const { return kind() == Kind::Leaf; }
  Kind kind() const { return node().kind; }

  /// Whether both have the same nodes and keys. Leaves are always equal; their targets are not compared.
  bool operator==(const ContainerHandle& rhs) const {
    if (handle == nullptr || rhs.handle == nullptr) {
      return handle == rhs.handle;
    }
    if (kind() != rhs.kind() || size() != rhs.size() || handle->custom_type != rhs.handle->custom_type) {
      return false;
    }
    for (size_t i = 0; i < size(); ++i) {
      if ((isDict() && key(i) != rhs.key(i)) || (*this)[i] != rhs[i]) {
        return false;
      }
    }
    return true;
  }
  bool operator!=(const ContainerHandle& rhs) const { return !(*this == rhs); }

 private:
  container_type& node() const {
    pytree_check(handle != nullptr);
    return *handle;
  }
  leaf_type* checked_leaf() const {
    pytree_check(node().leaf != nullptr);
    return node().leaf;
  }
  ContainerHandle& child(size_t idx) const {
    pytree_check(idx < size());
    return handle->items[idx];
  }
  Key& checked_key(size_t idx) const {
    pytree_check(isDict() && idx < size());
    return handle->keys[idx];
  }
  size_t index_of(const Key& lookup_key) const {
    pytree_check(isDict());
    size_t index = 0;
    while (index < size() && handle->keys[index] != lookup_key) {
      ++index;
    }
    return index;
  }
};

}  // namespace pytree
}  // namespace extension
}  // namespace executorch
