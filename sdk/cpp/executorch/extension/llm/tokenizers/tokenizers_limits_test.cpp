// SPDX-License-Identifier: BSD-3-Clause
// Files that need more work or memory than real tokenizers do give errors before memory is allocated.
#include <pytorch/tokenizers/hf_tokenizer.h>
#include <pytorch/tokenizers/tiktoken.h>

#include <gtest/gtest.h>

#if !defined(_WIN32)
#include <sys/stat.h>
#include <unistd.h>
#endif

namespace {

using tokenizers::Error;
using tokenizers::HFTokenizer;

constexpr const char* kBytes = R"({"type": "BPE", "vocab": {"a": 0, "b": 1}, "merges": []})";

std::string joined(const std::string& part, size_t count) {
  std::string all;
  for (size_t i = 0; i < count; i++) {
    all += (i == 0 ? "" : ", ") + part;
  }
  return all;
}

std::string file(const std::string& parts, const std::string& model = kBytes) {
  return "{" + parts + ", \"model\": " + model + "}";
}

/// Replaces a letter by a thousand letters, four times: 10^12 letters.
std::string sequence(const char* member, const std::string& pattern) {
  const std::string replace =
      R"({"type": "Replace", "pattern": )" + pattern + R"(, "content": ")" + std::string(1000, 'a') + R"("})";
  return R"({"type": "Sequence", ")" + std::string(member) + "\": [" + joined(replace, 4) + "]}";
}

Error encode(const std::string& json, const std::string& text) {
  HFTokenizer tokenizer;
  const Error loaded = tokenizer.load_from_buffer(json);
  EXPECT_EQ(loaded, Error::Ok) << tokenizers::last_error_message();
  return loaded != Error::Ok ? loaded : tokenizer.encode(text).error();
}

Error load(const std::string& json) {
  HFTokenizer tokenizer;
  return tokenizer.load_from_buffer(json);
}

TEST(TokenizersLimitsTest, NormalizersThatMultiply) {
  for (const char* pattern : {R"({"String": "a"})", R"({"Regex": "a"})"}) {
    const std::string json = file("\"normalizer\": " + sequence("normalizers", pattern));
    EXPECT_EQ(encode(json, "aaaa"), Error::EncodeFailure);
    EXPECT_NE(std::string(tokenizers::last_error_message()).find("the tokenizer's file asks for too much"),
              std::string::npos)
        << tokenizers::last_error_message();
    // The same for the text of an added token, which is normalised when the file is loaded.
    EXPECT_EQ(load(file("\"normalizer\": " + sequence("normalizers", pattern) +
                        R"(, "added_tokens": [{"id": 5, "content": "a", "special": false, "normalized": true}])")),
              Error::LoadFailure);
  }
}

TEST(TokenizersLimitsTest, NormalizersOneAfterAnother) {
  // A literal whose first letter matches at every byte, literals and expressions that match at every byte, and an
  // expression that matches nowhere.
  for (const char* pattern :
       {R"({"String": "ab"})", R"({"String": "a"})", R"({"Regex": "a"})", R"({"Regex": "[cd]b"})"}) {
    const std::string replace = R"({"type": "Replace", "pattern": )" + std::string(pattern) + R"(, "content": "a"})";
    const std::string json =
        file(R"("normalizer": {"type": "Sequence", "normalizers": [)" + joined(replace, 2000) + "]}");
    EXPECT_EQ(encode(json, std::string(50'000, 'a')), Error::EncodeFailure) << pattern;
  }
}

TEST(TokenizersLimitsTest, PreTokenizersThatMultiply) {
  // The mark must be one character: otherwise each pass would multiply the spaces, or remove them without an end.
  for (const std::string& mark : {std::string(), std::string("  "), std::string(1000, ' ')}) {
    const std::string metaspace = R"({"type": "Metaspace", "replacement": ")" + mark + R"("})";
    EXPECT_EQ(load(file("\"pre_tokenizer\": " + metaspace)), Error::ParseFailure);
    EXPECT_EQ(load(file("\"decoder\": " + metaspace)), Error::ParseFailure);
  }
  // A space before every piece, and pieces of one byte, again and again.
  const std::string grow = R"({"type": "ByteLevel", "add_prefix_space": true, "use_regex": false},
                             {"type": "FixedLength", "length": 1})";
  EXPECT_EQ(
      encode(file(R"("pre_tokenizer": {"type": "Sequence", "pretokenizers": [)" + joined(grow, 30) + "]}"), "aaaa"),
      Error::EncodeFailure);
}

TEST(TokenizersLimitsTest, DecodersThatMultiply) {
  for (const char* pattern : {R"({"String": "a"})", R"({"Regex": "a"})"}) {
    HFTokenizer tokenizer;
    ASSERT_EQ(tokenizer.load_from_buffer(file("\"decoder\": " + sequence("decoders", pattern))), Error::Ok);
    EXPECT_EQ(tokenizer.decode({0, 0}).error(), Error::DecodeFailure);
    EXPECT_EQ(tokenizer.decode(HFTokenizer::kBeginning, 0).error(), Error::DecodeFailure);
    tokenizers::StreamDecoder stream(tokenizer);
    EXPECT_EQ(stream.push(0).error(), Error::DecodeFailure);
  }
  // A token whose text is half of the file, decoded 4000 times.
  const std::string model = R"({"type": "BPE", "merges": [], "vocab": {")" + std::string(1 << 20, 'x') + R"(": 0}})";
  HFTokenizer tokenizer;
  ASSERT_EQ(tokenizer.load_from_buffer(file("\"decoder\": {\"type\": \"Fuse\"}", model)), Error::Ok);
  EXPECT_EQ(tokenizer.decode(std::vector<uint64_t>(4000, 0)).error(), Error::DecodeFailure);
  EXPECT_EQ(tokenizer.decode({0, 0})->size(), 2U << 20);
}

TEST(TokenizersLimitsTest, PostProcessorsThatMultiply) {
  const std::string special = R"({"SpecialToken": {"id": "s", "type_id": 0}})";
  const std::string json =
      file(R"("post_processor": {"type": "TemplateProcessing", "single": [{"Sequence": {}}, )" + joined(special, 4000) +
           R"(], "special_tokens": {"s": {"ids": [)" + joined("0", 4000) + "]}}}");
  EXPECT_EQ(load(json), Error::LoadFailure);
  // A post-processor may not add tokens that are not in the vocabulary.
  EXPECT_EQ(load(file(R"("post_processor": {"type": "BertProcessing", "sep": ["s", 7], "cls": ["a", 0]})")),
            Error::ParseFailure);
}

TEST(TokenizersLimitsTest, TablesForLargeIds) {
  EXPECT_EQ(load(file("\"decoder\": null", R"({"type": "BPE", "vocab": {"a": 16777215}, "merges": []})")),
            Error::ParseFailure);
  tokenizers::Tiktoken tiktoken("a", std::vector<std::string>{"<s>", "</s>"}, 0, 1);
  EXPECT_EQ(tiktoken.load_from_buffer("YQ== 16777000\n"), Error::ParseFailure);
}

/// Work that grows with the square of the text.
TEST(TokenizersLimitsTest, LongTokens) {
  const std::string token(8'000, 'a');
  const std::string word_piece = R"({"type": "WordPiece", "unk_token": "b", "max_input_chars_per_word": 1000000,
                                    "vocab": {"b": 0, ")" +
                                 token + R"(": 1}})";
  EXPECT_EQ(encode(file("\"decoder\": null", word_piece), token.substr(1) + "c"), Error::EncodeFailure);
  EXPECT_EQ(encode(file("\"decoder\": null", word_piece), token), Error::Ok);
  const std::string unigram =
      R"({"type": "Unigram", "unk_id": 0, "vocab": [["b", 0], ["a", -1], [")" + token + "\", -2]]}";
  EXPECT_EQ(encode(file("\"decoder\": null", unigram), token + token), Error::EncodeFailure);
  EXPECT_EQ(encode(file("\"decoder\": null", unigram), "ab"), Error::Ok);
}

TEST(TokenizersLimitsTest, Expressions) {
  const auto split = [](const std::string& expression) {
    return file(R"("pre_tokenizer": {"type": "Split", "pattern": {"Regex": ")" + expression +
                R"("}, "behavior": "Isolated"})");
  };
  EXPECT_EQ(load(split(std::string(200, '(') + "a" + std::string(200, ')'))), Error::RegexFailure);
  // Each match stays below the limit for a match; all of them exceed the limit for a text.
  EXPECT_EQ(encode(split("(?:a+)+?c|a"), std::string(10, 'a') + std::string(2000, 'b')), Error::Ok);
  EXPECT_NE(encode(split("(?:a+)+c|a"), std::string(200, 'a')), Error::Ok);
}

#if !defined(_WIN32)
TEST(TokenizersLimitsTest, PipesAndDevicesAreNotRead) {
  const std::string pipe = testing::TempDir() + "tokenizer_" + std::to_string(getpid());
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  for (const std::string& path : {pipe, std::string("/dev/zero")}) {
    HFTokenizer huggingface;
    EXPECT_EQ(huggingface.load(path), Error::LoadFailure) << path;
    EXPECT_NE(std::string(tokenizers::last_error_message()).find("found a device or a pipe"), std::string::npos);
    tokenizers::Tiktoken tiktoken;
    EXPECT_EQ(tiktoken.load(path), Error::LoadFailure) << path;
  }
  unlink(pipe.c_str());
}
#endif

}  // namespace
