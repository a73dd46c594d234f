// SPDX-License-Identifier: BSD-3-Clause
#include <pytorch/tokenizers/llama2c_tokenizer.h>

#include <algorithm>
#include <cstring>

#include "failure.h"
#include "guarded.h"
#include "model.h"
#include "score_ranks.h"
#include "utf8.h"

namespace tokenizers {

using detail::fail;
using detail::kNoToken;
using detail::Merge;
using detail::Symbol;

namespace {

/// The tokens of the 256 bytes follow those for unknown characters, the beginning and the end, in a file that does not
/// name them.
constexpr uint32_t kFirstByteToken = 3;
/// A symbol that is never merged.
constexpr uint32_t kFrozen = kNoToken - 1;

/// Little-endian numbers from the front of a file.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}
  bool read(uint32_t& word) {
    if (bytes_.size() < 4) {
      return false;
    }
    word = 0;
    for (size_t i = 4; i-- > 0;) {
      word = word << 8 | static_cast<unsigned char>(bytes_[i]);
    }
    bytes_.remove_prefix(4);
    return true;
  }
  bool read(size_t size, std::string_view& text) {
    if (size > bytes_.size()) {
      return false;
    }
    text = bytes_.substr(0, size);
    bytes_.remove_prefix(size);
    return true;
  }
  size_t left() const { return bytes_.size(); }

 private:
  std::string_view bytes_;
};

}  // namespace

struct Llama2cTokenizer::State {
  detail::Vocabulary vocabulary;
  std::vector<uint32_t> ranks;
  /// The token of the byte 0; those of the other bytes follow it.
  uint32_t first_byte = kFirstByteToken;
};

Llama2cTokenizer::Llama2cTokenizer() = default;
Llama2cTokenizer::~Llama2cTokenizer() = default;

Error Llama2cTokenizer::load(const std::string& tokenizer_path) {
  return detail::guarded([&]() -> Error {
    std::string bytes;
    TK_CHECK_OK_OR_RETURN_ERROR(detail::read_file(tokenizer_path, bytes));
    return load_from_buffer(bytes);
  });
}

Error Llama2cTokenizer::load_from_buffer(std::string_view bytes) {
  return detail::guarded([&]() -> Error {
    Reader reader(bytes);
    uint32_t count = 0, bos = 0, eos = 0, longest = 0;
    if (!reader.read(count) || !reader.read(bos) || !reader.read(eos) || !reader.read(longest)) {
      return fail(Error::ParseFailure, "not a tokenizer of llama2.c: it has %zu bytes, expected at least 16",
                  bytes.size());
    }
    if (count == 0 || count > reader.left() / 8) {
      return fail(Error::ParseFailure, "not a tokenizer of llama2.c: it names %u tokens, but has %zu bytes for them",
                  count, reader.left());
    }
    auto made = std::make_unique<State>();
    std::vector<float> scores;
    uint32_t id = 0;
    while (reader.left() > 0) {
      uint32_t bits = 0, size = 0;
      std::string_view text;
      if (!reader.read(bits) || !reader.read(size) || !reader.read(size, text)) {
        return fail(Error::ParseFailure, "token %u of a tokenizer of llama2.c ends behind the file", id);
      }
      float score = 0;
      std::memcpy(&score, &bits, sizeof(score));
      scores.push_back(score);
      if (!made->vocabulary.add(text, id)) {
        return fail(Error::ParseFailure, "a tokenizer of llama2.c has more than %llu tokens",
                    static_cast<unsigned long long>(detail::kLargestToken));
      }
      id++;
    }
    if (id != count && id != count + 1) {
      return fail(Error::ParseFailure, "a tokenizer of llama2.c names %u tokens, but has %u", count, id);
    }
    if (id == count + 1 && bos < count && eos < count) {
      bos++;  // ExecuTorch's converter does not count a padding token in front, in these ids neither
      eos++;
    }
    if (bos >= id || eos >= id) {
      return fail(Error::ParseFailure, "a tokenizer of llama2.c begins and ends with the tokens %u and %u, but has %u",
                  bos, eos, id);
    }
    made->ranks = detail::ranks_by_score(std::move(scores));
    if (const uint32_t byte = made->vocabulary.find("<0x00>"); byte != kNoToken) {
      made->first_byte = byte;
    }
    state_ = std::move(made);
    vocab_size_ = static_cast<int32_t>(id);
    bos_tok_ = bos;
    eos_tok_ = eos;
    initialized_ = true;
    return Error::Ok;
  });
}

Result<std::string> Llama2cTokenizer::id_to_piece(uint64_t token) const {
  return detail::guarded([&]() -> Result<std::string> {
    TK_CHECK_OK_OR_RETURN_ERROR(check_loaded());
    return state_->vocabulary.contains(token) ? Result<std::string>(std::string(state_->vocabulary.text(token)))
                                              : no_such_token(token);
  });
}

Result<uint64_t> Llama2cTokenizer::piece_to_id(const std::string& text) const {
  return detail::guarded([&]() -> Result<uint64_t> {
    TK_CHECK_OK_OR_RETURN_ERROR(check_loaded());
    const uint32_t id = state_->vocabulary.find(text);
    return id != kNoToken ? Result<uint64_t>(id)
                          : fail(Error::OutOfRange, "there is no token \"%.100s\"", text.c_str());
  });
}

Result<std::vector<uint64_t>> Llama2cTokenizer::encode(const std::string& input, int8_t bos, int8_t eos) const {
  return detail::guarded([&]() -> Result<std::vector<uint64_t>> {
    TK_CHECK_OK_OR_RETURN_ERROR(check_loaded());
    TK_CHECK_OK_OR_RETURN_ERROR(detail::check_text(input));
    std::vector<uint64_t> ids(static_cast<size_t>(std::max<int8_t>(bos, 0)), bos_tok_);
    detail::Work work(detail::Work::Kind::kEncode, input.size());
    detail::Workspace workspace(work);
    std::vector<Symbol>& symbols = workspace.symbols;
    const detail::Vocabulary& vocabulary = state_->vocabulary;
    // A text begins with a space.
    const std::string text = input.empty() ? "" : " " + input;
    for (size_t at = 0; at < text.size();) {
      const size_t begin = at;
      detail::next_character(text, at);
      const auto size = static_cast<uint32_t>(at - begin);
      const uint32_t id = vocabulary.find(std::string_view(text).substr(begin, size));
      if (id != kNoToken) {
        symbols.push_back({id, static_cast<uint32_t>(begin), size});
        continue;
      }
      for (size_t i = begin; i < at; i++) {
        symbols.push_back({kFrozen, static_cast<uint32_t>(i), 1});
      }
    }
    detail::merge_symbols(symbols, workspace.merges, [&](const Symbol& left, const Symbol& right) {
      const size_t size = left.size + right.size;
      const uint32_t id = left.token == kFrozen || right.token == kFrozen || size > vocabulary.longest()
                              ? kNoToken
                              : vocabulary.find(std::string_view(text).substr(left.begin, size));
      return id == kNoToken ? Merge{detail::kNoRank, kNoToken} : Merge{state_->ranks[id], id};
    });
    for (const Symbol& symbol : symbols) {
      const auto value = static_cast<unsigned char>(text[symbol.begin]);
      const uint64_t byte = uint64_t{state_->first_byte} + value;
      if (symbol.token == kFrozen && byte >= static_cast<uint64_t>(vocab_size_)) {
        return fail(Error::EncodeFailure, "the byte 0x%02x is not a token of the file", static_cast<unsigned>(value));
      }
      ids.push_back(symbol.token == kFrozen ? byte : symbol.token);
    }
    ids.insert(ids.end(), static_cast<size_t>(std::max<int8_t>(eos, 0)), eos_tok_);
    return ids;
  });
}

Result<std::string> Llama2cTokenizer::decode(uint64_t prev_token, uint64_t token, bool skip_special_tokens) const {
  return detail::guarded([&]() -> Result<std::string> {
    TK_CHECK_OK_OR_RETURN_ERROR(check_loaded());
    if (!state_->vocabulary.contains(token)) {
      return no_such_token(token);
    }
    if (skip_special_tokens && (token == bos_tok_ || token == eos_tok_)) {
      return std::string();
    }
    std::string text(state_->vocabulary.text(token));
    if ((prev_token == bos_tok_ || prev_token == kBeginning) && !text.empty() && text[0] == ' ') {
      text.erase(0, 1);
    }
    unsigned byte = 0;
    char end = 0;
    if (text.size() == 6 && std::sscanf(text.c_str(), "<0x%2x%c", &byte, &end) == 2 && end == '>') {
      text.assign(1, static_cast<char>(static_cast<unsigned char>(byte)));
    }
    return text;
  });
}

}  // namespace tokenizers
