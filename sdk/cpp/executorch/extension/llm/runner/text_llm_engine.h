// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include <executorch/extension/llm/runner/llm_session.h>
#include <executorch/extension/module/module.h>
#include <pytorch/tokenizers/tokenizer.h>

namespace executorch {
namespace extension {
namespace llm {

/// An LLMEngine for text. A program must keep a cache, and its weights must be in the .pte file.
class TextLLMEngine final : public LLMEngine {
 public:
  /// Loads the program. Errors: those of Module; InvalidArgument if it is not a language model or if the tokenizer is
  /// null; NotSupported if it keeps no cache.
  static runtime::Result<std::unique_ptr<TextLLMEngine>> create(const std::string& model_path,
                                                                std::shared_ptr<::tokenizers::Tokenizer> tokenizer,
                                                                const std::string& method_name = "forward",
                                                                Module::LoadMode load_mode = Module::LoadMode::Mmap);

  runtime::Result<std::unique_ptr<LLMSession>> create_session() override;
  /// Kernels use the program's weights in place; a backend may pack its own copy of them in each session.
  LLMServingCapacity serving_capacity() const override;
  const std::unordered_map<std::string, int64_t>& metadata() const override { return metadata_; }

 private:
  TextLLMEngine() = default;

  std::shared_ptr<Program> program_;
  std::shared_ptr<::tokenizers::Tokenizer> tokenizer_;
  std::string method_name_;
  std::unordered_map<std::string, int64_t> metadata_;
  std::unordered_set<uint64_t> eos_ids_;
};

}  // namespace llm
}  // namespace extension
}  // namespace executorch
