// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <pytorch/tokenizers/tokenizer.h>

namespace executorch {
namespace extension {
namespace llm {

/// The tokenizer in a file, whose content says of which format it is: a `tokenizer.json` of Hugging Face (or the folder
/// with one), a file of tiktoken, a model of SentencePiece, or a `tokenizer.bin` of llama2.c. The other arguments are
/// for tiktoken: `special_tokens` and `pattern` (default: those of Llama 3), and the positions of the tokens that begin
/// and end a sequence among the special ones. Null on failure: tokenizers::last_error_message() says why.
std::unique_ptr<tokenizers::Tokenizer> load_tokenizer(
    const std::string& tokenizer_path, std::unique_ptr<std::vector<std::string>> special_tokens = nullptr,
    std::optional<std::string> pattern = std::nullopt, size_t bos_token_index = 0, size_t eos_token_index = 1);

}  // namespace llm
}  // namespace extension
}  // namespace executorch
