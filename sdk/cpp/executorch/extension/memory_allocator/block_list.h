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

/// Blocks of malloc in a list that runs through the blocks themselves: to remember one takes no memory that may be
/// missing.
class BlockList final {
 public:
  /// Aligned like malloc: so are the bytes behind it.
  struct alignas(std::max_align_t) Block {
    Block* next;
    size_t size;  ///< bytes behind the block's head
  };

  BlockList() = default;
  BlockList(const BlockList&) = delete;
  BlockList& operator=(const BlockList&) = delete;
  ~BlockList() { free_all(); }

  /// A block with room for `size` bytes, which is in no list yet; null when it cannot be had.
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

  /// Takes out the newest block, or the newest of exactly `size` bytes; null when there is none.
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
