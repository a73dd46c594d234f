// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include <executorch/extension/llm/sampler/logit_processor.h>
#include <executorch/extension/llm/sampler/sampler.h>
#include <executorch/extension/llm/sampler/token_constraint.h>
#include <executorch/runtime/core/error.h>
#include <executorch/runtime/core/exec_aten/exec_aten.h>
#include <executorch/runtime/core/result.h>

namespace executorch {
namespace extension {
namespace llm {

/// How the next token is chosen. The steps are applied in the order of the fields, then processors, then the
/// constraint, then Sampler.
struct SamplingOptions {
  /// Added to the logits of tokens; -inf rules a token out.
  std::vector<std::pair<uint64_t, float>> logit_bias;
  /// Logits of tokens of the text so far are divided by it if positive, multiplied if negative. 1: no effect.
  float repetition_penalty = 1.0F;
  /// Subtracted once from the logits of tokens that were generated before.
  float presence_penalty = 0.0F;
  /// The logit of a token is reduced by this for each time that the token was generated before.
  float frequency_penalty = 0.0F;
  /// See Sampler. 0 is greedy.
  float temperature = 0.0F;
  int32_t top_k = 0;
  float top_p = 1.0F;
  float min_p = 0.0F;
  /// Random if not set.
  std::optional<uint64_t> seed;

  /// InvalidArgument, after a log line that names the field and its range, for a value that has no meaning.
  runtime::Error validate() const;
};

/// InvalidArgument, after a log line, for a temperature that is negative or not a number.
runtime::Error check_temperature(float temperature);

/// Samples tokens from a program's logits: the logits of the last position, penalties that depend on the text so far,
/// processors, a constraint, Sampler. For one sequence; not thread safe.
class TokenSampler {
 public:
  /// `sampler` draws tokens with its filters and its seed. If null or of another vocabulary, the options apply.
  explicit TokenSampler(std::unique_ptr<Sampler> sampler = nullptr) : given_(std::move(sampler)) {}

  /// Begins a sequence: forgets the text so far and the constraint, and seeds.
  runtime::Error configure(const SamplingOptions& options);
  const SamplingOptions& options() const { return options_; }
  void set_temperature(float temperature) { options_.temperature = temperature; }

  /// A token of the text so far: of a prompt, or one that was generated.
  void accept_prompt(uint64_t token);
  void accept(uint64_t token);

  void add_processor(std::shared_ptr<LogitProcessor> processor) { processors_.push_back(std::move(processor)); }
  void clear_processors() { processors_.clear(); }
  size_t num_processors() const { return processors_.size(); }
  runtime::Error apply_processors(executorch::aten::Tensor& logits);

  /// Sets the constraint for the tokens of this sequence. Null means no constraint.
  void set_constraint(std::unique_ptr<TokenConstraint> constraint) { constraint_ = std::move(constraint); }
  bool is_constrained() const { return constraint_ != nullptr; }
  /// Tells the constraint that the program will now compute logits.
  void prepare() {
    if (constraint_ && constraint_error_ == runtime::Error::Ok) {
      constraint_->prepare();
    }
  }
  /// Whether the constraint allows no further token.
  bool has_ended() const { return constraint_ && constraint_->has_ended(); }

  /// The token that follows the last position of `logits`: float32, float16 or bfloat16 with sizes [..., vocabulary].
  /// Errors: InvalidArgument for another dtype, an empty tensor, a negative temperature or a bias of an unknown token;
  /// InvalidState if a logit is NaN or all tokens are ruled out; those of processors and of the constraint.
  runtime::Result<uint64_t> sample(const executorch::aten::Tensor& logits);

  /// Position of the first NaN among the last logits that sample() refused; -1 when that was not the reason.
  int64_t nan_position() const { return nan_position_; }

 private:
  bool changes_logits() const;
  runtime::Error apply_options(float* logits, int64_t count);
  template <typename T>
  runtime::Result<uint64_t> sample_row(const T* row, int64_t count);
  Sampler& sampler_for(int32_t count);

  SamplingOptions options_;
  std::unique_ptr<Sampler> given_;
  std::unique_ptr<Sampler> own_;
  std::vector<std::shared_ptr<LogitProcessor>> processors_;
  std::unique_ptr<TokenConstraint> constraint_;
  runtime::Error constraint_error_ = runtime::Error::Ok;  // the error of a token that the constraint refused
  std::unordered_map<uint64_t, int32_t> seen_;            // tokens of the text so far, and how often each was generated
  std::vector<float> row_;
  int64_t nan_position_ = -1;
};

}  // namespace llm
}  // namespace extension
}  // namespace executorch
