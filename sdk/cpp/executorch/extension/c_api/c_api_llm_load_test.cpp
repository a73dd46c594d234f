// SPDX-License-Identifier: BSD-3-Clause
// Language models and their tokenizers from files and from memory.
#include <cstdio>
#include <fstream>
#include <string>

#include "c_api_llm_test_support.h"

using namespace c_api_test;

namespace {

TEST_F(LlmTest, FilesThatCannotBeUsedAreNamed) {
  et_llm* llm = nullptr;
  C_API_EXPECT_ERROR(ET_STATUS_ACCESS_FAILED, "/none.pte", et_llm_load_file, "/none.pte", nullptr, nullptr, &llm);
  C_API_EXPECT_ERROR(ET_STATUS_INVALID_ARGUMENT, "the tokenizer /none.json cannot be loaded", et_llm_load_file,
                     kModel.c_str(), "/none.json", nullptr, &llm);
  C_API_EXPECT_ERROR(ET_STATUS_INVALID_ARGUMENT, "contains no tokenizer: name its file", et_llm_load_file,
                     program("add").c_str(), nullptr, nullptr, &llm);
  EXPECT_EQ(llm, nullptr);
}

/// The tokenizer of tests/data/make_language_model.py: each letter is a token.
std::string letters() {
  std::string text = R"({"pre_tokenizer": {"type": "Split", "pattern": {"Regex": "."}, "behavior": "Isolated",)"
                     R"("invert": false}, "decoder": {"type": "Fuse"}, "model": {"type": "WordLevel",)"
                     R"("unk_token": "?", "vocab": {)";
  for (int i = 0; i < 95; ++i) {
    const char letter = static_cast<char>(32 + i);
    const bool is_escaped = letter == '"' || letter == '\\';
    text += std::string(i == 0 ? "\"" : ",\"") + (is_escaped ? "\\" : "") + letter + "\":" + std::to_string(i);
  }
  return text + "}}}";
}

TEST_F(LlmTest, LoadsFromMemory) {
  const std::string tokenizer = letters();
  for (const size_t offset : {0, 1}) {  // in place, and copied
    int released = 0;
    const PlacedBytes bytes(bytes_of(kModel), offset);
    for (const char* const file : {static_cast<const char*>(nullptr), tokenizer.data()}) {
      runner_ = C_API_MAKE(Runner, et_llm_load_buffer, bytes.data(), bytes.size(), count_release, &released, file,
                           tokenizer.size(), nullptr);
      EXPECT_EQ(generate(), kEager);
    }
    runner_.reset();
    EXPECT_EQ(released, 2);
  }
}

TEST_F(LlmTest, RefusesMemoryThatItCannotUseAndReleasesIt) {
  int released = 0;
  et_llm* llm = nullptr;
  const PlacedBytes bytes(bytes_of(kModel), 0);
  C_API_EXPECT_ERROR(ET_STATUS_INVALID_ARGUMENT, "the tokenizer cannot be loaded", et_llm_load_buffer, bytes.data(),
                     bytes.size(), count_release, &released, "{", 1, nullptr, &llm);
  const PlacedBytes other(bytes_of(program("add")), 0);
  C_API_EXPECT_ERROR(ET_STATUS_INVALID_ARGUMENT, "pass the bytes of its file in `tokenizer`", et_llm_load_buffer,
                     other.data(), other.size(), count_release, &released, nullptr, 0, nullptr, &llm);
  C_API_EXPECT_ERROR(ET_STATUS_INVALID_PROGRAM, "", et_llm_load_buffer, bytes.data(), 100, count_release, &released,
                     nullptr, 0, nullptr, &llm);
  C_API_EXPECT_ERROR(ET_STATUS_INVALID_ARGUMENT, "`data`", et_llm_load_buffer, nullptr, 0, count_release, &released,
                     nullptr, 0, nullptr, &llm);
  et_options* made = nullptr;
  ASSERT_EQ(et_options_create(&made, nullptr), et_status{ET_STATUS_OK});
  const Options options(made);
  ASSERT_EQ(et_options_add_data_file(made, "/none.ptd", nullptr), et_status{ET_STATUS_OK});
  C_API_EXPECT_ERROR(ET_STATUS_NOT_SUPPORTED, "found 1 data files", et_llm_load_buffer, bytes.data(), bytes.size(),
                     count_release, &released, nullptr, 0, made, &llm);
  EXPECT_EQ(released, 5);
  EXPECT_EQ(llm, nullptr);
}

TEST_F(LlmTest, TiktokenTakesSpecialTokens) {
  // The letters of the model without the last two, whose ids the special tokens have.
  const char* const digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const std::string path = ::testing::TempDir() + "letters.tiktoken";
  std::ofstream file(path);
  for (int i = 0; i < 93; ++i) {
    const int letter = 32 + i;
    file << digits[letter >> 2] << digits[(letter & 3) << 4] << "== " << i << "\n";
  }
  file.close();
  const char* const tokens[] = {"<a>", "<b>"};
  et_llm* llm = nullptr;
  ASSERT_EQ(et_llm_load_file_with_special_tokens(kModel.c_str(), path.c_str(), tokens, 2, nullptr, &llm, nullptr),
            et_status{ET_STATUS_OK});
  const Runner runner(llm);
  ASSERT_EQ(et_llm_prefill(runner.get(), "<a>x<b>", nullptr), et_status{ET_STATUS_OK});
  EXPECT_EQ(et_llm_position(runner.get()), 3);
  // With Llama 3's 256 special tokens the tokenizer is too large for this model.
  C_API_EXPECT_ERROR(ET_STATUS_INVALID_ARGUMENT, "it has 349 tokens, the program has 95",
                     et_llm_load_file_with_special_tokens, kModel.c_str(), path.c_str(), tokens, 0, nullptr, &llm);
  C_API_EXPECT_ERROR(ET_STATUS_INVALID_ARGUMENT, "`special_tokens`", et_llm_load_file_with_special_tokens,
                     kModel.c_str(), path.c_str(), nullptr, 2, nullptr, &llm);
  const char* const missing[] = {"<a>", nullptr};
  C_API_EXPECT_ERROR(ET_STATUS_INVALID_ARGUMENT, "`special_tokens[i]`", et_llm_load_file_with_special_tokens,
                     kModel.c_str(), path.c_str(), missing, 2, nullptr, &llm);
  std::remove(path.c_str());
}

}  // namespace
