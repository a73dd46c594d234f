// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/extension/llm/runner/conversation.h>

#include <algorithm>
#include <cinttypes>
#include <utility>

#include <executorch/extension/llm/runner/constants.h>
#include <executorch/runtime/platform/log.h>

namespace executorch {
namespace extension {
namespace llm {
namespace internal {

using runtime::Error;

namespace {

int64_t entry(const std::unordered_map<std::string, int64_t>& metadata, const char* name, int64_t otherwise) {
  const auto found = metadata.find(name);
  return found == metadata.end() ? otherwise : found->second;
}

}  // namespace

Conversation::Conversation(const std::unordered_map<std::string, int64_t>& metadata)
    : vocabulary_(entry(metadata, kVocabSize, 0)),
      has_cache_(entry(metadata, kUseKVCache, 1) != 0),
      has_recurrent_state_(entry(metadata, kHasRecurrentState, 0) != 0) {
  // Without a cache, each call gets the whole conversation.
  const int64_t call = entry(metadata, kMaxSeqLen, 128);
  const int64_t context = entry(metadata, kMaxContextLen, call);
  limit_ = has_cache_ ? context : std::min(call, context);
}

Error Conversation::check_usable() const {
  ET_CHECK_OR_RETURN_ERROR(!needs_new_state_, InvalidState,
                           "the last call failed and left the program's state unknown: call reset()");
  return Error::Ok;
}

Error Conversation::check_fits(const std::vector<uint64_t>& added) const {
  const auto count = static_cast<int64_t>(added.size());
  ET_CHECK_OR_RETURN_ERROR(count <= room(), InvalidArgument,
                           "the prompt is too long: it has %" PRId64 " tokens, and the context of %" PRId64
                           " tokens has room for %" PRId64,
                           count, limit_, room());
  return check_known(added);
}

Error Conversation::check_restorable(const std::vector<uint64_t>& seen, std::optional<uint64_t> pending,
                                     std::optional<uint64_t> next) const {
  const size_t count = seen.size() + (pending ? 1 : 0);
  ET_CHECK_OR_RETURN_ERROR(count <= static_cast<uint64_t>(limit_), InvalidExternalData,
                           "the session has %zu tokens, and the program's context at most %" PRId64, count, limit_);
  ET_CHECK_OK_OR_RETURN_ERROR(check_known(seen));
  // The program has already processed pictures and sound, and does not predict their tokens.
  ET_CHECK_OR_RETURN_ERROR(pending != kNoToken && next != kNoToken, InvalidArgument,
                           "token %" PRIu64 " is not one of the program's: the session expects it next", kNoToken);
  return check_known({pending.value_or(kNoToken), next.value_or(kNoToken)});
}

Error Conversation::check_known(const std::vector<uint64_t>& tokens) const {
  for (const uint64_t token : tokens) {
    ET_CHECK_OR_RETURN_ERROR(vocabulary_ <= 0 || token == kNoToken || token < static_cast<uint64_t>(vocabulary_),
                             InvalidArgument,
                             "token %" PRIu64 " is not one of the program's: it has %" PRId64
                             " tokens. Does the tokenizer belong to another model?",
                             token, vocabulary_);
  }
  return Error::Ok;
}

uint64_t Conversation::last_token(const std::vector<uint64_t>& added) const {
  const uint64_t last = !added.empty() ? added.back() : pending_.value_or(seen_.empty() ? 0 : seen_.back());
  return last == kNoToken ? 0 : last;
}

std::vector<uint64_t> Conversation::unseen(std::vector<uint64_t> added) const {
  if (pending_) {
    added.insert(added.begin(), *pending_);
  }
  return added;
}

void Conversation::add_seen(const std::vector<uint64_t>& tokens) {
  seen_.insert(seen_.end(), tokens.begin(), tokens.end());
  pending_.reset();
}

void Conversation::assign_generated(std::vector<uint64_t> tokens, bool has_ended) {
  pending_ = has_ended ? std::nullopt : std::optional<uint64_t>(tokens.back());
  tokens.pop_back();
  seen_ = std::move(tokens);
}

void Conversation::restore(std::vector<uint64_t> seen, std::optional<uint64_t> pending) {
  seen_ = std::move(seen);
  pending_ = pending;
  needs_new_state_ = false;
  has_foreign_state_ = true;
}

Error Conversation::rewind(int64_t position) {
  const int64_t end = this->position();
  ET_CHECK_OR_RETURN_ERROR(position >= 0 && position <= end, InvalidArgument,
                           "the position is %" PRId64 "; expected one from 0 to %" PRId64 ", where the context ends",
                           position, end);
  if (position == end) {
    return Error::Ok;
  }
  ET_CHECK_OR_RETURN_ERROR(position == 0 || !has_recurrent_state_, NotSupported,
                           "the program keeps more than a cache, and cannot go back to position %" PRId64, position);
  seen_.resize(static_cast<size_t>(position));
  pending_.reset();
  return Error::Ok;
}

void Conversation::clear() {
  seen_.clear();
  pending_.reset();
  needs_new_state_ = false;
  has_foreign_state_ = false;
}

}  // namespace internal
}  // namespace llm
}  // namespace extension
}  // namespace executorch
