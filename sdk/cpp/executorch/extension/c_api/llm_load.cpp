// SPDX-License-Identifier: BSD-3-Clause
// Loading language models and their tokenizers, from files and from memory.
#include <executorch/extension/c_api/llm.h>

#include <executorch/extension/c_api/call.h>
#include <executorch/extension/c_api/llm_state.h>
#include <executorch/extension/c_api/memory_loader.h>
#include <executorch/extension/c_api/options.h>

#ifdef ET_C_API_LLM
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <executorch/extension/llm/runner/llm_runner_helper.h>
#include <executorch/extension/llm/tokenizers/embedded.h>
#endif

using executorch::extension::c_api::call_for;
using executorch::extension::c_api::Release;
using executorch::runtime::Error;

#ifdef ET_C_API_LLM

using executorch::extension::Module;
using executorch::extension::c_api::load_mode_of;
using executorch::runtime::Result;
using Tokenizer = std::unique_ptr<tokenizers::Tokenizer>;
namespace llm = executorch::extension::llm;

namespace {

Result<Tokenizer> tokenizer_in(Module& module, const char* program, const char* advice) {
  auto embedded = llm::load_embedded_tokenizer(module);
  ET_CHECK_OR_RETURN_ERROR(embedded.error() != Error::NotFound, InvalidArgument,
                           "%s contains no tokenizer: %s, or export the program with export.embed_tokenizer=true",
                           program, advice);
  return embedded;
}

Result<Tokenizer> tokenizer_of_file(const char* path, const char* const* special_tokens, size_t count) {
  std::unique_ptr<std::vector<std::string>> tokens;
  if (count > 0) {
    ET_CHECK_NOT_NULL(special_tokens);
    tokens = std::make_unique<std::vector<std::string>>();
    for (size_t i = 0; i < count; ++i) {
      ET_CHECK_NOT_NULL(special_tokens[i]);
      tokens->emplace_back(special_tokens[i]);
    }
  }
  Tokenizer tokenizer = llm::load_tokenizer(path, std::move(tokens));
  ET_CHECK_OR_RETURN_ERROR(tokenizer != nullptr, InvalidArgument, "the tokenizer %s cannot be loaded: %s", path,
                           tokenizers::last_error_message());
  return tokenizer;
}

/// The runner of `module`, which is loaded with the data buffers of `options`. `make_tokenizer(module)` makes its
/// tokenizer.
template <typename MakeTokenizer>
Error load(std::unique_ptr<Module> module, const char* program, const et_options& options,
           const MakeTokenizer& make_tokenizer, et_llm** out) {
  const int64_t start = llm::time_in_ms();
  for (const et_options::DataBuffer& buffer : options.data_buffers) {
    ET_CHECK_OK_OR_RETURN_ERROR(
        module->add_data(std::make_unique<executorch::extension::c_api::MemoryLoader>(buffer.memory, buffer.size)));
  }
  ET_CHECK_OK_OR_RETURN_ERROR(module->load());
  Result<Tokenizer> tokenizer = make_tokenizer(*module);
  ET_CHECK_OK_OR_RETURN_ERROR(tokenizer.error());
  auto made = std::make_unique<et_llm>();
  made->module = module.get();
  ET_ASSIGN_OR_RETURN(is_multimodal, llm::is_multimodal(*module));
  if (is_multimodal) {
    made->runner = llm::create_multimodal_runner(std::move(module), std::move(*tokenizer));
  } else {
    made->runner = llm::create_text_llm_runner(std::move(module), std::move(*tokenizer));
  }
  ET_CHECK_OR_RETURN_ERROR(made->runner != nullptr, InvalidProgram, "%s is not a language model", program);
  ET_CHECK_OK_OR_RETURN_ERROR(made->runner->load());
  made->load_start_ms = start;
  made->load_end_ms = llm::time_in_ms();
  *out = made.release();
  return Error::Ok;
}

Error load_file(const char* path, const char* tokenizer_path, const char* const* special_tokens, size_t count,
                const et_options* given, et_llm** out) {
  ET_CHECK_NOT_NULL(path);
  const et_options options = given != nullptr ? *given : et_options();
  const auto tokenizer = [&](Module& module) {
    return tokenizer_path != nullptr ? tokenizer_of_file(tokenizer_path, special_tokens, count)
                                     : tokenizer_in(module, path, "name its file in `tokenizer_path`");
  };
  return load(std::make_unique<Module>(path, options.data_files, load_mode_of(options)), path, options, tokenizer, out);
}

Error load_buffer(Release bytes, size_t size, std::string_view tokenizer_bytes, const et_options* given, et_llm** out) {
  const et_options options = given != nullptr ? *given : et_options();
  ET_CHECK_OR_RETURN_ERROR(options.data_files.empty(), NotSupported,
                           "a program in memory takes its weights from memory too, found %zu data files: use "
                           "et_options_add_data_buffer, or load the program with et_llm_load_file",
                           options.data_files.size());
  ET_ASSIGN_OR_RETURN(loader, executorch::extension::c_api::load_from_memory(std::move(bytes), size));
  const auto tokenizer = [&](Module& module) -> Result<Tokenizer> {
    if (tokenizer_bytes.data() == nullptr) {
      return tokenizer_in(module, "the program", "pass the bytes of its file in `tokenizer`");
    }
    Tokenizer made = llm::load_tokenizer_from_buffer(tokenizer_bytes);
    ET_CHECK_OR_RETURN_ERROR(made != nullptr, InvalidArgument, "the tokenizer cannot be loaded: %s",
                             tokenizers::last_error_message());
    return made;
  };
  return load(std::make_unique<Module>(std::move(loader)), "the program", options, tokenizer, out);
}

}  // namespace

#endif

et_status et_llm_load_file(const char* path, const char* tokenizer_path, const et_options* options, et_llm** out,
                           et_error** error) {
  return et_llm_load_file_with_special_tokens(path, tokenizer_path, nullptr, 0, options, out, error);
}

et_status et_llm_load_file_with_special_tokens([[maybe_unused]] const char* path,
                                               [[maybe_unused]] const char* tokenizer_path,
                                               [[maybe_unused]] const char* const* special_tokens,
                                               [[maybe_unused]] size_t count,
                                               [[maybe_unused]] const et_options* options, et_llm** out,
                                               et_error** error) {
  return call_for(out, error, [&]() -> Error {
    ET_WITH_LLM(return load_file(path, tokenizer_path, special_tokens, count, options, out);)
  });
}

et_status et_llm_load_buffer(const void* data, [[maybe_unused]] size_t size, et_release release, void* context,
                             [[maybe_unused]] const void* tokenizer, [[maybe_unused]] size_t tokenizer_size,
                             [[maybe_unused]] const et_options* options, et_llm** out, et_error** error) {
  Release bytes(const_cast<void*>(data), release, context);
  return call_for(out, error, [&]() -> Error {
    ET_WITH_LLM({
      ET_CHECK_NOT_NULL(data);
      const std::string_view tokenizer_bytes(static_cast<const char*>(tokenizer),
                                             tokenizer != nullptr ? tokenizer_size : 0);
      return load_buffer(std::move(bytes), size, tokenizer_bytes, options, out);
    })
  });
}
