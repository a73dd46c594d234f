// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/extension/llm/runner/draft_model.h>

#include <algorithm>

#include <executorch/extension/llm/runner/constants.h>
#include <executorch/extension/llm/runner/conversation.h>
#include <executorch/extension/llm/runner/text_llm_runner.h>

namespace executorch {
namespace extension {
namespace llm {
namespace internal {

using runtime::Error;
using runtime::Result;

Result<std::vector<uint64_t>> DraftModel::draft(const std::vector<uint64_t>& tokens, size_t most) {
  const auto entry = runner_->metadata().find(kMaxContextLen);
  const auto context = entry == runner_->metadata().end() ? 0 : static_cast<size_t>(entry->second);
  most = tokens.size() < context ? std::min(most, context - tokens.size()) : 0;
  if (most == 0 || std::find(tokens.begin(), tokens.end(), kNoToken) != tokens.end()) {
    return std::vector<uint64_t>();
  }
  const auto end = std::mismatch(seen_.begin(), seen_.end(), tokens.begin(), tokens.end()).first;
  // The last token is computed again if necessary, because its logits predict the next one.
  const auto known = std::min(static_cast<size_t>(end - seen_.begin()), tokens.size() - 1);
  GenerationConfig config;
  config.echo = false;
  config.temperature = 0;
  config.ignore_eos = true;
  config.max_new_tokens = static_cast<int32_t>(most);
  const std::vector<uint64_t> added(tokens.begin() + static_cast<std::ptrdiff_t>(known), tokens.end());
  const Error error = runner_->generate_from_pos(added, static_cast<int64_t>(known), config);
  if (error != Error::Ok) {
    seen_.clear();
    runner_->reset();
    return error;
  }
  seen_ = tokens;
  seen_.insert(seen_.end(), runner_->generated_tokens().begin(), runner_->generated_tokens().end());
  seen_.resize(std::min(seen_.size(), static_cast<size_t>(runner_->position())));
  return runner_->generated_tokens();
}

}  // namespace internal
}  // namespace llm
}  // namespace extension
}  // namespace executorch
