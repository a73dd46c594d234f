// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/extension/llm/runner/llm_runner_helper.h>

#include <sys/stat.h>
#include <algorithm>
#include <cctype>
#include <string_view>

#include <pytorch/tokenizers/hf_tokenizer.h>
#include <pytorch/tokenizers/llama2c_tokenizer.h>
#include <pytorch/tokenizers/sentencepiece.h>
#include <pytorch/tokenizers/tiktoken.h>

#include "failure.h"

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

/// The first field of the message: a piece, whose first field is a string, which fits into it.
bool looks_like_sentencepiece(std::string_view bytes) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(bytes[i]); };
  return bytes.size() > 4 && byte(0) == 0x0A && byte(1) < 0x80 && byte(2) == 0x0A && byte(3) + 2U <= byte(1);
}

}  // namespace

std::unique_ptr<tokenizers::Tokenizer> load_tokenizer(const std::string& tokenizer_path,
                                                      std::unique_ptr<std::vector<std::string>> special_tokens,
                                                      std::optional<std::string> pattern, size_t bos_token_index,
                                                      size_t eos_token_index) {
  const auto loaded = [&](std::unique_ptr<tokenizers::Tokenizer> made) {
    return made->load(tokenizer_path) == tokenizers::Error::Ok ? std::move(made) : nullptr;
  };
  struct stat found{};
  if (stat(tokenizer_path.c_str(), &found) == 0 && (found.st_mode & S_IFMT) == S_IFDIR) {
    return loaded(std::make_unique<tokenizers::HFTokenizer>());
  }
  std::string bytes;
  if (tokenizers::detail::read_file(tokenizer_path, bytes) != tokenizers::Error::Ok) {
    return nullptr;
  }
  if (looks_like_json(bytes)) {
    return loaded(std::make_unique<tokenizers::HFTokenizer>());
  }
  std::unique_ptr<tokenizers::Tokenizer> made;
  if (looks_like_tiktoken(bytes)) {
    if (special_tokens && pattern) {
      made = std::make_unique<tokenizers::Tiktoken>(std::move(*pattern), std::move(special_tokens), bos_token_index,
                                                    eos_token_index);
    } else if (special_tokens) {
      made = std::make_unique<tokenizers::Tiktoken>(std::move(special_tokens), bos_token_index, eos_token_index);
    } else {
      made = tokenizers::Tiktoken::with_default_special_tokens(pattern, bos_token_index, eos_token_index);
    }
  } else if (looks_like_sentencepiece(bytes)) {
    made = std::make_unique<tokenizers::SPTokenizer>();
  } else {
    made = std::make_unique<tokenizers::Llama2cTokenizer>();
  }
  return made->load_from_buffer(bytes) == tokenizers::Error::Ok ? std::move(made) : nullptr;
}

}  // namespace llm
}  // namespace extension
}  // namespace executorch
