// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file
 * Conversion between nested values and a list of leaves with a text that describes the structure:
 *
 *     int leaves[] = {1, 2, 3};
 *     auto tree = unflatten("D2#2#1('a':L2#1#1($,$),7:$)", leaves);   // {'a': [1, 2], 7: 3}
 *     tree.at("a")[1] == 2;
 *
 * A leaf is `$`. A node is its kind (L list, T tuple, N named tuple, D dict, C(type) custom), the number of its
 * children, `#` and the number of leaves of each of them, and the children in parentheses, separated by commas; in a
 * dict each after its key, an integer or a string in single quotes, and a colon. An invalid text throws
 * std::out_of_range.
 */
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include <executorch/extension/pytree/container.h>
#include <executorch/extension/pytree/function_ref.h>
#include <executorch/extension/pytree/tree_spec.h>
#include <executorch/extension/pytree/tree_text.h>

namespace executorch {
namespace extension {
namespace pytree {

/// Returns the same tree with other leaves. `leaves` has one for each, in order, or is null if they are not needed.
template <typename T, typename U, typename Aux>
ContainerHandle<U, Aux> clone(const ContainerHandle<T, Aux>& node, U* leaves) {
  if (node.isLeaf()) {
    return ContainerHandle<U, Aux>(leaves);
  }
  ContainerHandle<U, Aux> copy(node.kind(), node.size());
  static_cast<Aux&>(*copy.handle) = *node.handle;
  copy.handle->custom_type = node.handle->custom_type;
  copy.handle->leaves_num = node.leaves_num();
  for (size_t i = 0; i < node.size(); ++i) {
    copy[i] = clone(node[i], leaves);
    leaves = leaves == nullptr ? nullptr : leaves + node[i].leaves_num();
    if (node.isDict()) {
      copy.key(i) = node.key(i);
    }
  }
  return copy;
}

/// Calls `func` for every node, children first.
template <typename T, typename Aux>
void traverse(ContainerHandle<T, Aux>& node, FunctionRef<void(ContainerHandle<T, Aux>&)> func) {
  for (size_t i = 0; i < node.size(); ++i) {
    traverse(node[i], func);
  }
  func(node);
}
template <typename T, typename Aux>
void traverse(const ContainerHandle<T, Aux>& node, FunctionRef<void(const ContainerHandle<T, Aux>&)> func) {
  for (size_t i = 0; i < node.size(); ++i) {
    traverse(node[i], func);
  }
  func(node);
}

/// The tree that a text describes over `leaves`, which it does not own: one for each, in order.
template <typename T, typename Aux>
ContainerHandle<T, Aux> unflatten(const TreeSpec<Aux>& spec, T* leaves) {
  return clone(spec, leaves);
}
template <typename T, typename Aux = Empty>
ContainerHandle<T, Aux> unflatten(const StrTreeSpec& spec, T* leaves) {
  return unflatten(from_str<Aux>(spec), leaves);
}

namespace internal {

/// Writes the leaves in order; returns where the next one goes.
template <typename Tree, typename T>
T** collect_leaves(Tree& tree, T** leaves) {
  if (tree.isLeaf()) {
    *leaves = tree.leaf_ptr();
    return leaves + 1;
  }
  for (size_t i = 0; i < tree.size(); ++i) {
    leaves = collect_leaves(tree[i], leaves);
  }
  return leaves;
}

template <typename T, typename Tree>
auto flatten_tree(Tree& tree) {
  arr<T*> leaves(refresh_leaves_num(tree));
  collect_leaves(tree, leaves.data());
  auto spec = clone(tree, static_cast<TreeSpecLeaf*>(nullptr));
  return std::make_pair(std::move(leaves), std::make_unique<decltype(spec)>(std::move(spec)));
}

}  // namespace internal

/// The leaves in order, and the tree without them.
template <typename T, typename Aux>
std::pair<arr<const T*>, std::unique_ptr<TreeSpec<Aux>>> flatten(const ContainerHandle<T, Aux>& tree) {
  return internal::flatten_tree<const T>(tree);
}
template <typename T, typename Aux>
std::pair<arr<T*>, std::unique_ptr<TreeSpec<Aux>>> flatten(ContainerHandle<T, Aux>& tree) {
  return internal::flatten_tree<T>(tree);
}

/// Writes the leaves in order to `leaves`, which has room for them.
template <typename T, typename Aux>
void flatten_internal(const ContainerHandle<T, Aux>& tree, const T** leaves) {
  internal::collect_leaves(tree, leaves);
}
template <typename T, typename Aux>
void flatten_internal(ContainerHandle<T, Aux>& tree, T** leaves) {
  internal::collect_leaves(tree, leaves);
}

}  // namespace pytree
}  // namespace extension
}  // namespace executorch

namespace torch {
namespace executor {
namespace pytree {
using ::executorch::extension::pytree::Empty;
using ::executorch::extension::pytree::from_str;
using ::executorch::extension::pytree::TreeSpec;
}  // namespace pytree
}  // namespace executor
}  // namespace torch
