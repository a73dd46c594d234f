// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file
 * Writes and reads the text of a tree. pytree.h describes the format.
 */
#pragma once

#include <cstddef>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <executorch/extension/pytree/tree_spec.h>

namespace executorch {
namespace extension {
namespace pytree {

/// The deepest nesting that is read: deeper nesting could overflow the stack of a thread.
inline constexpr size_t kMaxDepth = 256;

/// to_str() of a tree whose leaves are counted.
template <typename Aux>
StrTreeSpec to_str_internal(const TreeSpec<Aux>& spec) {
  StrTreeSpec text;
  switch (spec.kind()) {
    case Kind::Leaf:
      return StrTreeSpec(1, Config::kLeaf);
    case Kind::List:
      text = Config::kList;
      break;
    case Kind::Tuple:
      text = Config::kTuple;
      break;
    case Kind::NamedTuple:
      text = Config::kNamedTuple;
      break;
    case Kind::Dict:
      text = Config::kDict;
      break;
    case Kind::Custom:
      pytree_check(spec.handle->custom_type.find_first_of("()") == std::string::npos);
      text = Config::kCustom;
      text += Config::kNodeDataBegin + spec.handle->custom_type + Config::kNodeDataEnd;
      break;
    case Kind::None:
      pytree_check(false);
  }
  text += std::to_string(spec.size());
  for (size_t i = 0; i < spec.size(); ++i) {
    text += Config::kChildrenDataSep + std::to_string(spec[i].leaves_num());
  }
  text += Config::kNodeDataBegin;
  for (size_t i = 0; i < spec.size(); ++i) {
    if (i > 0) {
      text += Config::kChildrenSep;
    }
    if (spec.isDict()) {
      const Key& key = spec.key(i);
      if (key.kind() == Key::Kind::Int) {
        text += std::to_string(key.as_int());
      } else {
        pytree_check(key.as_str().find(Config::kDictStrKeyQuote) == std::string::npos);
        text += Config::kDictStrKeyQuote + key.as_str() + Config::kDictStrKeyQuote;
      }
      text += Config::kDictKeyValueSep;
    }
    text += to_str_internal(spec[i]);
  }
  return text + Config::kNodeDataEnd;
}

/// The text of a tree. Throws std::out_of_range for a missing kind, a quote in a key, or a parenthesis in a type.
template <typename Aux>
StrTreeSpec to_str(const TreeSpec<Aux>& spec) {
  refresh_leaves_num(spec);
  return to_str_internal(spec);
}

/// The decimal number at `read_idx`, which is moved past it.
inline size_t read_number(const StrTreeSpec& spec, size_t& read_idx) {
  size_t number = 0;
  const size_t begin = read_idx;
  for (; read_idx < spec.size() && spec[read_idx] >= '0' && spec[read_idx] <= '9'; ++read_idx) {
    const auto digit = static_cast<size_t>(spec[read_idx] - '0');
    pytree_check(number <= (std::numeric_limits<size_t>::max() - digit) / 10);
    number = number * 10 + digit;
  }
  pytree_check(read_idx > begin);
  return number;
}

/// The numbers of leaves of the children of the node at `read_idx`, which is moved past them.
inline arr<size_t> read_node_layout(const StrTreeSpec& spec, size_t& read_idx) {
  const size_t children = read_number(spec, read_idx);
  pytree_check(children <= spec.size());  // each child takes at least one character
  arr<size_t> layout(children);
  for (size_t& leaves : layout) {
    pytree_check(read_idx < spec.size() && spec[read_idx] == Config::kChildrenDataSep);
    ++read_idx;
    leaves = read_number(spec, read_idx);
  }
  return layout;
}

/// For every `(` and `,` of a text, the index of the next `,` or `)` of the same node; 0 elsewhere.
inline arr<size_t> pre_parse(const StrTreeSpec& spec) {
  arr<size_t> next(spec.size());
  std::vector<size_t> open;  // the last separator of each node that is not closed yet
  bool in_key = false;
  for (size_t i = 0; i < spec.size(); ++i) {
    next[i] = 0;
    in_key = in_key != (spec[i] == Config::kDictStrKeyQuote);
    if (in_key) {
      continue;
    }
    if (spec[i] == Config::kNodeDataBegin) {
      pytree_check(open.size() < kMaxDepth);
      open.push_back(i);
    } else if (spec[i] == Config::kChildrenSep || spec[i] == Config::kNodeDataEnd) {
      pytree_check(!open.empty());
      next[open.back()] = i;
      open.back() = i;
      if (spec[i] == Config::kNodeDataEnd) {
        open.pop_back();
      }
    }
  }
  pytree_check(open.empty() && !in_key);
  return next;
}

namespace internal {

/// The key at `read_idx`, which is moved past the colon after it.
inline Key read_key(const StrTreeSpec& spec, size_t& read_idx) {
  Key key;
  if (read_idx < spec.size() && spec[read_idx] == Config::kDictStrKeyQuote) {
    const size_t end = spec.find(Config::kDictStrKeyQuote, read_idx + 1);
    pytree_check(end != StrTreeSpec::npos);
    key = spec.substr(read_idx + 1, end - read_idx - 1);
    read_idx = end + 1;
  } else {
    const bool negative = read_idx < spec.size() && spec[read_idx] == '-';
    read_idx += negative ? 1 : 0;
    const size_t number = read_number(spec, read_idx);
    pytree_check(number <= static_cast<size_t>(std::numeric_limits<KeyInt>::max()));
    key = negative ? -static_cast<KeyInt>(number) : static_cast<KeyInt>(number);
  }
  pytree_check(read_idx < spec.size() && spec[read_idx] == Config::kDictKeyValueSep);
  ++read_idx;
  return key;
}

/// The tree at `read_idx`, which is moved past it.
template <typename Aux>
TreeSpec<Aux> read_tree(const StrTreeSpec& spec, size_t& read_idx, const arr<size_t>& next) {
  pytree_check(read_idx < spec.size());
  const char kind = spec[read_idx++];
  std::string custom_type;
  TreeSpec<Aux> tree;
  if (kind == Config::kLeaf) {
    tree.set_leaf(nullptr);
    return tree;
  }
  if (kind == Config::kCustom) {
    pytree_check(read_idx < spec.size() && spec[read_idx] == Config::kNodeDataBegin && next[read_idx] != 0);
    custom_type = spec.substr(read_idx + 1, next[read_idx] - read_idx - 1);
    read_idx = next[read_idx] + 1;
  }
  const arr<size_t> layout = read_node_layout(spec, read_idx);
  constexpr std::pair<char, Kind> kKinds[] = {{Config::kList, Kind::List},
                                              {Config::kTuple, Kind::Tuple},
                                              {Config::kNamedTuple, Kind::NamedTuple},
                                              {Config::kDict, Kind::Dict},
                                              {Config::kCustom, Kind::Custom}};
  for (const auto& [letter, node_kind] : kKinds) {
    if (kind == letter) {
      tree = TreeSpec<Aux>(node_kind, layout.size());
    }
  }
  pytree_check(tree.handle != nullptr && read_idx < spec.size() && spec[read_idx] == Config::kNodeDataBegin);
  tree.handle->custom_type = std::move(custom_type);
  for (size_t i = 0; i < layout.size(); ++i) {
    const size_t end = next[read_idx];  // of this child
    ++read_idx;
    if (tree.isDict()) {
      tree.key(i) = read_key(spec, read_idx);
    }
    tree[i] = read_tree<Aux>(spec, read_idx, next);
    pytree_check(read_idx == end && tree[i].leaves_num() == layout[i]);
    tree.handle->leaves_num += layout[i];
  }
  read_idx += layout.size() == 0 ? 1 : 0;
  pytree_check(read_idx < spec.size() && spec[read_idx] == Config::kNodeDataEnd);
  ++read_idx;
  return tree;
}

}  // namespace internal

/// The tree at `read_idx` of a text; `spec_data` is pre_parse() of it.
template <typename Aux>
TreeSpec<Aux> from_str_internal(const StrTreeSpec& spec, size_t read_idx, const arr<size_t>& spec_data) {
  return internal::read_tree<Aux>(spec, read_idx, spec_data);
}

/// The tree that a text describes. Throws std::out_of_range if the text is invalid.
template <typename Aux = Empty>
TreeSpec<Aux> from_str(const StrTreeSpec& spec) {
  size_t read_idx = 0;
  TreeSpec<Aux> tree = internal::read_tree<Aux>(spec, read_idx, pre_parse(spec));
  pytree_check(read_idx == spec.size());
  return tree;
}

}  // namespace pytree
}  // namespace extension
}  // namespace executorch
