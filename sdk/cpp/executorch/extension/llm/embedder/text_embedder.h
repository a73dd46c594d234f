// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <executorch/extension/module/module.h>
#include <executorch/runtime/core/result.h>
#include <pytorch/tokenizers/tokenizer.h>

namespace executorch {
namespace extension {
namespace llm {

/// Turns texts into vectors whose dot products measure how similar their meanings are, with a program of `sdk llm
/// embedder`. Pooling and normalisation are part of the program. One call at a time.
///
///   embed              tokens, int64 [1, n], to a vector, float32 [1, dim]
///   get_max_seq_len    the largest n
///   get_prefix_tokens  the tokens before and after a text, as the model's tokenizer adds them; a program without such
///   get_suffix_tokens  tokens lacks the method
class TextEmbedder final {
 public:
  /// With the tokenizer in the program. Errors of loading; InvalidProgram, after a log line, for a program that has no
  /// such method; NotFound without a tokenizer.
  static runtime::Result<std::unique_ptr<TextEmbedder>> create(std::unique_ptr<Module> module);
  static runtime::Result<std::unique_ptr<TextEmbedder>> create(const std::string& model_path);
  /// With another tokenizer. InvalidArgument, after a log line, for one that is null or not loaded.
  static runtime::Result<std::unique_ptr<TextEmbedder>> create(std::unique_ptr<Module> module,
                                                               std::unique_ptr<tokenizers::Tokenizer> tokenizer);
  static runtime::Result<std::unique_ptr<TextEmbedder>> create(const std::string& model_path,
                                                               std::unique_ptr<tokenizers::Tokenizer> tokenizer);

  /// The tokens of a text, with the prefix and suffix tokens. InvalidArgument, after a log line, for more than
  /// max_tokens(), unless `truncate` allows to cut the end of the text.
  runtime::Result<std::vector<uint64_t>> encode(const std::string& text, bool truncate = false) const;
  /// The vector of a text, dim() numbers. Errors: those of encode() and embed_tokens().
  runtime::Result<std::vector<float>> embed(const std::string& text, bool truncate = false);
  /// The vector of tokens. InvalidArgument, after a log line, for no tokens, too many, or one that the tokenizer does
  /// not have; InvalidState while another thread computes one; the errors of the program.
  runtime::Result<std::vector<float>> embed_tokens(const std::vector<uint64_t>& tokens);

  int64_t dim() const { return dim_; }
  int64_t max_tokens() const { return max_tokens_; }

 private:
  TextEmbedder(std::unique_ptr<Module> module, std::unique_ptr<tokenizers::Tokenizer> tokenizer)
      : module_(std::move(module)), tokenizer_(std::move(tokenizer)) {}
  runtime::Error read_program();
  runtime::Result<std::vector<float>> run(const std::vector<uint64_t>& tokens);

  std::unique_ptr<Module> module_;  // outlives the tokenizer, which may be inside its program
  std::unique_ptr<tokenizers::Tokenizer> tokenizer_;
  std::vector<uint64_t> prefix_;
  std::vector<uint64_t> suffix_;
  int64_t dim_ = 0;
  int64_t max_tokens_ = 0;
  std::atomic<bool> busy_{false};
};

}  // namespace llm
}  // namespace extension
}  // namespace executorch
