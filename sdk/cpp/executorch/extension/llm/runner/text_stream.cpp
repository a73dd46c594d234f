// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/extension/llm/runner/text_stream.h>

#include <exception>

#include <executorch/extension/llm/runner/util.h>
#include <executorch/runtime/platform/compiler.h>

namespace executorch {
namespace extension {
namespace llm {
namespace internal {

using runtime::Error;

Error TextStream::write(const std::string& text) {
  if (!callback_ || text.empty()) {
    return Error::Ok;
  }
#if ET_HAS_EXCEPTIONS
  try {
    callback_(text);
    return Error::Ok;
  } catch (const std::exception& exception) {
    failed_ = true;
    ET_LOG(Error, "the token callback threw %s: generation ends", exception.what());
  } catch (...) {
    failed_ = true;
    ET_LOG(Error, "the token callback threw an object that is not a std::exception: generation ends");
  }
  return Error::Cancelled;
#else
  callback_(text);
  return Error::Ok;
#endif
}

Error TextStream::push(uint64_t token) {
  if (stopped_ || (tokenizer_.vocab_size() > 0 && token >= static_cast<uint64_t>(tokenizer_.vocab_size()))) {
    return Error::Ok;
  }
  held_ += ET_UNWRAP_TOKENIZER(decoder_.push(token));
  const size_t shown = stop_safe_prefix_len(held_, stops_, stopped_);
  const std::string text = held_.substr(0, shown);
  held_.erase(0, shown);
  return write(text);
}

Error TextStream::finish(bool has_ended) {
  if (stopped_) {
    return Error::Ok;
  }
  if (has_ended) {
    held_ += decoder_.finish();
  }
  const size_t shown = stop_safe_prefix_len(held_, stops_, stopped_);
  const std::string text = stopped_ ? held_.substr(0, shown) : held_;
  held_.clear();
  return write(text);
}

}  // namespace internal
}  // namespace llm
}  // namespace extension
}  // namespace executorch
