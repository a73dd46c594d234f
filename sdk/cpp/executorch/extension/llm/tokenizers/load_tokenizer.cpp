// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/extension/llm/runner/llm_runner_helper.h>
#include <executorch/extension/llm/tokenizers/embedded.h>

#include <sys/stat.h>
#include <algorithm>
#include <cctype>
#include <string_view>

#include <pytorch/tokenizers/hf_tokenizer.h>
#include <pytorch/tokenizers/llama2c_tokenizer.h>
#include <pytorch/tokenizers/sentencepiece.h>
#include <pytorch/tokenizers/tiktoken.h>

#include "compiled.h"
#include "failure.h"
#include "guarded.h"

namespace executorch {
namespace extension {
namespace llm {
namespace {

bool is_space(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

bool looks_like_json(std::string_view bytes) {
  const auto first = std::find_if_not(bytes.begin(), bytes.end(), is_space);
  return first != bytes.end() && *first == '{';
}

/// A first line of base64, a space and a number.
bool looks_like_tiktoken(std::string_view bytes) {
  const std::string_view line = bytes.substr(0, bytes.find('\n'));
  const size_t space = line.find(' ');
  const auto is_base64 = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '+' || c == '/' || c == '=';
  };
  return space != std::string_view::npos && space + 1 < line.size() &&
         std::all_of(line.begin(), line.begin() + space, is_base64) &&
         std::isdigit(static_cast<unsigned char>(line[space + 1])) != 0;
}

/// Whether the first field of the message is a piece that contains, as its first field, a string.
bool looks_like_sentencepiece(std::string_view bytes) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(bytes[i]); };
  return bytes.size() > 4 && byte(0) == 0x0A && byte(1) < 0x80 && byte(2) == 0x0A && byte(3) + 2U <= byte(1);
}

/// The arguments of load_tokenizer() for tiktoken.
struct TiktokenOptions {
  std::unique_ptr<std::vector<std::string>> special_tokens;
  std::optional<std::string> pattern;
  size_t bos = 0;
  size_t eos = 1;
};

std::unique_ptr<tokenizers::Tokenizer> make(std::string_view bytes, TiktokenOptions options) {
  if (looks_like_json(bytes) || tokenizers::detail::is_compiled(bytes)) {
    return std::make_unique<tokenizers::HFTokenizer>();
  }
  if (looks_like_sentencepiece(bytes)) {
    return std::make_unique<tokenizers::SPTokenizer>();
  }
  if (!looks_like_tiktoken(bytes)) {
    return std::make_unique<tokenizers::Llama2cTokenizer>();
  }
  if (options.special_tokens && options.pattern) {
    return std::make_unique<tokenizers::Tiktoken>(std::move(*options.pattern), std::move(options.special_tokens),
                                                  options.bos, options.eos);
  }
  if (options.special_tokens) {
    return std::make_unique<tokenizers::Tiktoken>(std::move(options.special_tokens), options.bos, options.eos);
  }
  return tokenizers::Tiktoken::with_default_special_tokens(options.pattern, options.bos, options.eos);
}

std::unique_ptr<tokenizers::Tokenizer> load(std::string_view bytes, TiktokenOptions options) {
  auto made = make(bytes, std::move(options));
  return made->load_from_buffer(bytes) == tokenizers::Error::Ok ? std::move(made) : nullptr;
}

/// The pointer that `function` returns; null if memory is exhausted.
template <typename Function>
std::unique_ptr<tokenizers::Tokenizer> guarded(const Function& function) {
  std::unique_ptr<tokenizers::Tokenizer> made;
  const tokenizers::Error error = tokenizers::detail::guarded([&] {
    made = function();
    return tokenizers::Error::Ok;
  });
  return error == tokenizers::Error::Ok ? std::move(made) : nullptr;
}

}  // namespace

std::unique_ptr<tokenizers::Tokenizer> load_tokenizer_from_buffer(std::string_view bytes) {
  return guarded([&] { return load(bytes, {}); });
}

runtime::Result<std::unique_ptr<tokenizers::Tokenizer>> load_embedded_tokenizer(const runtime::NamedDataMap& data) {
  auto found = data.get_data(kTokenizerKey);
  if (!found.ok()) {
    return found.error();
  }
  auto made = guarded([&]() -> std::unique_ptr<tokenizers::Tokenizer> {
    const auto buffer = std::make_shared<runtime::FreeableBuffer>(std::move(*found));
    const std::string_view bytes(static_cast<const char*>(buffer->data()), buffer->size());
    if (!tokenizers::detail::is_compiled(bytes)) {
      return load_tokenizer_from_buffer(bytes);
    }
    auto compiled = std::make_unique<tokenizers::HFTokenizer>();
    return compiled->load_compiled(bytes, buffer) == tokenizers::Error::Ok ? std::move(compiled) : nullptr;
  });
  if (!made) {
    return runtime::Error::InvalidExternalData;
  }
  return made;
}

std::unique_ptr<tokenizers::Tokenizer> load_tokenizer(const std::string& tokenizer_path,
                                                      std::unique_ptr<std::vector<std::string>> special_tokens,
                                                      std::optional<std::string> pattern, size_t bos_token_index,
                                                      size_t eos_token_index) {
  return guarded([&]() -> std::unique_ptr<tokenizers::Tokenizer> {
    const auto with_config = [&]() -> std::unique_ptr<tokenizers::Tokenizer> {
      auto made = std::make_unique<tokenizers::HFTokenizer>();
      return made->load(tokenizer_path) == tokenizers::Error::Ok ? std::move(made) : nullptr;
    };
    struct stat found{};
    if (stat(tokenizer_path.c_str(), &found) == 0 && (found.st_mode & S_IFMT) == S_IFDIR) {
      return with_config();
    }
    std::string bytes;
    if (tokenizers::detail::read_file(tokenizer_path, bytes) != tokenizers::Error::Ok) {
      return nullptr;
    }
    if (looks_like_json(bytes)) {
      return with_config();
    }
    return load(bytes, {std::move(special_tokens), std::move(pattern), bos_token_index, eos_token_index});
  });
}

}  // namespace llm
}  // namespace extension
}  // namespace executorch
