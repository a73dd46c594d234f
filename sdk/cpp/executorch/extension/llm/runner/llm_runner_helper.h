// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include <executorch/extension/module/module.h>
#include <executorch/runtime/core/event_tracer.h>
#include <executorch/runtime/core/result.h>
#include <pytorch/tokenizers/tokenizer.h>

namespace executorch {
namespace extension {
namespace llm {

class MultimodalRunner;
class TextLLMRunner;

/// The tokenizer in a file, whose content determines the format: a `tokenizer.json` of Hugging Face (or the folder with
/// one), a file of tiktoken, a model of SentencePiece, or a `tokenizer.bin` of llama2.c. The other arguments are for
/// tiktoken: `special_tokens` and `pattern` (default: those of Llama 3), and the positions of the tokens that begin and
/// end a sequence among the special ones. Null on failure: tokenizers::last_error_message() says why.
std::unique_ptr<tokenizers::Tokenizer> load_tokenizer(
    const std::string& tokenizer_path, std::unique_ptr<std::vector<std::string>> special_tokens = nullptr,
    std::optional<std::string> pattern = std::nullopt, size_t bos_token_index = 0, size_t eos_token_index = 1);

/// The tokenizer and the chat template inside a program (`export.embed_tokenizer`). `module` must outlive the
/// tokenizer: create_text_llm_runner() takes both. NotFound if the program has none, InvalidExternalData if the
/// tokenizer cannot be used, and the errors of loading a program.
runtime::Result<std::unique_ptr<tokenizers::Tokenizer>> load_embedded_tokenizer(Module& module);
runtime::Result<std::string> load_embedded_chat_template(Module& module);

/// The tokenizer of the file `tokenizer_path`, or the tokenizer inside the program if the path is empty.
/// InvalidArgument for a file that cannot be used; the errors of load_embedded_tokenizer().
runtime::Result<std::unique_ptr<tokenizers::Tokenizer>> load_tokenizer_for(Module& module,
                                                                           const std::string& tokenizer_path);

/// The metadata of a program, under the names of constants.h: the results of its methods without inputs, whose names
/// may lack "get_". Missing values have defaults: the limit of the context is the limit of a call, tokens are the
/// tokenizer's, and the program is assumed to have a cache and static shapes. InvalidArgument if the program does not
/// say how many tokens a call takes; the errors of loading.
runtime::Result<std::unordered_map<std::string, int64_t>> get_llm_metadata(tokenizers::Tokenizer* tokenizer,
                                                                           Module* module);

/// The numbers that a method without inputs returns; its name in the program may lack "get_". NotFound, without a log
/// line, if the program has no such method; the errors of loading and running it.
runtime::Result<std::vector<int64_t>> metadata_numbers(Module& module, const std::string& method);

/// The tokens that end a sequence: those that the program names, otherwise the tokenizer's.
std::unordered_set<uint64_t> get_eos_ids(tokenizers::Tokenizer* tokenizer, Module* module);

/// A runner for the program in `model_path`, with external weights from .ptd files. `temperature` replaces that of
/// every GenerationConfig unless it is -1. Null, after a log line, if the tokenizer is null, a file cannot be read or
/// the program is not a language model; load() reads the rest.
std::unique_ptr<TextLLMRunner> create_text_llm_runner(
    const std::string& model_path, std::unique_ptr<::tokenizers::Tokenizer> tokenizer,
    std::optional<const std::string> data_path, float temperature = -1.0f, const std::string& method_name = "forward",
    Module::LoadMode load_mode = Module::LoadMode::MmapUseMlockIgnoreErrors);
std::unique_ptr<TextLLMRunner> create_text_llm_runner(
    const std::string& model_path, std::unique_ptr<::tokenizers::Tokenizer> tokenizer,
    std::vector<std::string> data_files = {}, float temperature = -1.0f,
    std::unique_ptr<::executorch::runtime::EventTracer> event_tracer = nullptr,
    const std::string& method_name = "forward",
    Module::LoadMode load_mode = Module::LoadMode::MmapUseMlockIgnoreErrors);

/// Like the function above, for a Module that the caller has created.
std::unique_ptr<TextLLMRunner> create_text_llm_runner(std::unique_ptr<Module> module,
                                                      std::unique_ptr<::tokenizers::Tokenizer> tokenizer,
                                                      float temperature = -1.0f,
                                                      const std::string& method_name = "forward");

/// Like the functions above, with the tokenizer in the program. Null, after a log line, if the program has no
/// tokenizer.
std::unique_ptr<TextLLMRunner> create_text_llm_runner(
    const std::string& model_path, std::vector<std::string> data_files = {}, float temperature = -1.0f,
    std::unique_ptr<::executorch::runtime::EventTracer> event_tracer = nullptr,
    const std::string& method_name = "forward",
    Module::LoadMode load_mode = Module::LoadMode::MmapUseMlockIgnoreErrors);
std::unique_ptr<TextLLMRunner> create_text_llm_runner(std::unique_ptr<Module> module, float temperature = -1.0f,
                                                      const std::string& method_name = "forward");

/// A runner for a program that also takes pictures or sound; see MultimodalPrefiller for its methods. Null, after a log
/// line, if the tokenizer is null, the program cannot be read, lacks a method or keeps no cache.
std::unique_ptr<MultimodalRunner> create_multimodal_runner(const std::string& model_path,
                                                           std::unique_ptr<::tokenizers::Tokenizer> tokenizer,
                                                           std::optional<const std::string> data_path = std::nullopt,
                                                           Module::LoadMode load_mode = Module::LoadMode::File);
/// Like the function above, for a Module that the caller has created.
std::unique_ptr<MultimodalRunner> create_multimodal_runner(std::unique_ptr<Module> module,
                                                           std::unique_ptr<::tokenizers::Tokenizer> tokenizer);
/// Whether a program has the methods that a MultimodalRunner calls. Errors: the errors of loading it.
runtime::Result<bool> is_multimodal(Module& module);

}  // namespace llm
}  // namespace extension
}  // namespace executorch

// Examples use the runners with this header alone.
#include <executorch/extension/llm/runner/multimodal_runner.h>
#include <executorch/extension/llm/runner/text_llm_runner.h>
