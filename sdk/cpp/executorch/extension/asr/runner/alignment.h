// SPDX-License-Identifier: BSD-3-Clause
// When each token was spoken, by the attention of the decoder to the sound.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <executorch/extension/module/module.h>
#include <executorch/runtime/core/error.h>
#include <executorch/runtime/core/evalue.h>
#include <executorch/runtime/core/exec_aten/exec_aten.h>
#include <executorch/runtime/core/result.h>

namespace executorch {
namespace extension {
namespace asr {
namespace internal {

/// Attention of some heads: for each head and token, how much the token attends to each position of the sound.
struct AttentionWeights {
  const float* data = nullptr;
  size_t heads = 0;
  size_t tokens = 0;
  size_t positions = 0;
};

/// Returns for each token the position at which it begins. The weights of each head are standardised over the tokens
/// and smoothed by a median filter over the positions; the path through their mean with the largest sum, on which
/// tokens and positions never decrease, gives the positions. Only the first `positions` positions, at least one, are
/// considered. InvalidProgram, which is logged, for weights that are not finite and for a `filter_width` that is not an
/// odd number up to 4095.
runtime::Result<std::vector<int64_t>> positions_of_tokens(const AttentionWeights& weights, size_t positions,
                                                          size_t filter_width);

/// Collects the queries of the heads that show when a token is spoken, which `text_decoder` returns beside its logits:
/// float32 [heads, tokens, head_dim].
class AlignmentQueries final {
 public:
  /// Adds the queries of one call with `tokens` tokens. Logs and returns InvalidProgram if they do not have the form
  /// above, are not of as many tokens, or differ in size from those of other calls.
  runtime::Error add(const std::vector<runtime::EValue>& decoder_outputs, size_t tokens);
  size_t tokens() const { return tokens_; }
  /// Calls the method `alignment` with the queries of the last `count` tokens and with the encoder's tensors, and
  /// returns the `count` positions of these tokens. InvalidProgram, which is logged, unless `first` tokens come before.
  runtime::Result<std::vector<int64_t>> align(Module& module, size_t first, size_t count,
                                              const std::vector<runtime::EValue>& encoded, size_t positions) const;

 private:
  std::vector<std::vector<float>> heads_;  // of each head: [tokens, head_dim]
  size_t tokens_ = 0;
  size_t head_dim_ = 0;
};

}  // namespace internal
}  // namespace asr
}  // namespace extension
}  // namespace executorch
