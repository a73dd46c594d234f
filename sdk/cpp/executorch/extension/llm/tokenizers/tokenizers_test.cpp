// SPDX-License-Identifier: BSD-3-Clause
// Tests of the tokenizers' C++ interface; tests/python/llm compares the ids with those of other implementations.
#include <pytorch/tokenizers/hf_tokenizer.h>
#include <pytorch/tokenizers/llama2c_tokenizer.h>
#include <pytorch/tokenizers/sentencepiece.h>
#include <pytorch/tokenizers/tiktoken.h>

#include <executorch/extension/llm/runner/llm_runner_helper.h>
#include <executorch/extension/llm/tokenizers/embedded.h>

#include <gtest/gtest.h>

#include <cstdio>
#include <cstring>

using tokenizers::Error;
using tokenizers::HFTokenizer;
using tokenizers::Tiktoken;

namespace {

using Ids = std::vector<uint64_t>;

/// Byte-level BPE with the tokens of "é" and of " a", and a token that ends a text.
constexpr const char* kByteLevel = R"({
  "added_tokens": [{"id": 9, "content": "<|endoftext|>", "special": true}],
  "normalizer": {"type": "NFC"},
  "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false},
  "post_processor": {"type": "ByteLevel"},
  "decoder": {"type": "ByteLevel"},
  "model": {"type": "BPE", "vocab": {"a": 0, "Ġ": 1, "Ã": 2, "©": 3, "Ã©": 4, "Ġa": 5, "e": 6, "ð": 7, "b": 8},
            "merges": ["Ã ©", "Ġ a"]}})";

/// A tokenizer that an application has written for ExecuTorch's interface: without load_from_buffer().
class OwnTokenizer final : public tokenizers::Tokenizer {
 public:
  Error load(const std::string&) override {
    initialized_ = true;
    vocab_size_ = 256;
    return Error::Ok;
  }
  tokenizers::Result<std::string> id_to_piece(uint64_t token) const override {
    return std::string(1, static_cast<char>(token));
  }
  tokenizers::Result<uint64_t> piece_to_id(const std::string& text) const override {
    return static_cast<uint64_t>(static_cast<unsigned char>(text[0]));
  }
  tokenizers::Result<Ids> encode(const std::string& input, int8_t, int8_t) const override {
    return Ids(input.begin(), input.end());
  }
  tokenizers::Result<std::string> decode(uint64_t, uint64_t token, bool) const override { return id_to_piece(token); }
};

TEST(TokenizersTest, NormalisesAndMerges) {
  HFTokenizer tokenizer;
  ASSERT_EQ(tokenizer.load_from_buffer(kByteLevel), Error::Ok);
  EXPECT_EQ(*tokenizer.encode("\u00e9 a"), (Ids{4, 5}));
  EXPECT_EQ(*tokenizer.encode("e\u0301 a"), (Ids{4, 5}));
  EXPECT_EQ(*tokenizer.encode("a<|endoftext|>a"), (Ids{0, 9, 0}));
  EXPECT_EQ(*tokenizer.encode("a", 1, 2), (Ids{0, 9, 9}));  // this tokenizer has no BOS token
  EXPECT_EQ(tokenizer.eos_tok(), 9U);
  EXPECT_EQ(tokenizer.vocab_size(), 10);
  EXPECT_EQ(*tokenizer.id_to_piece(5), "Ġa");
  EXPECT_EQ(*tokenizer.piece_to_id("Ġa"), 5U);
  EXPECT_EQ(*tokenizer.decode(Ids{4, 5}), "\u00e9 a");
  EXPECT_EQ(*tokenizer.decode(4, 5), " a");
  EXPECT_EQ(*tokenizer.decode(0, 9, true), "");
  EXPECT_EQ(*tokenizer.decode(0, 9, false), "<|endoftext|>");
}

TEST(TokenizersTest, StreamsWholeCharacters) {
  HFTokenizer tokenizer;
  ASSERT_EQ(tokenizer.load_from_buffer(kByteLevel), Error::Ok);
  tokenizers::StreamDecoder stream(tokenizer);
  EXPECT_EQ(*stream.push(0), "a");
  EXPECT_EQ(*stream.push(2), "");
  EXPECT_EQ(*stream.push(3), "\u00e9");
  EXPECT_EQ(*stream.push(7), "");
  EXPECT_EQ(*stream.push(0), "\uFFFDa");  // the bytes of an incomplete character
  EXPECT_EQ(*stream.push(7), "");
  EXPECT_EQ(stream.finish(), "\uFFFD");
}

TEST(TokenizersTest, SaysWhatIsWrong) {
  HFTokenizer tokenizer;
  EXPECT_EQ(tokenizer.encode("a").error(), Error::Uninitialized);
  EXPECT_EQ(tokenizer.load_from_buffer("{\n \"model\": ]"), Error::ParseFailure);
  EXPECT_NE(std::string(tokenizers::last_error_message()).find("line 2, column 11"), std::string::npos)
      << tokenizers::last_error_message();
  EXPECT_EQ(tokenizer.load("/there/is/no/such/file"), Error::LoadFailure);
  ASSERT_EQ(tokenizer.load_from_buffer(kByteLevel), Error::Ok);
  EXPECT_EQ(tokenizer.load_from_buffer("{}"), Error::ParseFailure);
  EXPECT_EQ(*tokenizer.encode("a"), Ids{0});  // the tokenizer is unchanged
  EXPECT_EQ(tokenizer.encode("a\xFFz").error(), Error::EncodeFailure);
  EXPECT_STREQ(tokenizers::last_error_message(),
               "the text is not UTF-8: byte 0xff at offset 1 is not part of a character");
  EXPECT_EQ(tokenizer.decode(0, 10).error(), Error::OutOfRange);
  EXPECT_EQ(tokenizer.piece_to_id("zz").error(), Error::OutOfRange);
  Tiktoken tiktoken;
  EXPECT_EQ(tiktoken.load_from_buffer("Y!== 0\n"), Error::Base64DecodeFailure);
  tokenizers::SPTokenizer sentencepiece;
  EXPECT_EQ(sentencepiece.load_from_buffer(std::string("\x0A\xFF", 2)), Error::ParseFailure);
  tokenizers::Llama2cTokenizer llama2c;
  EXPECT_EQ(llama2c.load_from_buffer("short"), Error::ParseFailure);
  OwnTokenizer own;
  EXPECT_EQ(own.load_from_buffer("a"), Error::LoadFailure);
}

/// An expression that would take exponential time ends with an error.
TEST(TokenizersTest, BoundsTheWorkOfExpressions) {
  HFTokenizer tokenizer;
  ASSERT_EQ(
      tokenizer.load_from_buffer(
          R"({"pre_tokenizer": {"type": "Split", "pattern": {"Regex": "(x+x+)+[yz]"}, "behavior": "Isolated", "invert": false},
                    "model": {"type": "BPE", "vocab": {"x": 0}, "merges": []}})"),
      Error::Ok);
  EXPECT_EQ(tokenizer.encode(std::string(60, 'x')).error(), Error::RegexFailure);
}

TEST(TokenizersTest, TiktokenHasSpecialTokens) {
  Tiktoken tokenizer("[a-z]+|.", std::vector<std::string>{"<begin>", "<end>"}, 0, 1);
  ASSERT_EQ(tokenizer.load_from_buffer("YQ== 0\nYg== 1\nYWI= 2\n"), Error::Ok);
  EXPECT_EQ(*tokenizer.encode("abba<end>", 1, 1), (Ids{3, 2, 1, 0, 4, 4}));
  EXPECT_EQ(tokenizer.encode_ordinary("ab<").error(), Error::EncodeFailure);
  EXPECT_EQ(*tokenizer.id_to_piece(2), "ab");
  EXPECT_EQ(tokenizer.vocab_size(), 5);
}

/// A file of llama2.c with the tokens of SentencePiece and of the bytes, and " ", "a" and " a".
std::string file_of_llama2c(bool padding, uint32_t counted, uint32_t bos, uint32_t eos) {
  std::vector<std::string> tokens{"<unk>", "<s>", "</s>"};
  if (padding) {
    tokens.insert(tokens.begin(), "<pad>");
  }
  char name[8];
  for (int byte = 0; byte < 256; byte++) {
    std::snprintf(name, sizeof(name), "<0x%02X>", static_cast<unsigned>(byte));
    tokens.emplace_back(name);
  }
  tokens.insert(tokens.end(), {" ", "a", " a"});
  std::string file;
  const auto word = [&](uint32_t value) {
    for (int shift = 0; shift < 32; shift += 8) {
      file += static_cast<char>(value >> shift & 0xFF);
    }
  };
  for (uint32_t value : {counted, bos, eos, 6U}) {
    word(value);
  }
  for (const std::string& token : tokens) {
    word(0);  // the score 0.0f
    word(static_cast<uint32_t>(token.size()));
    file += token;
  }
  return file;
}

/// With a token for padding, all ids are one more, also if the number of tokens and the ids of the file do not count
/// it.
TEST(TokenizersTest, Llama2cFilesMayHaveAPaddingToken) {
  tokenizers::Llama2cTokenizer plain;
  ASSERT_EQ(plain.load_from_buffer(file_of_llama2c(false, 262, 1, 2)), Error::Ok);
  EXPECT_EQ(*plain.encode("a\x01", 1, 1), (Ids{1, 261, 4, 2}));
  const std::string files[] = {file_of_llama2c(true, 263, 2, 3), file_of_llama2c(true, 262, 1, 2)};
  for (const std::string& file : files) {
    tokenizers::Llama2cTokenizer padded;
    ASSERT_EQ(padded.load_from_buffer(file), Error::Ok);
    EXPECT_EQ(padded.vocab_size(), 263);
    EXPECT_EQ(padded.bos_tok(), 2U);
    EXPECT_EQ(padded.eos_tok(), 3U);
    EXPECT_EQ(*padded.encode("a\x01", 1, 1), (Ids{2, 262, 5, 3}));
    EXPECT_EQ(*padded.decode(2, 262), "a");
    EXPECT_EQ(*padded.decode(2, 5), "\x01");
  }
}

/// LR-09: the format of a file is found by its content.
TEST(TokenizersTest, LoadsByContent) {
  const std::string path = testing::TempDir() + "tokenizers_test_file";
  const auto load = [&](std::string_view bytes) {
    std::FILE* file = std::fopen(path.c_str(), "wb");
    std::fwrite(bytes.data(), 1, bytes.size(), file);
    std::fclose(file);
    return executorch::extension::llm::load_tokenizer(path, nullptr, std::nullopt, 0, 0);
  };
  EXPECT_NE(dynamic_cast<HFTokenizer*>(load(kByteLevel).get()), nullptr);
  EXPECT_NE(dynamic_cast<Tiktoken*>(load("YQ== 0\nYg== 1\n").get()), nullptr);
  // Two pieces: "<unk>" of kind 2 and "a" with score -1.
  const std::string model(
      "\x0A\x09\x0A\x05<unk>\x18\x02\x0A\x08\x0A\x01"
      "a\x15\x00\x00\x80\xBF",
      21);
  EXPECT_NE(dynamic_cast<tokenizers::SPTokenizer*>(load(model).get()), nullptr) << tokenizers::last_error_message();
  std::string llama2c("\x01\0\0\0\0\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0\x01\0\0\0a", 25);
  EXPECT_NE(dynamic_cast<tokenizers::Llama2cTokenizer*>(load(llama2c).get()), nullptr)
      << tokenizers::last_error_message();
  EXPECT_EQ(load("nothing known"), nullptr);
  std::remove(path.c_str());
}

/// The named data of a program: one blob.
class OneBlob final : public executorch::runtime::NamedDataMap {
 public:
  OneBlob(std::string key, std::string bytes)
      : key_(std::move(key)), words_((bytes.size() + 7) / 8), size_(bytes.size()) {
    std::memcpy(words_.data(), bytes.data(), bytes.size());
  }
  executorch::runtime::Result<const executorch::runtime::TensorLayout> get_tensor_layout(
      std::string_view) const override {
    return executorch::runtime::Error::NotFound;
  }
  executorch::runtime::Result<executorch::runtime::FreeableBuffer> get_data(std::string_view key) const override {
    if (key != key_) {
      return executorch::runtime::Error::NotFound;
    }
    return executorch::runtime::FreeableBuffer(
        words_.data(), size_, [](void* context, void*, size_t) { ++*static_cast<int*>(context); }, &freed);
  }
  executorch::runtime::Error load_data_into(std::string_view, void*, size_t) const override {
    return executorch::runtime::Error::NotSupported;
  }
  executorch::runtime::Result<uint32_t> get_num_keys() const override { return 1U; }
  executorch::runtime::Result<const char*> get_key(uint32_t) const override { return key_.c_str(); }

  mutable int freed = 0;

 private:
  std::string key_;
  std::vector<uint64_t> words_;
  size_t size_;
};

TEST(TokenizersTest, LiesInAProgram) {
  using executorch::extension::llm::load_embedded_tokenizer;
  HFTokenizer tokenizer;
  ASSERT_EQ(tokenizer.load_from_buffer(kByteLevel), Error::Ok);
  const std::string compiled = *tokenizer.compile(
      R"({"added_tokens": [{"id": 9, "content": "<|endoftext|>", "special": true}], "normalizer": {"type": "NFC"},
          "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false}, "decoder": {"type": "ByteLevel"},
          "model": {"type": "BPE"}})",
      "");
  const OneBlob data("tokenizer", compiled);
  {
    const auto found = load_embedded_tokenizer(data);
    ASSERT_TRUE(found.ok());
    EXPECT_EQ(*(*found)->encode("e\u0301 a<|endoftext|>"), (Ids{4, 5, 9}));
    EXPECT_EQ((*found)->eos_tok(), 9U);
    EXPECT_EQ(data.freed, 0);  // it uses the program's memory
  }
  EXPECT_EQ(data.freed, 1);
  const auto json = load_embedded_tokenizer(OneBlob("tokenizer", kByteLevel));
  ASSERT_TRUE(json.ok());
  EXPECT_EQ(*(*json)->encode("\u00e9 a"), (Ids{4, 5}));
  EXPECT_EQ(load_embedded_tokenizer(OneBlob("other", kByteLevel)).error(), executorch::runtime::Error::NotFound);
  const OneBlob damaged("tokenizer", compiled.substr(0, compiled.size() / 2));
  EXPECT_EQ(load_embedded_tokenizer(damaged).error(), executorch::runtime::Error::InvalidExternalData);
  EXPECT_NE(std::string(tokenizers::last_error_message()).find("is damaged: the offset of a section is not valid"),
            std::string::npos)
      << tokenizers::last_error_message();
  EXPECT_EQ(damaged.freed, 1);
}

}  // namespace
