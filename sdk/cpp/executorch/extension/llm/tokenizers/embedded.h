// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>
#include <string_view>

#include <executorch/runtime/core/named_data_map.h>
#include <executorch/runtime/core/result.h>
#include <pytorch/tokenizers/tokenizer.h>

namespace executorch {
namespace extension {
namespace llm {

/// Names of data in a program: a tokenizer, as a file that load_tokenizer() takes or compiled by
/// tokenizers::HFTokenizer::compile(), and a chat template, UTF-8 text in the language of Jinja.
inline constexpr const char* kTokenizerKey = "tokenizer";
inline constexpr const char* kChatTemplateKey = "chat_template";

/// The tokenizer inside a program (`Program::get_named_data_map()`). A compiled one is used in place: in a mapped
/// program, only its settings are parsed, and its tables are not copied. `data` must outlive it. Error::NotFound if the
/// program has none, Error::InvalidExternalData if it cannot be used; tokenizers::last_error_message() says why.
runtime::Result<std::unique_ptr<tokenizers::Tokenizer>> load_embedded_tokenizer(const runtime::NamedDataMap& data);

/// A tokenizer from the bytes of a file, of any format that load_tokenizer() reads; the bytes are not needed after the
/// call. Null on failure, as for load_tokenizer().
std::unique_ptr<tokenizers::Tokenizer> load_tokenizer_from_buffer(std::string_view bytes);

}  // namespace llm
}  // namespace extension
}  // namespace executorch
