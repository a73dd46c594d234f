// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace tokenizers::detail {

/// Keys by their bytes. Finds all keys that a text begins with in one pass.
class Trie {
 public:
  static constexpr uint32_t kNothing = 0xFFFFFFFFU;

  /// Sets the value of a key, and replaces an earlier one. An empty key has no effect.
  void set(std::string_view key, uint32_t value);
  bool empty() const { return values_.size() == 1; }

  /// A position in the trie: begins at the root.
  uint32_t root() const { return 0; }
  /// kNothing if no key continues with that byte.
  uint32_t step(uint32_t node, char byte) const {
    const uint32_t slot = find(node, static_cast<unsigned char>(byte));
    return edges_[slot].child;
  }
  /// kNothing if no key ends here.
  uint32_t value(uint32_t node) const { return values_[node]; }

  /// Calls `found(length, value)` for every key that `text` begins with, the shortest first. Returns how many bytes it
  /// has read.
  template <typename Found>
  size_t prefixes(std::string_view text, Found&& found) const {
    uint32_t node = root();
    for (size_t i = 0; i < text.size(); i++) {
      node = step(node, text[i]);
      if (node == kNothing) {
        return i + 1;
      }
      if (values_[node] != kNothing) {
        found(i + 1, values_[node]);
      }
    }
    return text.size();
  }

 private:
  struct Edge {
    uint32_t parent = kNothing;
    uint32_t child = kNothing;
    uint32_t byte = 0;
  };
  /// The slot of an edge, or the free one where it would be.
  uint32_t find(uint32_t node, uint32_t byte) const {
    const uint64_t hash = (static_cast<uint64_t>(node) << 8 | byte) * 0x9E3779B97F4A7C15U;
    auto slot = static_cast<uint32_t>(hash >> 32) & mask_;
    while (edges_[slot].child != kNothing && (edges_[slot].parent != node || edges_[slot].byte != byte)) {
      slot = (slot + 1) & mask_;
    }
    return slot;
  }

  std::vector<uint32_t> values_ = std::vector<uint32_t>(1, kNothing);
  std::vector<Edge> edges_ = std::vector<Edge>(16);
  uint32_t mask_ = 15;
};

}  // namespace tokenizers::detail
