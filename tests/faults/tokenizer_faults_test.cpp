// SPDX-License-Identifier: BSD-3-Clause
// Tokenizers whose n-th allocation fails, for every n: an error, never an exception, and nothing leaks.
#include <pytorch/tokenizers/hf_tokenizer.h>
#include <pytorch/tokenizers/llama2c_tokenizer.h>
#include <pytorch/tokenizers/sentencepiece.h>
#include <pytorch/tokenizers/tiktoken.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "faults.h"

namespace {

using tokenizers::Error;

/// Calls `body`, which returns whether it has succeeded, with the n-th allocation failing, for every n that it reaches.
/// `body` has to free everything before it returns.
void fail_every_allocation(const char* what, const std::function<bool()>& body) {
  ASSERT_TRUE(body()) << what << ": " << tokenizers::last_error_message();
  bool failed = true;
  size_t errors = 0;
  for (size_t n = 0; failed; n++) {
    ASSERT_LT(n, 100'000U) << what;
    const long before = faults::live_blocks();
    faults::arm(faults::Kind::kAllocation, n);
    bool succeeded = false;
    EXPECT_NO_THROW(succeeded = body()) << what << ", allocation " << n;
    failed = faults::disarm();
    EXPECT_EQ(faults::live_blocks(), before) << what << ", allocation " << n;
    EXPECT_TRUE(failed || succeeded) << what << ": " << tokenizers::last_error_message();
    errors += succeeded ? 0 : 1;
  }
  EXPECT_GT(errors, 0U) << what;
}

std::string hf_json(const std::string& model, const std::string& parts) {
  return R"({"added_tokens": [{"id": 9, "content": "<s>", "special": true},
                              {"id": 10, "content": "a rather long token", "normalized": true}],
             "model": )" +
         model + ", " + parts + "}";
}

std::vector<std::string> hf_files() {
  const std::string parts =
      R"("normalizer": {"type": "Sequence", "normalizers": [{"type": "NFKC"}, {"type": "Lowercase"},
             {"type": "Replace", "pattern": {"Regex": "b+"}, "content": "b"}, {"type": "Prepend", "prepend": "a"},
             {"type": "BertNormalizer"}]},
         "pre_tokenizer": {"type": "Sequence", "pretokenizers": [
             {"type": "Metaspace"}, {"type": "Split", "pattern": {"Regex": "[ab]+|."}, "behavior": "Removed", "invert": true}]},
         "post_processor": {"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "<s>"}}, {"Sequence": {}}],
             "special_tokens": {"<s>": {"ids": [9]}}},
         "decoder": {"type": "Sequence", "decoders": [{"type": "Replace", "pattern": {"String": "▁"}, "content": " "},
             {"type": "ByteFallback"}, {"type": "Fuse"}, {"type": "Strip", "content": " ", "start": 1, "stop": 0}]})";
  return {
      hf_json(R"({"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2, "u": 3}, "merges": ["a b"], "unk_token": "u"})",
              parts),
      hf_json(R"({"type": "Unigram", "unk_id": 0, "vocab": [["u", 0], ["a", -1], ["ab", -1.5]]})", parts),
      hf_json(R"({"type": "WordPiece", "unk_token": "u", "vocab": {"u": 0, "a": 1, "##b": 2}})",
              R"("pre_tokenizer": {"type": "BertPreTokenizer"}, "decoder": {"type": "WordPiece"})"),
      hf_json(R"({"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": ["a b"]})",
              R"("pre_tokenizer": {"type": "ByteLevel"}, "decoder": {"type": "ByteLevel"})"),
  };
}

const std::string& text() {
  static const std::string made = std::string("ab Ab <s>a rather long token é ") + std::string(100, 'b') + " ab";
  return made;
}

bool use(const tokenizers::Tokenizer& tokenizer) {
  const auto ids = tokenizer.encode(text(), 1, 1);
  if (!ids.ok()) {
    return false;
  }
  tokenizers::StreamDecoder stream(tokenizer);
  for (const uint64_t id : *ids) {
    if (!stream.push(id).ok() || !tokenizer.id_to_piece(id).ok()) {
      return false;
    }
  }
  (void)stream.finish();
  const auto* const whole = dynamic_cast<const tokenizers::HFTokenizer*>(&tokenizer);
  return whole == nullptr || (whole->decode(*ids, true).ok() && whole->encode_with_post_processor("a b").ok());
}

TEST(TokenizerFaultsTest, TokenizersOfHuggingFace) {
  for (const std::string& json : hf_files()) {
    fail_every_allocation("loading", [&] {
      tokenizers::HFTokenizer tokenizer;
      return tokenizer.load_from_buffer(json, R"({"eos_token": "a"})") == Error::Ok;
    });
    tokenizers::HFTokenizer tokenizer;
    ASSERT_EQ(tokenizer.load_from_buffer(json), Error::Ok) << tokenizers::last_error_message();
    fail_every_allocation("encoding and decoding", [&] { return use(tokenizer); });
  }
  tokenizers::HFTokenizer tokenizer;
  ASSERT_EQ(tokenizer.load_from_buffer(hf_files()[0]), Error::Ok);
  fail_every_allocation("compiling", [&] { return tokenizer.compile(R"({"model": {"type": "BPE"}})", "").ok(); });
}

/// Two pieces: "<unk>" of kind 2 and "a" with score -1; then the tokens of llama2.c.
TEST(TokenizerFaultsTest, OtherFormats) {
  const std::string piece(
      "\x0A\x09\x0A\x05<unk>\x18\x02\x0A\x08\x0A\x01"
      "a\x15\x00\x00\x80\xBF",
      21);
  const std::string llama2c = [] {
    std::string file("\0\0\0\0\0\0\0\0\0\0\0\0\x01\0\0\0", 16);
    for (int i = 0; i < 260; i++) {
      file += std::string("\0\0\0\0\x01\0\0\0", 8) + static_cast<char>(i < 128 ? i : 0);
    }
    file[0] = 4;
    file[1] = 1;
    return file;
  }();
  std::string tiktoken;
  for (const char* token : {"YQ==", "Yg==", "YWI=", "IA==", "QQ==", "cg==", "dA==", "aA==", "ZQ==", "bA==", "bw==",
                            "bg==", "Zw==", "aw==", "ww==", "qQ==", "PA==", "cw==", "Pg=="}) {
    tiktoken += std::string(token) + " " + std::to_string(std::count(tiktoken.begin(), tiktoken.end(), '\n')) + "\n";
  }
  const auto check = [](const char* what, const auto& make, const std::string& file) {
    fail_every_allocation(what, [&] {
      // The constructor is the caller's: it may throw.
      std::unique_ptr<tokenizers::Tokenizer> tokenizer;
      try {
        tokenizer = make();
      } catch (const std::bad_alloc&) {
        return false;
      }
      return tokenizer->load_from_buffer(file) == Error::Ok;
    });
    const auto tokenizer = make();
    ASSERT_EQ(tokenizer->load_from_buffer(file), Error::Ok) << tokenizers::last_error_message();
    fail_every_allocation(what, [&] { return use(*tokenizer); });
  };
  check("SentencePiece", [] { return std::make_unique<tokenizers::SPTokenizer>(); }, piece);
  check("llama2.c", [] { return std::make_unique<tokenizers::Llama2cTokenizer>(); }, llama2c);
  check(
      "tiktoken",
      [] {
        return std::make_unique<tokenizers::Tiktoken>("[a-zA-Z]+|.", std::vector<std::string>{"<begin>", "<end>"}, 0,
                                                      1);
      },
      tiktoken);
}

}  // namespace
