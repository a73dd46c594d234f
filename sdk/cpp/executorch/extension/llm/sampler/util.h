// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include <executorch/extension/llm/sampler/sampler.h>
#include <executorch/runtime/core/exec_aten/exec_aten.h>
#include <executorch/runtime/platform/log.h>

namespace executorch {
namespace extension {
namespace llm {

/// A token from the logits of the last position of `logits_tensor`: float32, float16 or bfloat16 with sizes
/// [..., vocabulary]. -1 where Sampler::sample() returns it and, after a log line, for another dtype or vocabulary.
inline int32_t sample_from_logits(const executorch::aten::Tensor& logits_tensor, Sampler& sampler) {
  using executorch::aten::ScalarType;
  const auto dimensions = logits_tensor.dim();
  const auto count = dimensions == 0 ? 0 : logits_tensor.size(dimensions - 1);
  if (count == 0 || logits_tensor.numel() == 0 || count != sampler.vocab_size()) {
    ET_LOG(Error, "the logits of a position are %d, the sampler's vocabulary has %d tokens", static_cast<int>(count),
           static_cast<int>(sampler.vocab_size()));
    return -1;
  }
  const auto last = logits_tensor.numel() - count;
  switch (logits_tensor.scalar_type()) {
    case ScalarType::Float:
      return sampler.sample(logits_tensor.const_data_ptr<float>() + last);
    case ScalarType::Half:
      return sampler.sample(logits_tensor.mutable_data_ptr<executorch::aten::Half>() + last);
    case ScalarType::BFloat16:
      return sampler.sample(logits_tensor.mutable_data_ptr<executorch::aten::BFloat16>() + last);
    default:
      ET_LOG(Error, "logits must be float32, float16 or bfloat16");
      return -1;
  }
}

/// Samples with a new sampler: the likeliest token at temperature 0, otherwise a random one with top-p = kTopp.
inline int32_t logits_to_token(const executorch::aten::Tensor& logits_tensor, const float temperature = 0.0f) {
  const auto dimensions = logits_tensor.dim();
  Sampler sampler(dimensions == 0 ? 0 : static_cast<int32_t>(logits_tensor.size(dimensions - 1)), temperature);
  return sample_from_logits(logits_tensor, sampler);
}

}  // namespace llm
}  // namespace extension
}  // namespace executorch
