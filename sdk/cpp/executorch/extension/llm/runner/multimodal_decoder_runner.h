// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <executorch/extension/llm/runner/constants.h>
#include <executorch/extension/llm/runner/text_decoder_runner.h>
#include <executorch/runtime/core/evalue.h>

namespace executorch {
namespace extension {
namespace llm {

/// Runs a program whose decoder takes embeddings: the method `token_embedding` gives the embeddings of tokens.
class MultimodalDecoderRunner : public TextDecoderRunner {
 public:
  explicit MultimodalDecoderRunner(Module* module, IOManager* io_manager, std::string method_name = kTextModelMethod,
                                   std::unique_ptr<Sampler> sampler = nullptr)
      : TextDecoderRunner(module, io_manager, std::move(method_name), std::move(sampler)) {}

  inline runtime::Result<executorch::aten::Tensor> step(TensorPtr& tokens, int64_t start_pos) override {
    ET_ASSIGN_OR_RETURN(embeddings, embed(tokens));
    return decode(embeddings, start_pos);
  }

  /// The embeddings of tokens, int64 [1, tokens]: [1, tokens, dim]. The program's memory, valid until the next call.
  inline runtime::Result<runtime::EValue> embed(const TensorPtr& tokens) {
    ET_ASSIGN_OR_RETURN(outputs, run(kTokenEmbeddingMethod, {*tokens}));
    ET_CHECK_OR_RETURN_ERROR(!outputs.empty() && outputs.front().isTensor(), InvalidProgram,
                             "the first output of method '%s' is not a tensor; expected embeddings",
                             kTokenEmbeddingMethod);
    return outputs.front();
  }

  /// Returns the logits after `embeddings`, [1, positions, dim], whose first position is `start_pos`; see step().
  virtual runtime::Result<executorch::aten::Tensor> decode(const runtime::EValue& embeddings, int64_t start_pos) {
    return decode(embeddings, start_pos, method_name_);
  }

  /// Not in ExecuTorch: runs `method`, which is the decoder or shares its cache. `more`: its inputs after
  /// the position.
  inline runtime::Result<executorch::aten::Tensor> decode(const runtime::EValue& embeddings, int64_t start_pos,
                                                          const std::string& method,
                                                          const std::vector<runtime::EValue>& more = {}) {
    ET_CHECK_OR_RETURN_ERROR(embeddings.isTensor() && embeddings.toTensor().dim() == 3, InvalidArgument,
                             "expected embeddings as a tensor [1, positions, dim]");
    const auto tensor = embeddings.toTensor();
    return step_with(make_tensor_ptr(tensor), tensor.size(1), start_pos, method, more);
  }

  inline runtime::Error load() override {
    ET_CHECK_OK_OR_RETURN_ERROR(module_->load_method(kTokenEmbeddingMethod));
    return TextDecoderRunner::load();
  }
  inline bool is_method_loaded() override {
    return module_->is_method_loaded(kTokenEmbeddingMethod) && TextDecoderRunner::is_method_loaded();
  }
};

}  // namespace llm
}  // namespace extension
}  // namespace executorch
