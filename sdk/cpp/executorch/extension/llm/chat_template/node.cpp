// SPDX-License-Identifier: BSD-3-Clause
#include "node.h"

namespace executorch {
namespace extension {
namespace llm {
namespace jinja {

Node::~Node() {
  Node* freed = nullptr;
  const auto detach = [&freed](NodePtr& child) {
    if (child) {
      child->next_freed_ = freed;
      freed = child.release();
    }
  };
  const auto detach_all = [&detach](Node& node) {
    for (NodePtr& child : node.children) {
      detach(child);
    }
    for (auto& argument : node.named) {
      detach(argument.second);
    }
  };
  detach_all(*this);
  while (freed != nullptr) {
    const NodePtr now(freed);
    freed = now->next_freed_;
    detach_all(*now);
  }
}

}  // namespace jinja
}  // namespace llm
}  // namespace extension
}  // namespace executorch
