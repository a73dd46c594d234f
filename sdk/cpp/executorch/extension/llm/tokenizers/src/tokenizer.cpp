// SPDX-License-Identifier: BSD-3-Clause
#include <pytorch/tokenizers/tokenizer.h>

#include "failure.h"
#include "guarded.h"
#include "utf8.h"

namespace tokenizers {

Error Tokenizer::load_from_buffer(std::string_view) {
  return detail::fail(Error::LoadFailure, "this tokenizer loads files only: it does not override load_from_buffer()");
}

Error Tokenizer::check_loaded() const {
  return initialized_ ? Error::Ok
                      : detail::fail(Error::Uninitialized, "the tokenizer is not loaded: call load() first");
}

Error Tokenizer::no_such_token(uint64_t token) const {
  return detail::fail(Error::OutOfRange, "there is no token %llu: the vocabulary has %d",
                      static_cast<unsigned long long>(token), static_cast<int>(vocab_size_));
}

Result<std::string> StreamDecoder::push(uint64_t token) {
  return detail::guarded([&]() -> Result<std::string> {
    Result<std::string> bytes = tokenizer_.decode(previous_, token, skip_special_tokens_);
    if (!bytes.ok()) {
      return bytes.error();
    }
    previous_ = token;
    pending_ += *bytes;
    // An incomplete character at the end, of at most three bytes, waits for more bytes.
    size_t complete = pending_.size();
    for (size_t back = 1; back <= 3 && back <= pending_.size(); back++) {
      const size_t at = pending_.size() - back;
      if (!detail::is_continuation(pending_[at])) {
        bool whole = false;
        if (detail::utf8_prefix(pending_, at, whole) == back && !whole) {
          complete = at;
        }
        break;
      }
    }
    std::string text = detail::replace_invalid_utf8(std::string_view(pending_).substr(0, complete));
    pending_.erase(0, complete);
    return text;
  });
}

std::string StreamDecoder::finish() {
  std::string text = detail::replace_invalid_utf8(pending_);
  pending_.clear();
  previous_ = Tokenizer::kBeginning;
  return text;
}

}  // namespace tokenizers
