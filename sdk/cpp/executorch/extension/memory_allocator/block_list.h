// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <utility>

#include <executorch/runtime/core/result.h>

namespace executorch {
namespace extension {
namespace internal {

/// An intrusive list of blocks from malloc: adding a block allocates nothing and cannot
/// fail.
class BlockList final {
 public:
  /// Aligned like memory of malloc, and so are the bytes after it.
  struct alignas(std::max_align_t) Block {
    Block* next;
    size_t size;  ///< bytes after the block's header
  };

  BlockList() = default;
  BlockList(const BlockList&) = delete;
  BlockList& operator=(const BlockList&) = delete;
  ~BlockList() { free_all(); }

  /// A block of `size` bytes, which is not in a list yet; null if the allocation fails.
  static Block* make(size_t size) {
    if (size > SIZE_MAX - sizeof(Block)) {
      return nullptr;
    }
    auto* block = static_cast<Block*>(std::malloc(sizeof(Block) + size));
    if (block != nullptr) {
      block->size = size;
    }
    return block;
  }

  void push(Block* block) {
    block->next = first_;
    first_ = block;
  }

  /// Removes the newest block, or the newest of exactly `size` bytes; null if there is none.
  Block* pop() { return unlink(&first_); }
  Block* pop(size_t size) {
    Block** link = &first_;
    while (*link != nullptr && (*link)->size != size) {
      link = &(*link)->next;
    }
    return unlink(link);
  }

  void free_all() {
    while (first_ != nullptr) {
      std::free(pop());
    }
  }

 private:
  static Block* unlink(Block** link) {
    Block* block = *link;
    if (block != nullptr) {
      *link = block->next;
    }
    return block;
  }

  Block* first_ = nullptr;
};

}  // namespace internal
}  // namespace extension
}  // namespace executorch
