// SPDX-License-Identifier: BSD-3-Clause
// Expected words come from transformers' function for the words of Whisper's tokens.
#include <executorch/extension/asr/runner/words.h>

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <tuple>
#include <vector>

namespace {

using executorch::extension::asr::internal::words_of;

const std::vector<std::string> kPieces = {" Hello",   ",",        " wor",         "ld",           "!",   " (", "ab",
                                          ")",        " \"",      "quo",          "ted",          ".\"", " ",  "x",
                                          "\xe4\xbd", "\xa0",     "\xe5\xa5\xbd", "\xe3\x80\x82", " -",  "5",  "\xff",
                                          " z",       "\xe2\x82", "\xac\xe4",     "\xbd\xa0"};
constexpr int64_t kSpecial = 25;
constexpr int64_t kTime = 26;

/// A tokenizer whose tokens are the texts above, a special token, and times.
class Pieces final : public tokenizers::Tokenizer {
 public:
  Pieces() {
    initialized_ = true;
    vocab_size_ = kTime + 10;
  }
  tokenizers::Error load(const std::string&) override { return tokenizers::Error::Ok; }
  tokenizers::Result<std::string> id_to_piece(uint64_t token) const override {
    return token < kPieces.size() ? kPieces[token] : std::string("<special>");
  }
  tokenizers::Result<uint64_t> piece_to_id(const std::string&) const override { return tokenizers::Error::OutOfRange; }
  tokenizers::Result<std::vector<uint64_t>> encode(const std::string&, int8_t, int8_t) const override {
    return std::vector<uint64_t>();
  }
  tokenizers::Result<std::string> decode(uint64_t, uint64_t token, bool skip_special_tokens) const override {
    return token >= kPieces.size() && skip_special_tokens ? std::string() : *id_to_piece(token);
  }
};

using Words = std::vector<std::tuple<std::string, size_t, size_t>>;

Words words(const std::vector<int64_t>& tokens, bool has_spaces = true) {
  const Pieces tokenizer;
  const auto found = words_of(tokenizer, tokens, kTime, has_spaces);
  Words listed;
  EXPECT_TRUE(found.ok());
  for (const auto& word : *found) {
    listed.emplace_back(word.text, word.first, word.last);
  }
  return listed;
}

TEST(WordsTest, WordsEqualTransformers) {
  EXPECT_EQ(words({0, 1, 2, 3, 4}), (Words{{" Hello,", 0, 1}, {" world!", 2, 4}}));
  EXPECT_EQ(words({0, 5, 6, 7, 1, 8, 9, 10, 11}), (Words{{" Hello", 0, 0}, {" (ab),", 1, 4}, {" \"quoted.\"", 5, 8}}));
  EXPECT_EQ(words({13, 12, 13, 1, 12, 12, 13}), (Words{{"x", 0, 0}, {" x,", 1, 3}, {"  x", 4, 6}}));
  EXPECT_EQ(words({18, 19, 0, 8}), (Words{{" -5", 0, 1}, {" Hello", 2, 2}, {" \"", 3, 3}}));
  EXPECT_EQ(words({5, 8, 6}), (Words{{" ( \"ab", 0, 2}}));
  EXPECT_EQ(words({1, 0}), (Words{{",", 0, 0}, {" Hello", 1, 1}}));
  EXPECT_EQ(words({}), Words());
}

TEST(WordsTest, CharactersOfSeveralTokens) {
  EXPECT_EQ(words({0, 14, 15, 16, 17, 21}), (Words{{" Hello你好。", 0, 4}, {" z", 5, 5}}));
  EXPECT_EQ(words({14, 15, 16, 17, 14, 15}, false), (Words{{"你", 0, 1}, {"好。", 2, 3}, {"你", 4, 5}}));
  EXPECT_EQ(words({21, 22, 23, 24, 21}), (Words{{" z€你", 0, 3}, {" z", 4, 4}}));
  EXPECT_EQ(words({22, 23, 24, 17}, false), (Words{{"€你。", 0, 3}}));
  EXPECT_EQ(words({21, 14}), (Words{{" z\xef\xbf\xbd", 0, 1}}));  // the text ends within a character
}

/// Times, special tokens and tokens beyond the vocabulary have no text, but are counted.
TEST(WordsTest, TokensWithoutText) {
  EXPECT_EQ(words({kTime, 0, kSpecial, 1, kTime + 3, 2, 3, kTime + 4}), (Words{{" Hello,", 1, 3}, {" world", 5, 6}}));
  EXPECT_EQ(words({14, kSpecial, 15}), (Words{{"你", 0, 2}}));
  EXPECT_EQ(words({kTime, kTime + 1}), Words());
  const Pieces tokenizer;
  EXPECT_EQ(words_of(tokenizer, {0, 1000, 2, 3}, 5000, true)->size(), 2U);
}

}  // namespace
