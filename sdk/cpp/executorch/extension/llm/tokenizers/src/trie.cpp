// SPDX-License-Identifier: BSD-3-Clause
#include "trie.h"

namespace tokenizers::detail {

void Trie::set(std::string_view key, uint32_t value) {
  if (key.empty()) {
    return;
  }
  uint32_t node = root();
  for (const char c : key) {
    const auto byte = static_cast<unsigned char>(c);
    uint32_t slot = find(node, byte);
    if (edges_[slot].child == kNothing) {
      // Every node except the root uses a slot. At most half of the slots are used.
      if (values_.size() * 2 > edges_.size()) {
        std::vector<Edge> old(edges_.size() * 2);
        old.swap(edges_);
        mask_ = static_cast<uint32_t>(edges_.size() - 1);
        for (const Edge& edge : old) {
          if (edge.child != kNothing) {
            edges_[find(edge.parent, edge.byte)] = edge;
          }
        }
        slot = find(node, byte);
      }
      edges_[slot] = {node, static_cast<uint32_t>(values_.size()), byte};
      values_.push_back(kNothing);
    }
    node = edges_[slot].child;
  }
  values_[node] = value;
}

}  // namespace tokenizers::detail
