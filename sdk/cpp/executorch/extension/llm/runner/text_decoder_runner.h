// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <executorch/extension/llm/runner/io_manager/io_manager.h>
#include <executorch/extension/llm/sampler/sampler.h>
#include <executorch/extension/llm/sampler/token_sampler.h>
#include <executorch/extension/module/module.h>
#include <executorch/extension/tensor/tensor_ptr.h>

namespace executorch {
namespace extension {
namespace llm {

/// Runs a program's method for tokens, and samples from its logits. Not thread-safe, except for interrupt().
class TextDecoderRunner {
 public:
  /// `module` and `io_manager` must outlive this. `sampler` draws tokens; if null, a sampler with the options of
  /// token_sampler() does.
  explicit TextDecoderRunner(Module* module, IOManager* io_manager, std::string method_name = "forward",
                             std::unique_ptr<Sampler> sampler = nullptr);
  virtual ~TextDecoderRunner() = default;

  /// Computes the logits that follow `input`, int64 [1, tokens] whose first one has the position `start_pos`:
  /// [1, vocabulary], or [1, tokens, vocabulary] if the program gives them all. They are the program's memory, valid
  /// until the next step. A program without a cache takes the whole sequence, and no position. Errors: those of the
  /// method; Cancelled after interrupt().
  virtual runtime::Result<executorch::aten::Tensor> step(TensorPtr& input, int64_t start_pos);

  /// Executes a method of the program. interrupt() ends it, too.
  runtime::Result<std::vector<runtime::EValue>> run(const std::string& method,
                                                    const std::vector<runtime::EValue>& inputs);

  virtual runtime::Error load() { return module_->load_method(method_name_); }
  virtual bool is_method_loaded() { return module_->is_method_loaded(method_name_); }
  const std::string& method_name() const { return method_name_; }

  /// The next token: the likeliest at temperature 0, otherwise a random one. -1, after a log line, if the logits do not
  /// define a distribution.
  inline int32_t logits_to_token(const executorch::aten::Tensor& logits_tensor, const float temperature = 0.0f) {
    const auto token = sample(logits_tensor, temperature);
    return token.ok() ? static_cast<int32_t>(*token) : -1;
  }
  /// Like logits_to_token(), but returns the error of TokenSampler::sample().
  runtime::Result<uint64_t> sample(const executorch::aten::Tensor& logits, float temperature) {
    sampler_.set_temperature(temperature);
    return sampler_.sample(logits);
  }
  TokenSampler& token_sampler() { return sampler_; }
  /// The logits of the last step(); none after clear_logits().
  const std::optional<executorch::aten::Tensor>& last_logits() const { return last_logits_; }

  /// Forgets the last logits, which do not belong to a changed context.
  void clear_logits() { last_logits_.reset(); }

  /// For a program without a cache whose input has exactly `length` tokens; 0 if it takes any number. Shorter sequences
  /// are padded at their end, which needs a program that gives the logits of all tokens.
  void set_static_length(int64_t length) { static_length_ = length; }
  int64_t static_length() const { return static_length_; }

  /// Makes the current step end with Cancelled before its next instruction, and later ones at once, until
  /// clear_interrupt(). Callable from any thread.
  void interrupt() { interrupt_ = runtime::Error::Cancelled; }
  void clear_interrupt() { interrupt_ = runtime::Error::Ok; }

 protected:
  /// step() for an input that has another form than tokens: `input` has `count` positions. `method`: as method_name();
  /// `more`: its inputs after the position.
  runtime::Result<executorch::aten::Tensor> step_with(const TensorPtr& input, int64_t count, int64_t start_pos,
                                                      const std::string& method,
                                                      const std::vector<runtime::EValue>& more = {});

  Module* module_;
  IOManager* io_manager_;
  std::string method_name_;

 private:
  runtime::Result<std::vector<runtime::EValue>> execute(const TensorPtr& input, int64_t count, int64_t start_pos,
                                                        const std::string& method_name,
                                                        const std::vector<runtime::EValue>& more = {});
  runtime::Result<executorch::aten::Tensor> step_padded(const TensorPtr& input);

  TokenSampler sampler_;
  int64_t static_length_ = 0;
  std::atomic<runtime::Error> interrupt_{runtime::Error::Ok};
  std::vector<int64_t> positions_;
  std::optional<executorch::aten::Tensor> last_logits_;
  TensorPtr view_;  // view of the logits of a padded sequence
};

}  // namespace llm
}  // namespace extension
}  // namespace executorch
