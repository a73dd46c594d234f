// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/extension/llm/runner/text_token_generator.h>

#include <executorch/extension/tensor/tensor_ptr_maker.h>

namespace executorch {
namespace extension {
namespace llm {

using executorch::aten::ScalarType;
using executorch::aten::SizesType;
using executorch::aten::Tensor;
using runtime::Error;
using runtime::Result;

Result<int64_t> TextTokenGenerator::generate(std::vector<uint64_t>& tokens, int64_t start_pos, int32_t max_new_tokens,
                                             float temperature, internal::TextStream& text) {
  ET_CHECK_OK_OR_RETURN_ERROR(check_temperature(temperature));
  int64_t generated = 0;
  bool has_ended = false;
  // The input of the program: the last token, or all tokens if it has no cache.
  std::vector<int64_t> input(use_kv_cache_ ? tokens.end() - 1 : tokens.begin(), tokens.end());
  while (generated < max_new_tokens && !should_stop_ && !text.is_stopped()) {
    TensorPtr view = from_blob(input.data(), {1, static_cast<SizesType>(input.size())}, ScalarType::Long);
    ET_ASSIGN_OR_RETURN(logits, text_decoder_runner_->step(view, use_kv_cache_ ? start_pos + generated : 0));
    stats_->on_sampling_begin();
    const Result<uint64_t> sampled = text_decoder_runner_->sample(logits, temperature);
    stats_->on_sampling_end();
    if (!sampled.ok()) {
      return sampled.error();
    }
    const uint64_t token = *sampled;
    text_decoder_runner_->token_sampler().accept(token);
    tokens.push_back(token);
    generated++;
    if (use_kv_cache_) {
      input[0] = static_cast<int64_t>(token);
    } else {
      input.push_back(static_cast<int64_t>(token));
    }
    has_ended = ends(token);
    if (has_ended) {
      break;
    }
    if (!is_eos(token)) {
      ET_CHECK_OK_OR_RETURN_ERROR(text.push(token));
    }
  }
  ET_CHECK_OK_OR_RETURN_ERROR(text.finish(has_ended));
  return generated;
}

}  // namespace llm
}  // namespace extension
}  // namespace executorch
