// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/extension/llm/runner/llm_runner_helper.h>

#include <algorithm>
#include <cinttypes>
#include <cstring>
#include <utility>

#include <executorch/extension/llm/runner/constants.h>
#include <executorch/extension/llm/runner/text_llm_runner.h>
#include <executorch/extension/llm/tokenizers/embedded.h>

namespace executorch {
namespace extension {
namespace llm {

using runtime::Error;
using runtime::EValue;
using runtime::Result;

namespace {

constexpr const char* kGet = "get_";

struct Entry {
  const char* name;
  int64_t otherwise;
};
constexpr Entry kEntries[] = {
    {kMaxSeqLen, -1}, {kMaxContextLen, -1}, {kUseKVCache, 1},        {kEnableDynamicShape, 0}, {kUseSDPAWithKVCache, 0},
    {kVocabSize, -1}, {kBosId, -1},         {kHasRecurrentState, 0}, {kImageTokenId, -1},      {kAudioTokenId, -1}};

/// The numbers that a method without inputs returns.
Result<std::vector<int64_t>> numbers_of(Module& module, const std::string& method) {
  ET_ASSIGN_OR_RETURN(values, module.execute(method));
  std::vector<int64_t> numbers;
  for (const EValue& value : values) {
    if (value.isInt()) {
      numbers.push_back(value.toInt());
    } else if (value.isBool()) {
      numbers.push_back(value.toBool() ? 1 : 0);
    } else if (value.isTensor() && value.toTensor().scalar_type() == executorch::aten::ScalarType::Long) {
      const auto tensor = value.toTensor();
      numbers.insert(numbers.end(), tensor.const_data_ptr<int64_t>(),
                     tensor.const_data_ptr<int64_t>() + tensor.numel());
    } else {
      ET_LOG(Error, "method '%s' does not return integers", method.c_str());
      return Error::InvalidProgram;
    }
  }
  ET_CHECK_OR_RETURN_ERROR(!numbers.empty(), InvalidProgram, "method '%s' returns nothing", method.c_str());
  return numbers;
}

/// The name that an entry has in the program; "" if the program does not have it.
std::string name_in(const std::unordered_set<std::string>& methods, const std::string& name) {
  if (methods.count(name) > 0) {
    return name;
  }
  const bool has_prefix = name.compare(0, std::strlen(kGet), kGet) == 0;
  const std::string bare = has_prefix ? name.substr(std::strlen(kGet)) : name;
  return methods.count(bare) > 0 ? bare : "";
}

/// The largest sizes of an input of the method, which is not loaded.
Result<std::vector<int64_t>> input_sizes(Module& module, const std::string& method, size_t input) {
  ET_CHECK_OK_OR_RETURN_ERROR(module.load());
  ET_ASSIGN_OR_RETURN(meta, module.program()->method_meta(method.c_str()));
  ET_ASSIGN_OR_RETURN(tensor, meta.input_tensor_meta(input));
  return std::vector<int64_t>(tensor.sizes().begin(), tensor.sizes().end());
}

Result<const runtime::NamedDataMap*> named_data(Module& module) {
  ET_CHECK_OK_OR_RETURN_ERROR(module.load());
  return module.program()->get_named_data_map();
}

/// Whether both exist; logs which one is missing.
bool check_parts(const std::unique_ptr<Module>& module, const std::unique_ptr<::tokenizers::Tokenizer>& tokenizer) {
  if (module && tokenizer && tokenizer->is_loaded()) {
    return true;
  }
  ET_LOG(Error, "there is no %s: %s", module ? "tokenizer" : "module",
         module ? tokenizers::last_error_message() : "null was passed");
  return false;
}

}  // namespace

Result<std::unique_ptr<tokenizers::Tokenizer>> load_embedded_tokenizer(Module& module) {
  ET_ASSIGN_OR_RETURN(data, named_data(module));
  return load_embedded_tokenizer(*data);
}

Result<std::unique_ptr<tokenizers::Tokenizer>> load_tokenizer_for(Module& module, const std::string& tokenizer_path) {
  if (tokenizer_path.empty()) {
    return load_embedded_tokenizer(module);
  }
  auto tokenizer = load_tokenizer(tokenizer_path);
  if (tokenizer == nullptr) {
    return Error::InvalidArgument;
  }
  return tokenizer;
}

Result<std::string> load_embedded_chat_template(Module& module) {
  ET_ASSIGN_OR_RETURN(data, named_data(module));
  ET_ASSIGN_OR_RETURN(found, data->get_data(kChatTemplateKey));
  return std::string(static_cast<const char*>(found.data()), found.size());
}

Result<std::unordered_map<std::string, int64_t>> get_llm_metadata(tokenizers::Tokenizer* tokenizer, Module* module) {
  ET_ASSIGN_OR_RETURN(methods, module->method_names());
  std::unordered_map<std::string, int64_t> metadata;
  for (const auto& [name, otherwise] : kEntries) {
    const std::string method = name_in(methods, name);
    if (!method.empty()) {
      ET_ASSIGN_OR_RETURN(numbers, numbers_of(*module, method));
      metadata[name] = numbers.front();
    } else if (otherwise >= 0) {
      metadata[name] = otherwise;
    }
  }
  ET_CHECK_OR_RETURN_ERROR(metadata.count(kMaxSeqLen) > 0, InvalidArgument,
                           "the program has no method '%s', so it is not a language model. Export it with "
                           "sdk.extension.llm.export.export_llm, or add the method with base.metadata",
                           kMaxSeqLen);
  metadata.try_emplace(kMaxContextLen, metadata[kMaxSeqLen]);
  for (const char* const name : {kMaxSeqLen, kMaxContextLen}) {
    ET_CHECK_OR_RETURN_ERROR(metadata[name] > 0, InvalidProgram, "method '%s' returns %" PRId64, name, metadata[name]);
  }
  if (tokenizer != nullptr) {
    metadata.try_emplace(kBosId, static_cast<int64_t>(tokenizer->bos_tok()));
    metadata.try_emplace(kVocabSize, tokenizer->vocab_size());
  }
  return metadata;
}

Result<std::vector<int64_t>> metadata_numbers(Module& module, const std::string& method) {
  ET_ASSIGN_OR_RETURN(methods, module.method_names());
  const std::string name = name_in(methods, method);
  if (name.empty()) {
    return Error::NotFound;
  }
  return numbers_of(module, name);
}

std::unordered_set<uint64_t> get_eos_ids(tokenizers::Tokenizer* tokenizer, Module* module) {
  const auto numbers = metadata_numbers(*module, kEosIds);
  if (numbers.ok()) {
    return {numbers->begin(), numbers->end()};
  }
  const auto id = tokenizer->eos_id();
  return id ? std::unordered_set<uint64_t>{*id} : std::unordered_set<uint64_t>{};
}

std::unique_ptr<TextLLMRunner> create_text_llm_runner(std::unique_ptr<Module> module,
                                                      std::unique_ptr<::tokenizers::Tokenizer> tokenizer,
                                                      float temperature, const std::string& method_name) {
  if (!check_parts(module, tokenizer)) {
    return nullptr;
  }
  auto metadata = get_llm_metadata(tokenizer.get(), module.get());
  if (!metadata.ok()) {
    return nullptr;
  }
  const auto tokens = input_sizes(*module, method_name, 0);
  if (!tokens.ok() || tokens->size() != 2 || tokens->back() < 1) {
    ET_LOG(Error, "the first input of method '%s' is not a tensor of tokens, [1, tokens]", method_name.c_str());
    return nullptr;
  }
  int64_t& max_seq_len = metadata->at(kMaxSeqLen);
  max_seq_len = std::min(max_seq_len, tokens->back());
  const bool use_kv_cache = metadata->at(kUseKVCache) != 0;
  const bool is_dynamic = metadata->at(kEnableDynamicShape) != 0;
  if (use_kv_cache && !is_dynamic && tokens->back() != 1) {
    ET_LOG(Error,
           "method '%s' takes exactly %" PRId64
           " tokens and keeps a cache, so that it cannot generate one token after "
           "another. Export it with model.enable_dynamic_shape=true",
           method_name.c_str(), tokens->back());
    return nullptr;
  }
  auto io_manager = std::make_unique<IOManager>(*module);
  auto decoder = std::make_unique<TextDecoderRunner>(module.get(), io_manager.get(), method_name);
  if (!use_kv_cache && !is_dynamic) {
    decoder->set_static_length(tokens->back());
  }
  auto prefiller = std::make_unique<TextPrefiller>(decoder.get(), use_kv_cache, is_dynamic, max_seq_len);
  auto stats = std::make_unique<Stats>();
  auto eos_ids = std::make_unique<std::unordered_set<uint64_t>>(get_eos_ids(tokenizer.get(), module.get()));
  auto generator = std::make_unique<TextTokenGenerator>(tokenizer.get(), decoder.get(), use_kv_cache,
                                                        std::move(eos_ids), stats.get());
  return std::make_unique<TextLLMRunner>(std::move(*metadata), std::move(tokenizer), std::move(module),
                                         std::move(decoder), std::move(prefiller), std::move(io_manager),
                                         std::move(generator), std::move(stats), temperature);
}

std::unique_ptr<TextLLMRunner> create_text_llm_runner(const std::string& model_path,
                                                      std::unique_ptr<::tokenizers::Tokenizer> tokenizer,
                                                      std::vector<std::string> data_files, float temperature,
                                                      std::unique_ptr<::executorch::runtime::EventTracer> event_tracer,
                                                      const std::string& method_name, Module::LoadMode load_mode) {
  auto module = std::make_unique<Module>(model_path, std::move(data_files), load_mode, std::move(event_tracer));
  return create_text_llm_runner(std::move(module), std::move(tokenizer), temperature, method_name);
}

std::unique_ptr<TextLLMRunner> create_text_llm_runner(const std::string& model_path,
                                                      std::unique_ptr<::tokenizers::Tokenizer> tokenizer,
                                                      std::optional<const std::string> data_path, float temperature,
                                                      const std::string& method_name, Module::LoadMode load_mode) {
  std::vector<std::string> data_files;
  if (data_path) {
    data_files.push_back(*data_path);
  }
  return create_text_llm_runner(model_path, std::move(tokenizer), std::move(data_files), temperature, nullptr,
                                method_name, load_mode);
}

Result<bool> is_multimodal(Module& module) {
  ET_ASSIGN_OR_RETURN(methods, module.method_names());
  return methods.count(kTextModelMethod) > 0 && methods.count(kTokenEmbeddingMethod) > 0;
}

std::unique_ptr<MultimodalRunner> create_multimodal_runner(std::unique_ptr<Module> module,
                                                           std::unique_ptr<::tokenizers::Tokenizer> tokenizer) {
  if (!check_parts(module, tokenizer)) {
    return nullptr;
  }
  const auto multimodal = is_multimodal(*module);
  if (!multimodal.ok() || !*multimodal) {
    ET_LOG(Error, "the program lacks the methods '%s' and '%s' of a multimodal model", kTokenEmbeddingMethod,
           kTextModelMethod);
    return nullptr;
  }
  auto metadata = get_llm_metadata(tokenizer.get(), module.get());
  const auto tokens = input_sizes(*module, kTokenEmbeddingMethod, 0);
  const auto embeddings = input_sizes(*module, kTextModelMethod, 0);
  if (!metadata.ok() || !tokens.ok() || !embeddings.ok()) {
    return nullptr;
  }
  if (tokens->size() != 2 || embeddings->size() != 3 || metadata->at(kUseKVCache) == 0) {
    ET_LOG(Error, "expected method '%s' to take [1, tokens], method '%s' to take [1, positions, dim], and a cache",
           kTokenEmbeddingMethod, kTextModelMethod);
    return nullptr;
  }
  int64_t& max_seq_len = metadata->at(kMaxSeqLen);
  max_seq_len = std::min({max_seq_len, tokens->back(), embeddings->at(1)});
  metadata->at(kEnableDynamicShape) = max_seq_len > 1 ? 1 : 0;
  auto io_manager = std::make_unique<IOManager>(*module);
  auto decoder = std::make_unique<MultimodalDecoderRunner>(module.get(), io_manager.get());
  auto prefiller =
      std::make_unique<MultimodalPrefiller>(module.get(), decoder.get(), tokenizer.get(), io_manager.get());
  auto stats = std::make_unique<Stats>();
  auto eos_ids = std::make_unique<std::unordered_set<uint64_t>>(get_eos_ids(tokenizer.get(), module.get()));
  auto generator =
      std::make_unique<TextTokenGenerator>(tokenizer.get(), decoder.get(), true, std::move(eos_ids), stats.get());
  return std::make_unique<MultimodalRunner>(std::move(*metadata), std::move(tokenizer), std::move(module),
                                            std::move(decoder), std::move(prefiller), std::move(io_manager),
                                            std::move(generator), std::move(stats));
}

std::unique_ptr<MultimodalRunner> create_multimodal_runner(const std::string& model_path,
                                                           std::unique_ptr<::tokenizers::Tokenizer> tokenizer,
                                                           std::optional<const std::string> data_path,
                                                           Module::LoadMode load_mode) {
  std::vector<std::string> data_files;
  if (data_path) {
    data_files.push_back(*data_path);
  }
  return create_multimodal_runner(std::make_unique<Module>(model_path, std::move(data_files), load_mode),
                                  std::move(tokenizer));
}

std::unique_ptr<TextLLMRunner> create_text_llm_runner(std::unique_ptr<Module> module, float temperature,
                                                      const std::string& method_name) {
  if (!module) {
    ET_LOG(Error, "expected a module, found null");
    return nullptr;
  }
  auto tokenizer = load_embedded_tokenizer(*module);
  if (!tokenizer.ok()) {
    ET_LOG(Error, "%s",
           tokenizer.error() == Error::NotFound
               ? "the program has no tokenizer inside: pass one, or export it with export.embed_tokenizer=true"
               : "the tokenizer inside the program cannot be loaded");
    return nullptr;
  }
  return create_text_llm_runner(std::move(module), std::move(*tokenizer), temperature, method_name);
}

std::unique_ptr<TextLLMRunner> create_text_llm_runner(const std::string& model_path,
                                                      std::vector<std::string> data_files, float temperature,
                                                      std::unique_ptr<::executorch::runtime::EventTracer> event_tracer,
                                                      const std::string& method_name, Module::LoadMode load_mode) {
  auto module = std::make_unique<Module>(model_path, std::move(data_files), load_mode, std::move(event_tracer));
  return create_text_llm_runner(std::move(module), temperature, method_name);
}

}  // namespace llm
}  // namespace extension
}  // namespace executorch
