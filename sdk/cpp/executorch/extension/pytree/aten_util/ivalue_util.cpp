// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/extension/pytree/aten_util/ivalue_util.h>

#include <ATen/core/Dict.h>
#include <ATen/core/List.h>
#include <ATen/core/jit_type.h>

#include <cstddef>
#include <limits>
#include <stdexcept>
#include <string>

namespace executorch {
namespace extension {

using pytree::Key;
using pytree::Kind;
using Spec = pytree::TreeSpec<pytree::Empty>;

namespace {

/// The maximal nesting depth of values, which is that of the text of a tree.
constexpr size_t kMaxDepth = pytree::kMaxDepth;

void require(bool condition, const std::string& message) {
  if (!condition) {
    throw std::invalid_argument("pytree: " + message);
  }
}

Key key_of(const c10::IValue& key) {
  if (key.isString()) {
    return Key(key.toStringRef());
  }
  require(key.isInt(), "expected a text or an integer as a key of a dict, found " + key.tagKind());
  const int64_t number = key.toInt();
  require(number >= std::numeric_limits<pytree::KeyInt>::min() && number <= std::numeric_limits<pytree::KeyInt>::max(),
          "the key " + std::to_string(number) + " does not fit 32 bits");
  return Key(static_cast<pytree::KeyInt>(number));
}

Spec take_apart(const c10::IValue& value, std::vector<at::Tensor>* tensors, size_t depth) {
  require(depth < kMaxDepth, "the value is nested more than " + std::to_string(kMaxDepth) + " deep");
  if (value.isTensor()) {
    tensors->push_back(value.toTensor());
    Spec leaf;
    leaf.set_leaf(nullptr);
    return leaf;
  }
  if (value.isGenericDict()) {
    const auto dict = value.toGenericDict();
    Spec node(Kind::Dict, dict.size());
    size_t i = 0;
    for (const auto& item : dict) {
      node.key(i) = key_of(item.key());
      node[i++] = take_apart(item.value(), tensors, depth + 1);
    }
    return node;
  }
  require(value.isList() || value.isTuple(), "expected tensors in lists, tuples and dicts, found " + value.tagKind());
  if (value.isTuple()) {
    const auto& tuple = value.toTupleRef();
    const auto type = tuple.type<c10::TupleType>();
    Spec node(type->schema() != nullptr ? Kind::NamedTuple : Kind::Tuple, tuple.elements().size());
    for (size_t i = 0; i < node.size(); ++i) {
      node[i] = take_apart(tuple.elements()[i], tensors, depth + 1);
    }
    return node;
  }
  const auto list = value.toList();
  Spec node(Kind::List, list.size());
  for (size_t i = 0; i < node.size(); ++i) {
    node[i] = take_apart(list.get(i), tensors, depth + 1);
  }
  return node;
}

bool has_only_leaves(const Spec& node) {
  for (size_t i = 0; i < node.size(); ++i) {
    if (!node[i].isLeaf()) {
      return false;
    }
  }
  return true;
}

c10::TypePtr item_type(const Spec& node) {
  return has_only_leaves(node) ? c10::TypePtr(c10::TensorType::get()) : c10::TypePtr(c10::AnyType::get());
}

c10::IValue put_together(const Spec& node, const std::vector<at::Tensor>& tensors, size_t* next) {
  std::vector<c10::IValue> items;
  if (node.isLeaf()) {
    require(*next < tensors.size(), "the tree has more leaves than the " + std::to_string(tensors.size()) + " tensors");
    return tensors[(*next)++];
  }
  for (size_t i = 0; i < node.size(); ++i) {
    items.push_back(put_together(node[i], tensors, next));
  }
  if (node.isTuple() || node.isNamedTuple()) {
    return c10::ivalue::Tuple::create(std::move(items));
  }
  if (node.isList()) {
    c10::impl::GenericList list(item_type(node));
    for (c10::IValue& item : items) {
      list.push_back(std::move(item));
    }
    return list;
  }
  require(node.isDict(), "the tree has a node that is not a list, tuple or dict");
  const bool integers = node.size() > 0 && node.key(0).kind() == Key::Kind::Int;
  c10::impl::GenericDict dict(integers ? c10::TypePtr(c10::IntType::get()) : c10::TypePtr(c10::StringType::get()),
                              item_type(node));
  for (size_t i = 0; i < node.size(); ++i) {
    const Key& key = node.key(i);
    require((key.kind() == Key::Kind::Int) == integers, "a dict has both texts and integers as keys");
    dict.insert(integers ? c10::IValue(static_cast<int64_t>(key.as_int())) : c10::IValue(key.as_str()), items[i]);
  }
  return dict;
}

}  // namespace

std::pair<std::vector<at::Tensor>, std::unique_ptr<Spec>> flatten(const c10::IValue& data) {
  std::vector<at::Tensor> tensors;
  auto spec = std::make_unique<Spec>(take_apart(data, &tensors, 0));
  pytree::refresh_leaves_num(*spec);
  return {std::move(tensors), std::move(spec)};
}

c10::IValue unflatten(const std::vector<at::Tensor>& tensors, const std::unique_ptr<Spec>& tree_spec) {
  require(tree_spec != nullptr && tree_spec->handle != nullptr, "there is no tree");
  size_t next = 0;
  c10::IValue value = put_together(*tree_spec, tensors, &next);
  require(next == tensors.size(),
          "the tree has " + std::to_string(next) + " leaves, there are " + std::to_string(tensors.size()) + " tensors");
  return value;
}

bool is_same(const std::vector<at::Tensor>& a, const std::vector<at::Tensor>& b) {
  if (a.size() != b.size()) {
    return false;
  }
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i].defined() != b[i].defined()) {
      return false;
    }
    if (a[i].defined() && (a[i].scalar_type() != b[i].scalar_type() || !a[i].equal(b[i]))) {
      return false;
    }
  }
  return true;
}

bool is_same(const c10::IValue& lhs, const c10::IValue& rhs) {
  const auto [tensors, tree] = flatten(lhs);
  const auto [other_tensors, other_tree] = flatten(rhs);
  return *tree == *other_tree && is_same(tensors, other_tensors);
}

}  // namespace extension
}  // namespace executorch
