// SPDX-License-Identifier: BSD-3-Clause
#include <pytorch/tokenizers/tiktoken.h>

#include <algorithm>
#include <optional>

#include "added_tokens.h"
#include "base64.h"
#include "byte_pairs.h"
#include "failure.h"
#include "guarded.h"
#include "model.h"
#include "regex.h"
#include "text_pieces.h"
#include "utf8.h"

namespace tokenizers {

using detail::AddedTokens;
using detail::fail;
using detail::Merge;
using detail::Symbol;

namespace {

std::string llama3_pattern() {
  return R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
}

std::vector<std::string> llama3_special_tokens() {
  std::vector<std::string> tokens = {"<|begin_of_text|>",
                                     "<|end_of_text|>",
                                     "<|reserved_special_token_0|>",
                                     "<|reserved_special_token_1|>",
                                     "<|finetune_right_pad_id|>",
                                     "<|step_id|>",
                                     "<|start_header_id|>",
                                     "<|end_header_id|>",
                                     "<|eom_id|>",
                                     "<|eot_id|>",
                                     "<|python_tag|>"};
  for (int reserved = 2; tokens.size() < kSpecialTokensSize; reserved++) {
    tokens.push_back("<|reserved_special_token_" + std::to_string(reserved) + "|>");
  }
  return tokens;
}

std::vector<std::string> taken(std::unique_ptr<std::vector<std::string>> tokens) {
  return tokens ? std::move(*tokens) : std::vector<std::string>();
}

/// Parses a rank, which must consist of digits.
bool parse_rank(std::string_view text, uint64_t& rank) {
  rank = 0;
  for (const char c : text) {
    if (c < '0' || c > '9' || rank > detail::kLargestToken) {
      return false;
    }
    rank = rank * 10 + static_cast<uint64_t>(c - '0');
  }
  return !text.empty();
}

}  // namespace

struct Tiktoken::State {
  detail::Vocabulary ranks;
  AddedTokens special;
  detail::Regex regex;

  Error load(std::string_view bytes);
  Error tokenize(std::string_view text, detail::Workspace& workspace, std::vector<uint64_t>& ids) const;
  Error add_word(std::string_view word, detail::Workspace& workspace, std::vector<uint64_t>& ids) const;
};

Error Tiktoken::State::load(std::string_view bytes) {
  const uint64_t largest = detail::largest_id(static_cast<uint64_t>(std::count(bytes.begin(), bytes.end(), '\n')));
  std::string token;
  size_t line = 0;
  for (size_t begin = 0; begin < bytes.size();) {
    const size_t end = std::min(bytes.find('\n', begin), bytes.size());
    std::string_view text = bytes.substr(begin, end - begin);
    begin = end + 1;
    line++;
    if (!text.empty() && text.back() == '\r') {
      text.remove_suffix(1);
    }
    if (text.empty()) {
      continue;
    }
    const size_t space = text.find(' ');
    uint64_t rank = 0;
    if (space == std::string_view::npos || !parse_rank(text.substr(space + 1), rank)) {
      return fail(Error::ParseFailure,
                  "line %zu is not a line of tiktoken: expected a token in base64, a space and its rank", line);
    }
    const Error error = detail::decode_base64(text.substr(0, space), token);
    if (error != Error::Ok) {
      return fail(error, "line %zu: %s", line, std::string(last_error_message()).c_str());
    }
    if (rank > largest || !ranks.add(token, rank)) {
      return fail(Error::ParseFailure, "line %zu: the rank %llu is another token's, or larger than %llu", line,
                  static_cast<unsigned long long>(rank), static_cast<unsigned long long>(largest));
    }
  }
  return ranks.count() > 0 ? Error::Ok
                           : fail(Error::ParseFailure, "there is no token in the file, expected lines of tiktoken");
}

Error Tiktoken::State::tokenize(std::string_view text, detail::Workspace& workspace, std::vector<uint64_t>& ids) const {
  return regex.for_each(text, workspace.work, [&](size_t begin, size_t end) {
    return begin < end ? add_word(text.substr(begin, end - begin), workspace, ids) : Error::Ok;
  });
}

Error Tiktoken::State::add_word(std::string_view word, detail::Workspace& workspace, std::vector<uint64_t>& ids) const {
  TK_CHECK_OK_OR_RETURN_ERROR(workspace.work.steps(1 + word.size()));
  const uint32_t whole = ranks.find(word);
  if (whole != detail::kNoToken) {
    ids.push_back(whole);
    return Error::Ok;
  }
  std::vector<Symbol>& symbols = workspace.symbols;
  symbols.clear();
  for (size_t i = 0; i < word.size(); i++) {
    symbols.push_back({detail::kNoToken, static_cast<uint32_t>(i), 1});
  }
  // A pair may be merged if its concatenation is a token. The rank of the merge is the rank of that token.
  detail::merge_symbols(symbols, workspace.merges, [&](const Symbol& left, const Symbol& right) {
    const size_t size = left.size + right.size;
    const uint32_t rank = size > ranks.longest() ? detail::kNoToken : ranks.find(word.substr(left.begin, size));
    return Merge{rank, rank};
  });
  for (const Symbol& symbol : symbols) {
    const uint32_t id =
        symbol.token != detail::kNoToken ? symbol.token : ranks.find(word.substr(symbol.begin, symbol.size));
    if (id == detail::kNoToken) {
      return fail(Error::EncodeFailure, "the byte 0x%02x is not a token of the file",
                  static_cast<unsigned>(static_cast<unsigned char>(word[symbol.begin])));
    }
    ids.push_back(id);
  }
  return Error::Ok;
}

Tiktoken::Tiktoken(std::string pattern, std::unique_ptr<std::vector<std::string>> special_tokens,
                   size_t bos_token_index, size_t eos_token_index)
    : pattern_(std::move(pattern)),
      special_tokens_(taken(std::move(special_tokens))),
      bos_token_index_(bos_token_index),
      eos_token_index_(eos_token_index) {}

Tiktoken::Tiktoken(std::string pattern, const std::vector<std::string>& special_tokens, size_t bos_token_index,
                   size_t eos_token_index)
    : Tiktoken(std::move(pattern), std::make_unique<std::vector<std::string>>(special_tokens), bos_token_index,
               eos_token_index) {}

Tiktoken::Tiktoken(const std::vector<std::string>& special_tokens, size_t bos_token_index, size_t eos_token_index)
    : Tiktoken(llama3_pattern(), special_tokens, bos_token_index, eos_token_index) {}

Tiktoken::Tiktoken(std::unique_ptr<std::vector<std::string>> special_tokens, size_t bos_token_index,
                   size_t eos_token_index)
    : Tiktoken(llama3_pattern(), std::move(special_tokens), bos_token_index, eos_token_index) {}

Tiktoken::Tiktoken() : Tiktoken(llama3_special_tokens(), kBOSTokenIndex, kEOSTokenIndex) {}

Tiktoken::~Tiktoken() = default;

std::unique_ptr<Tiktoken> Tiktoken::with_default_special_tokens(std::optional<std::string> pattern,
                                                                size_t bos_token_index, size_t eos_token_index) {
  return std::make_unique<Tiktoken>(pattern ? std::move(*pattern) : llama3_pattern(), llama3_special_tokens(),
                                    bos_token_index, eos_token_index);
}

Error Tiktoken::load(const std::string& tokenizer_path) {
  return detail::guarded([&]() -> Error {
    std::string bytes;
    TK_CHECK_OK_OR_RETURN_ERROR(detail::read_file(tokenizer_path, bytes));
    return load_from_buffer(bytes);
  });
}

Error Tiktoken::load_from_buffer(std::string_view bytes) {
  return detail::guarded([&]() -> Error {
    auto made = std::make_unique<State>();
    detail::Work work(detail::Work::Kind::kLoad, bytes.size());
    TK_CHECK_OK_OR_RETURN_ERROR(made->regex.compile(pattern_, detail::RegexSyntax::kRust, work));
    TK_CHECK_OK_OR_RETURN_ERROR(made->load(bytes));
    for (const size_t index : {bos_token_index_, eos_token_index_}) {
      if (index >= special_tokens_.size()) {
        return fail(Error::OutOfRange, "the special token with index %zu begins or ends a sequence, but there are %zu",
                    index, special_tokens_.size());
      }
    }
    const size_t first = made->ranks.size();
    for (size_t i = 0; i < special_tokens_.size(); i++) {
      if (made->special.find(special_tokens_[i]) != nullptr || special_tokens_[i].empty()) {
        return fail(Error::LoadFailure, "special token %zu, \"%.100s\", is empty or occurs twice", i,
                    special_tokens_[i].c_str());
      }
      AddedTokens::Token token;
      token.content = token.text = special_tokens_[i];
      token.id = first + i;
      token.normalized = false;
      token.special = true;
      made->special.add(std::move(token));
    }
    state_ = std::move(made);
    vocab_size_ = static_cast<int32_t>(first + special_tokens_.size());
    bos_tok_ = first + bos_token_index_;
    eos_tok_ = first + eos_token_index_;
    initialized_ = true;
    return Error::Ok;
  });
}

Result<std::string> Tiktoken::id_to_piece(uint64_t token) const {
  return detail::guarded([&]() -> Result<std::string> {
    TK_CHECK_OK_OR_RETURN_ERROR(check_loaded());
    if (const AddedTokens::Token* special = state_->special.find(token)) {
      return special->content;
    }
    return state_->ranks.contains(token) ? Result<std::string>(std::string(state_->ranks.text(token)))
                                         : no_such_token(token);
  });
}

Result<uint64_t> Tiktoken::piece_to_id(const std::string& text) const {
  return detail::guarded([&]() -> Result<uint64_t> {
    TK_CHECK_OK_OR_RETURN_ERROR(check_loaded());
    if (const AddedTokens::Token* special = state_->special.find(text)) {
      return special->id;
    }
    const uint32_t id = state_->ranks.find(text);
    return id != detail::kNoToken ? Result<uint64_t>(id)
                                  : fail(Error::OutOfRange, "there is no token \"%.100s\"", text.c_str());
  });
}

Result<std::vector<uint64_t>> Tiktoken::encode(const std::string& input, int8_t bos, int8_t eos) const {
  return detail::guarded([&]() -> Result<std::vector<uint64_t>> {
    TK_CHECK_OK_OR_RETURN_ERROR(check_loaded());
    TK_CHECK_OK_OR_RETURN_ERROR(detail::check_text(input));
    std::vector<uint64_t> ids(static_cast<size_t>(std::max<int8_t>(bos, 0)), bos_tok_);
    detail::Work work(detail::Work::Kind::kEncode, input.size());
    detail::Workspace workspace(work);
    TK_CHECK_OK_OR_RETURN_ERROR(state_->special.split(
        input, false, work,
        [&](size_t begin, size_t end) {
          return state_->tokenize(std::string_view(input).substr(begin, end - begin), workspace, ids);
        },
        [&](uint64_t id) { ids.push_back(id); }));
    ids.insert(ids.end(), static_cast<size_t>(std::max<int8_t>(eos, 0)), eos_tok_);
    return ids;
  });
}

Result<std::vector<uint64_t>> Tiktoken::encode_ordinary(const std::string& input) const {
  return detail::guarded([&]() -> Result<std::vector<uint64_t>> {
    TK_CHECK_OK_OR_RETURN_ERROR(check_loaded());
    TK_CHECK_OK_OR_RETURN_ERROR(detail::check_text(input));
    std::vector<uint64_t> ids;
    detail::Work work(detail::Work::Kind::kEncode, input.size());
    detail::Workspace workspace(work);
    TK_CHECK_OK_OR_RETURN_ERROR(state_->tokenize(input, workspace, ids));
    return ids;
  });
}

Result<std::string> Tiktoken::decode(uint64_t, uint64_t token, bool skip_special_tokens) const {
  return detail::guarded([&]() -> Result<std::string> {
    TK_CHECK_OK_OR_RETURN_ERROR(check_loaded());
    if (skip_special_tokens && state_->special.find(token) != nullptr) {
      return std::string();
    }
    return id_to_piece(token);
  });
}

}  // namespace tokenizers
