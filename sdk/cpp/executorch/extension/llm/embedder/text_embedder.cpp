// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/extension/llm/embedder/text_embedder.h>

#include <algorithm>
#include <cinttypes>
#include <utility>

#include <executorch/extension/llm/runner/constants.h>
#include <executorch/extension/llm/runner/llm_runner_helper.h>
#include <executorch/extension/llm/runner/one_call.h>
#include <executorch/extension/llm/runner/util.h>
#include <executorch/extension/tensor/tensor_ptr_maker.h>

namespace executorch {
namespace extension {
namespace llm {

using executorch::aten::ScalarType;
using executorch::aten::SizesType;
using runtime::Error;
using runtime::EValue;
using runtime::Result;

namespace {

constexpr const char* kEmbedMethod = "embed";
constexpr const char* kBusy = "another thread computes a vector: wait for its end, or use another embedder";

/// The tokens that a method without inputs returns; an empty list if the program lacks it.
Result<std::vector<uint64_t>> tokens_of(Module& module, const std::string& method, int64_t vocabulary) {
  const auto numbers = metadata_numbers(module, method);
  if (!numbers.ok()) {
    return numbers.error() == Error::NotFound ? Result<std::vector<uint64_t>>(std::vector<uint64_t>())
                                              : numbers.error();
  }
  for (const int64_t number : *numbers) {
    ET_CHECK_OR_RETURN_ERROR(number >= 0 && number < vocabulary, InvalidProgram,
                             "method '%s' returns %" PRId64 "; expected tokens below %" PRId64, method.c_str(), number,
                             vocabulary);
  }
  return std::vector<uint64_t>(numbers->begin(), numbers->end());
}

}  // namespace

Result<std::unique_ptr<TextEmbedder>> TextEmbedder::create(std::unique_ptr<Module> module) {
  ET_CHECK_OR_RETURN_ERROR(module != nullptr, InvalidArgument, "expected a module, found null");
  ET_ASSIGN_OR_RETURN(tokenizer, load_embedded_tokenizer(*module));
  return create(std::move(module), std::move(tokenizer));
}

Result<std::unique_ptr<TextEmbedder>> TextEmbedder::create(const std::string& model_path) {
  return create(std::make_unique<Module>(model_path, Module::LoadMode::MmapUseMlockIgnoreErrors));
}

Result<std::unique_ptr<TextEmbedder>> TextEmbedder::create(std::unique_ptr<Module> module,
                                                           std::unique_ptr<tokenizers::Tokenizer> tokenizer) {
  ET_CHECK_OR_RETURN_ERROR(module != nullptr, InvalidArgument, "expected a module, found null");
  ET_CHECK_OR_RETURN_ERROR(tokenizer != nullptr && tokenizer->is_loaded(), InvalidArgument, "there is no tokenizer: %s",
                           tokenizer != nullptr ? "it is not loaded" : tokenizers::last_error_message());
  std::unique_ptr<TextEmbedder> made(new TextEmbedder(std::move(module), std::move(tokenizer)));
  ET_CHECK_OK_OR_RETURN_ERROR(made->read_program());
  return made;
}

Result<std::unique_ptr<TextEmbedder>> TextEmbedder::create(const std::string& model_path,
                                                           std::unique_ptr<tokenizers::Tokenizer> tokenizer) {
  return create(std::make_unique<Module>(model_path, Module::LoadMode::MmapUseMlockIgnoreErrors), std::move(tokenizer));
}

Error TextEmbedder::read_program() {
  ET_ASSIGN_OR_RETURN(methods, module_->method_names());
  ET_CHECK_OR_RETURN_ERROR(methods.count(kEmbedMethod) > 0, InvalidProgram,
                           "the program has no method '%s'; expected one of `sdk llm embedder`", kEmbedMethod);
  ET_ASSIGN_OR_RETURN(meta, module_->method_meta(kEmbedMethod));
  ET_ASSIGN_OR_RETURN(input, meta.input_tensor_meta(0));
  ET_ASSIGN_OR_RETURN(output, meta.output_tensor_meta(0));
  ET_CHECK_OR_RETURN_ERROR(
      meta.num_inputs() == 1 && input.scalar_type() == ScalarType::Long && input.sizes().size() == 2 &&
          input.sizes()[0] == 1 && input.sizes()[1] > 0 && output.scalar_type() == ScalarType::Float &&
          output.sizes().size() == 2 && output.sizes()[0] == 1 && output.sizes()[1] > 0,
      InvalidProgram, "method '%s': expected tokens, int64 [1, n], as its input, and a vector, float32 [1, dim]",
      kEmbedMethod);
  max_tokens_ = input.sizes()[1];
  dim_ = output.sizes()[1];
  const int64_t vocabulary = tokenizer_->vocab_size();
  ET_ASSIGN_OR_RETURN(prefix, tokens_of(*module_, "get_prefix_tokens", vocabulary));
  ET_ASSIGN_OR_RETURN(suffix, tokens_of(*module_, "get_suffix_tokens", vocabulary));
  ET_CHECK_OR_RETURN_ERROR(static_cast<int64_t>(prefix.size() + suffix.size()) < max_tokens_, InvalidProgram,
                           "the tokens around a text leave no room for it: method '%s' takes %" PRId64, kEmbedMethod,
                           max_tokens_);
  prefix_ = std::move(prefix);
  suffix_ = std::move(suffix);
  return module_->load_method(kEmbedMethod);
}

Result<std::vector<uint64_t>> TextEmbedder::encode(const std::string& text, bool truncate) const {
  auto tokens = ET_UNWRAP_TOKENIZER(tokenizer_->encode(text, 0, 0));
  const size_t room = static_cast<size_t>(max_tokens_) - prefix_.size() - suffix_.size();
  ET_CHECK_OR_RETURN_ERROR(truncate || tokens.size() <= room, InvalidArgument,
                           "the text has %zu tokens; expected at most %zu. Divide it, or allow that its end is cut",
                           tokens.size(), room);
  tokens.resize(std::min(tokens.size(), room));
  tokens.insert(tokens.begin(), prefix_.begin(), prefix_.end());
  tokens.insert(tokens.end(), suffix_.begin(), suffix_.end());
  return tokens;
}

Result<std::vector<float>> TextEmbedder::embed(const std::string& text, bool truncate) {
  const internal::OneCall call(busy_, kBusy);
  if (!call.ok()) {
    return Error::InvalidState;
  }
  ET_ASSIGN_OR_RETURN(tokens, encode(text, truncate));
  return run(tokens);
}

Result<std::vector<float>> TextEmbedder::embed_tokens(const std::vector<uint64_t>& tokens) {
  const internal::OneCall call(busy_, kBusy);
  if (!call.ok()) {
    return Error::InvalidState;
  }
  return run(tokens);
}

Result<std::vector<float>> TextEmbedder::run(const std::vector<uint64_t>& tokens) {
  ET_CHECK_OR_RETURN_ERROR(!tokens.empty() && tokens.size() <= static_cast<size_t>(max_tokens_), InvalidArgument,
                           "expected from 1 to %" PRId64 " tokens, found %zu", max_tokens_, tokens.size());
  const auto vocabulary = static_cast<uint64_t>(tokenizer_->vocab_size());
  for (const uint64_t token : tokens) {
    ET_CHECK_OR_RETURN_ERROR(token < vocabulary, InvalidArgument,
                             "there is no token %" PRIu64 "; expected one below %" PRIu64, token, vocabulary);
  }
  std::vector<int64_t> ids(tokens.begin(), tokens.end());
  const TensorPtr input = from_blob(ids.data(), {1, static_cast<SizesType>(ids.size())}, ScalarType::Long);
  ET_ASSIGN_OR_RETURN(outputs, module_->execute(kEmbedMethod, EValue(*input)));
  ET_CHECK_OR_RETURN_ERROR(!outputs.empty() && outputs.front().isTensor() && outputs.front().toTensor().numel() == dim_,
                           InvalidProgram, "method '%s' does not return a vector", kEmbedMethod);
  const auto* const data = outputs.front().toTensor().const_data_ptr<float>();
  return std::vector<float>(data, data + dim_);
}

}  // namespace llm
}  // namespace extension
}  // namespace executorch
