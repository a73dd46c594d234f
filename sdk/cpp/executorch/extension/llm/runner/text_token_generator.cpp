// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/extension/llm/runner/text_token_generator.h>

#include <algorithm>
#include <cinttypes>

#include <executorch/extension/llm/runner/draft_model.h>
#include <executorch/extension/llm/runner/prompt_lookup.h>
#include <executorch/extension/tensor/tensor_ptr_maker.h>

namespace executorch {
namespace extension {
namespace llm {

using executorch::aten::ScalarType;
using executorch::aten::SizesType;
using executorch::aten::Tensor;
using runtime::Error;
using runtime::Result;

namespace {

/// The logits of one of `rows` tokens.
Result<TensorPtr> row_of(const Tensor& logits, size_t row, size_t rows) {
  ET_CHECK_OR_RETURN_ERROR(
      logits.dim() == 3 && static_cast<size_t>(logits.size(1)) == rows, NotSupported,
      "lookup_tokens and draft_tokens need a program that gives the logits of all tokens: export it with "
      "debug.generate_full_logits=true");
  const size_t bytes = logits.nbytes() / rows;
  auto* const data = static_cast<uint8_t*>(const_cast<void*>(logits.const_data_ptr())) + row * bytes;
  return from_blob(data, {1, static_cast<SizesType>(logits.size(2))}, logits.scalar_type());
}

}  // namespace

Result<int64_t> TextTokenGenerator::generate(std::vector<uint64_t>& tokens, int64_t start_pos, int32_t max_new_tokens,
                                             float temperature, internal::TextStream& text) {
  ET_CHECK_OK_OR_RETURN_ERROR(check_temperature(temperature));
  int64_t generated = 0;
  bool has_ended = false;
  while (generated < max_new_tokens && !should_stop_ && !text.is_stopped() && !has_ended) {
    // The input of the program: the last token and the drafted ones, or all tokens if it has no cache.
    const auto most = static_cast<size_t>(std::min<int64_t>(lookup_tokens_, max_new_tokens - generated - 1));
    std::vector<uint64_t> drafted = internal::look_up(tokens, most);
    if (drafted.empty() && draft_ != nullptr) {
      const int64_t room = std::min<int64_t>(draft_tokens_, max_new_tokens - generated - 1);
      ET_ASSIGN_OR_RETURN(found, draft_->draft(tokens, static_cast<size_t>(room)));
      drafted = std::move(found);
    }
    std::vector<int64_t> input(use_kv_cache_ ? tokens.end() - 1 : tokens.begin(), tokens.end());
    input.insert(input.end(), drafted.begin(), drafted.end());
    TensorPtr view = from_blob(input.data(), {1, static_cast<SizesType>(input.size())}, ScalarType::Long);
    text_decoder_runner_->token_sampler().prepare();
    ET_ASSIGN_OR_RETURN(logits, text_decoder_runner_->step(view, use_kv_cache_ ? start_pos + generated : 0));
    ET_ASSIGN_OR_RETURN(accepted, accept_rows(logits, drafted, temperature, tokens, text));
    generated += accepted;
    has_ended = ends(tokens.back()) || text_decoder_runner_->token_sampler().has_ended();
  }
  ET_CHECK_OK_OR_RETURN_ERROR(text.finish(has_ended));
  return generated;
}

/// Samples the token after the last one, and then, as long as the samples equal the drafted tokens, after each drafted
/// token. Returns the number of samples.
Result<int64_t> TextTokenGenerator::accept_rows(const Tensor& logits, const std::vector<uint64_t>& drafted,
                                                float temperature, std::vector<uint64_t>& tokens,
                                                internal::TextStream& text) {
  for (size_t row = 0;; row++) {
    TensorPtr part;
    if (!drafted.empty()) {
      ET_ASSIGN_OR_RETURN(found, row_of(logits, row, drafted.size() + 1));
      part = found;
    }
    stats_->on_sampling_begin();
    const Result<uint64_t> sampled = text_decoder_runner_->sample(part ? *part : logits, temperature);
    stats_->on_sampling_end();
    if (!sampled.ok()) {
      return sampled.error();
    }
    const uint64_t token = *sampled;
    text_decoder_runner_->token_sampler().accept(token);
    tokens.push_back(token);
    if (!is_eos(token)) {
      ET_CHECK_OK_OR_RETURN_ERROR(text.push(token));
    }
    if (row == drafted.size() || token != drafted[row] || ends(token) ||
        text_decoder_runner_->token_sampler().has_ended() || should_stop_ || text.is_stopped()) {
      return static_cast<int64_t>(row) + 1;
    }
  }
}

}  // namespace llm
}  // namespace extension
}  // namespace executorch
