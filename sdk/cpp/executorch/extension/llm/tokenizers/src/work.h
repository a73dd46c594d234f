// SPDX-License-Identifier: BSD-3-Clause
// Limits for the work that a tokenizer's file can cause in one call.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include <executorch/extension/llm/limits/budget.h>
#include <pytorch/tokenizers/error.h>

namespace tokenizers::detail {

/// The budget of one call, which grows linearly with its input: about ten times what real tokenizers use. A step is a
/// byte that is read, or a look-up. Charges come before the work and before the memory.
class Work final {
 public:
  enum class Kind { kLoad, kEncode, kDecode };

  /// `input`: bytes of the file or of the text, or the number of ids to decode.
  Work(Kind kind, size_t input);

  /// Error::LoadFailure, EncodeFailure or DecodeFailure, with a message, if fewer steps are left.
  Error steps(uint64_t count) { return budget_.step(count) ? Error::Ok : too_much("steps of work", most_steps_); }
  Error take(uint64_t bytes) { return budget_.take(bytes) ? Error::Ok : too_much("bytes of memory", most_bytes_); }
  void give_back(uint64_t bytes) { budget_.give_back(bytes); }
  uint64_t steps_left() const { return budget_.steps_left(); }

 private:
  Error too_much(const char* what, uint64_t most) const;

  Kind kind_;
  uint64_t most_steps_;
  uint64_t most_bytes_;
  executorch::extension::llm::Budget budget_;
};

/// The bytes that a string has on the heap.
inline size_t heap_bytes(const std::string& text) {
  return text.capacity() > std::string().capacity() ? text.capacity() + 1 : 0;
}

/// A text that is made to replace another, which was charged by its heap_bytes().
class NewText final {
 public:
  explicit NewText(Work& work) : work_(work) {}
  ~NewText() { work_.give_back(heap_bytes(text_)); }
  NewText(const NewText&) = delete;
  NewText& operator=(const NewText&) = delete;

  Error append(std::string_view part) {
    TK_CHECK_OK_OR_RETURN_ERROR(work_.steps(part.size()));
    TK_CHECK_OK_OR_RETURN_ERROR(make_room(part.size()));
    text_ += part;
    return Error::Ok;
  }
  /// Charges `count` more bytes, which may then be appended to text().
  Error make_room(size_t count) {
    const size_t size = text_.size() + count;
    return size <= text_.capacity() ? Error::Ok : grow(std::max(size, 2 * text_.capacity()));
  }
  std::string& text() { return text_; }

  /// Replaces `text` by the new text, which is then empty here.
  void replace(std::string& text) {
    work_.give_back(heap_bytes(text));
    text = std::move(text_);
    text_ = std::string();
  }

 private:
  Error grow(size_t capacity) {
    TK_CHECK_OK_OR_RETURN_ERROR(work_.take(capacity + 1));
    const size_t before = heap_bytes(text_);
    text_.reserve(capacity);
    // Capacity beyond the requested size is charged, too.
    const size_t beyond = heap_bytes(text_) - std::min(heap_bytes(text_), capacity + 1);
    work_.give_back(before);
    return work_.take(beyond);
  }

  Work& work_;
  std::string text_;
};

}  // namespace tokenizers::detail
