// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/extension/llm/runner/text_prefiller.h>

#include <algorithm>
#include <cinttypes>
#include <optional>

#include <executorch/extension/tensor/tensor_ptr_maker.h>

namespace executorch {
namespace extension {
namespace llm {

using executorch::aten::ScalarType;
using executorch::aten::SizesType;
using executorch::aten::Tensor;
using runtime::Error;
using runtime::Result;

TextPrefiller::TextPrefiller(TextDecoderRunner* text_decoder_runner, bool use_kv_cache, bool enable_parallel_prefill,
                             int64_t max_seq_len)
    : text_decoder_runner_(text_decoder_runner),
      use_kv_cache_(use_kv_cache),
      enable_parallel_prefill_(enable_parallel_prefill),
      max_seq_len_(max_seq_len > 0 ? max_seq_len : 128) {}

Result<Tensor> TextPrefiller::run(const uint64_t* tokens, size_t count, int64_t& start_pos) {
  const size_t step = !use_kv_cache_ ? count : enable_parallel_prefill_ ? static_cast<size_t>(max_seq_len_) : 1;
  std::optional<Tensor> last;
  for (size_t done = 0; done < count;) {
    const size_t now = std::min(step, count - done);
    std::vector<int64_t> chunk(tokens + done, tokens + done + now);
    TensorPtr input = from_blob(chunk.data(), {1, static_cast<SizesType>(now)}, ScalarType::Long);
    const Result<Tensor> result = text_decoder_runner_->step(input, start_pos);
    if (!result.ok()) {
      return result.error();
    }
    last.emplace(*result);
    start_pos += static_cast<int64_t>(now);
    done += now;
  }
  return *last;
}

Result<uint64_t> TextPrefiller::run_and_sample(const std::vector<uint64_t>& tokens, int64_t& start_pos,
                                               float temperature) {
  ET_CHECK_OR_RETURN_ERROR(!tokens.empty(), InvalidArgument, "the prompt has no tokens");
  ET_CHECK_OK_OR_RETURN_ERROR(check_temperature(temperature));
  if (!is_loaded()) {
    ET_CHECK_OK_OR_RETURN_ERROR(load());
  }
  ET_ASSIGN_OR_RETURN(logits, run(tokens.data(), tokens.size(), start_pos));
  return more_follows_ ? Result<uint64_t>(0) : text_decoder_runner_->sample(logits, temperature);
}

template <typename PrefillChunk>
Result<uint64_t> TextPrefiller::prefill_in_chunks(std::vector<uint64_t>& prompt_tokens, int64_t& start_pos,
                                                  float temperature, const PrefillChunk& prefill_chunk) {
  const auto most = static_cast<size_t>(max_seq_len_);
  const size_t count = prompt_tokens.size();
  if (!use_kv_cache_ && count > most) {
    return run_and_sample(prompt_tokens, start_pos, temperature);
  }
  if (count <= most) {
    return prefill_chunk(prompt_tokens, start_pos);
  }
  for (size_t done = 0;; done += most) {
    const size_t end = std::min(done + most, count);
    std::vector<uint64_t> chunk(prompt_tokens.begin() + static_cast<std::ptrdiff_t>(done),
                                prompt_tokens.begin() + static_cast<std::ptrdiff_t>(end));
    const int64_t after = start_pos + static_cast<int64_t>(chunk.size());
    more_follows_ = end < count;
    Result<uint64_t> token = prefill_chunk(chunk, start_pos);
    more_follows_ = false;
    if (token.ok()) {
      start_pos = after;  // even if an application's override did not set it
    }
    if (!token.ok() || end == count) {
      return token;
    }
  }
}

Result<uint64_t> TextPrefiller::prefill(std::vector<uint64_t>& prompt_tokens, int64_t& start_pos) {
  return prefill_in_chunks(prompt_tokens, start_pos, 0.0f,
                           [this](auto& tokens, int64_t& position) { return prefill_chunk(tokens, position); });
}

Result<uint64_t> TextPrefiller::prefill(std::vector<uint64_t>& prompt_tokens, int64_t& start_pos, float temperature) {
  return prefill_in_chunks(prompt_tokens, start_pos, temperature, [this, temperature](auto& tokens, int64_t& position) {
    return prefill_chunk(tokens, position, temperature);
  });
}

Result<uint64_t> TextPrefiller::prefill_chunk(std::vector<uint64_t>& prompt_tokens, int64_t& start_pos) {
  return prefill_chunk(prompt_tokens, start_pos, 0.0f);
}

Result<uint64_t> TextPrefiller::prefill_chunk(std::vector<uint64_t>& prompt_tokens, int64_t& start_pos,
                                              float temperature) {
  const auto count = static_cast<int64_t>(prompt_tokens.size());
  ET_CHECK_OR_RETURN_ERROR(count <= max_seq_len_, InvalidArgument,
                           "a chunk has %" PRId64 " tokens; the program takes up to %" PRId64 " in a call", count,
                           max_seq_len_);
  return run_and_sample(prompt_tokens, start_pos, temperature);
}

}  // namespace llm
}  // namespace extension
}  // namespace executorch
