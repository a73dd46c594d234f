// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/extension/llm/runner/irunner.h>
#include <executorch/extension/llm/runner/stats.h>
#include <executorch/extension/llm/runner/util.h>

// Checked before other headers include them.
static_assert(sizeof(std::stringstream) > 0 && sizeof(PRIu64) > 1, "stats.h brings <sstream> and <cinttypes>");

#include <gtest/gtest.h>

#include <executorch/extension/tensor/tensor_ptr.h>
#include <executorch/runtime/platform/runtime.h>
#include <pytorch/tokenizers/result.h>

using executorch::aten::ScalarType;
using executorch::extension::make_tensor_ptr;
using executorch::runtime::Error;
using namespace executorch::extension::llm;

namespace {

class LlmUtilTest : public ::testing::Test {
 protected:
  void SetUp() override { executorch::runtime::runtime_init(); }
};

/// LR-06: the documented defaults, and all of the limits.
TEST_F(LlmUtilTest, GenerationConfigLR06) {
  const GenerationConfig config;
  EXPECT_TRUE(config.echo);
  EXPECT_EQ(config.max_new_tokens, -1);
  EXPECT_FALSE(config.warming);
  EXPECT_EQ(config.seq_len, -1);
  EXPECT_FLOAT_EQ(config.temperature, 0.8f);
  EXPECT_EQ(config.num_bos, 0);
  EXPECT_EQ(config.num_eos, 0);
  EXPECT_FALSE(config.ignore_eos);
  EXPECT_FLOAT_EQ(config.top_p, 0.9f);
  const auto resolve = [](int32_t max_new_tokens, int32_t seq_len, int64_t context, int64_t occupied) {
    GenerationConfig limits;
    limits.max_new_tokens = max_new_tokens;
    limits.seq_len = seq_len;
    return limits.resolve_max_new_tokens(context, occupied);
  };
  EXPECT_EQ(resolve(-1, -1, 128, 28), 100);
  EXPECT_EQ(resolve(10, -1, 128, 28), 10);
  EXPECT_EQ(resolve(10, -1, 30, 28), 2);
  EXPECT_EQ(resolve(-1, 50, 128, 28), 22);
  EXPECT_EQ(resolve(-1, 500, 128, 28), 100);
  EXPECT_EQ(resolve(5, 50, 128, 28), 5);
  EXPECT_EQ(resolve(50, 30, 128, 28), 2);
  EXPECT_EQ(resolve(-1, 20, 128, 28), 0);
  EXPECT_EQ(resolve(-1, -1, 128, 128), 0);
  EXPECT_EQ(resolve(-1, -1, int64_t{1} << 40, 0), INT32_MAX);
}

TEST_F(LlmUtilTest, Utf8Prefixes) {
  EXPECT_EQ(utf8_complete_prefix_len(""), 0U);
  EXPECT_EQ(utf8_complete_prefix_len("ab"), 2U);
  EXPECT_EQ(utf8_complete_prefix_len("a\u00e9"), 3U);
  EXPECT_EQ(utf8_complete_prefix_len("a\xC3"), 1U);
  EXPECT_EQ(utf8_complete_prefix_len("a\xE2\x82"), 1U);
  EXPECT_EQ(utf8_complete_prefix_len("a\xF0\x9F\x98"), 1U);
  EXPECT_EQ(utf8_complete_prefix_len("\xF0\x9F\x98\x80"), 4U);
  EXPECT_EQ(utf8_complete_prefix_len("\x80\x80\x80\x80"), 4U);  // never a character
  EXPECT_EQ(utf8_safe_prefix_len("a\u20acb", 2), 1U);
  EXPECT_EQ(utf8_safe_prefix_len("a\u20acb", 3), 1U);
  EXPECT_EQ(utf8_safe_prefix_len("a\u20acb", 4), 4U);
  EXPECT_EQ(utf8_safe_prefix_len("ab", 9), 2U);
}

TEST_F(LlmUtilTest, StopTexts) {
  bool hit = true;
  EXPECT_EQ(stop_safe_prefix_len("abc", {}, hit), 3U);
  EXPECT_FALSE(hit);
  EXPECT_EQ(stop_safe_prefix_len("one END two", {"two", "END", ""}, hit), 4U);
  EXPECT_TRUE(hit);
  EXPECT_EQ(stop_safe_prefix_len("one EN", {"END"}, hit), 4U);
  EXPECT_FALSE(hit);
  EXPECT_EQ(stop_safe_prefix_len("aab", {"aabb"}, hit), 0U);
  EXPECT_EQ(stop_safe_prefix_len("xaa", {"ab", "aac"}, hit), 1U);
  EXPECT_EQ(stop_safe_prefix_len("x\u00e9", {"\u00e9!"}, hit), 1U);
}

TEST_F(LlmUtilTest, StatsAsJson) {
  Stats stats;
  stats.num_prompt_tokens = 5;
  stats.num_generated_tokens = 7;
  stats.model_load_start_ms = 1;
  stats.model_load_end_ms = 2;
  stats.inference_start_ms = 3;
  stats.token_encode_end_ms = 4;
  stats.model_execution_start_ms = 5;
  stats.model_execution_end_ms = 6;
  stats.inference_end_ms = 7;
  stats.prompt_eval_end_ms = 8;
  stats.first_token_ms = 9;
  EXPECT_EQ(stats_to_json_string(stats),
            R"({"prompt_tokens":5,"generated_tokens":7,"model_load_start_ms":1,"model_load_end_ms":2,)"
            R"("inference_start_ms":3,"token_encode_end_ms":4,"model_execution_start_ms":5,)"
            R"("model_execution_end_ms":6,"inference_end_ms":7,"prompt_eval_end_ms":8,"first_token_ms":9,)"
            R"("aggregate_sampling_time_ms":0,"SCALING_FACTOR_UNITS_PER_SECOND":1000})");
  stats.gpu_total_bytes = 10;
  EXPECT_NE(stats_to_json_string(stats).find("\"gpu_total_bytes\":10,"), std::string::npos);
  stats.reset();
  EXPECT_EQ(stats.num_prompt_tokens, 0);
  EXPECT_EQ(stats.model_load_end_ms, 2);
  stats.reset(true);
  EXPECT_EQ(stats.model_load_end_ms, 0);
}

TEST_F(LlmUtilTest, PrintsForTheTerminal) {
  testing::internal::CaptureStdout();
  for (const char* const piece : {"a", "\x07", "\n", "\u00e9", ""}) {
    safe_printf(piece);
  }
  safe_printf(nullptr);
  print_report(Stats());
  const std::string printed = testing::internal::GetCapturedStdout();
  EXPECT_EQ(printed.find("a\n\u00e9PyTorchObserver {"), 0U) << printed;
  EXPECT_EQ(printed.back(), '\n');
}

/// LR-11.
TEST_F(LlmUtilTest, ResidentMemoryLR11) {
  EXPECT_GT(get_rss_bytes(), size_t{1} << 20);
}

TEST_F(LlmUtilTest, ConvertsToBFloat16) {
  const auto converted = convert_to_bfloat16(make_tensor_ptr({2, 1}, std::vector<float>{1.5f, -3.0f}));
  ASSERT_TRUE(converted.ok());
  EXPECT_EQ((*converted)->scalar_type(), ScalarType::BFloat16);
  EXPECT_EQ((*converted)->size(0), 2);
  EXPECT_EQ(static_cast<float>((*converted)->const_data_ptr<executorch::aten::BFloat16>()[1]), -3.0f);
  EXPECT_EQ(convert_to_bfloat16(make_tensor_ptr({1}, std::vector<int32_t>{1})).error(), Error::InvalidArgument);
}

TEST_F(LlmUtilTest, InputsOfSeveralKinds) {
  const MultimodalInput text = make_text_input(std::string("hello"));
  EXPECT_TRUE(text.is_text());
  EXPECT_STREQ(text.type_name(), "text");
  EXPECT_EQ(text.get_text(), "hello");
  EXPECT_EQ(text.try_get_tokens(), nullptr);
  EXPECT_EQ(make_token_input({1, 2}).get_tokens().size(), 2U);
  const MultimodalInput image = make_image_input(Image(std::vector<uint8_t>(12), 2, 2, 3));
  EXPECT_TRUE(image.is_image());
  const auto tensor = image.get_image().toTensor(true);
  ASSERT_TRUE(tensor.ok());
  EXPECT_EQ((*tensor)->dim(), 4);
  EXPECT_EQ((*tensor)->size(1), 3);
  EXPECT_EQ(Image(std::vector<float>(5), 2, 2, 3).toTensor().error(), Error::InvalidArgument);
  const MultimodalInput audio = make_audio_input(Audio(std::vector<float>(6), 1, 2, 3));
  EXPECT_EQ((*audio.get_audio().toTensor())->size(2), 3);
  EXPECT_EQ(make_raw_audio_input(RawAudio{{1, 2}, 1, 1, 2}).get_raw_audio().n_samples, 2);
}

TEST(UtilTest, PartsOfAnotherTypeThrow) {
  MultimodalInput text = make_text_input(std::string("hello"));
  const MultimodalInput& constant = text;
  EXPECT_THROW((void)text.get_tokens(), std::bad_variant_access);
  EXPECT_THROW((void)constant.get_image(), std::bad_variant_access);
  EXPECT_THROW((void)text.get_audio(), std::bad_variant_access);
  EXPECT_THROW((void)std::move(text).get_raw_audio(), std::bad_variant_access);
  MultimodalInput tokens = make_token_input({1, 2});
  EXPECT_THROW((void)tokens.get_text(), std::bad_variant_access);
  EXPECT_THROW((void)std::move(tokens).get_text(), std::bad_variant_access);
  EXPECT_EQ(std::move(tokens).get_tokens().size(), 2U) << "a refused move takes nothing";
}

Error unwrap(executorch::runtime::Result<int> result, int* value) {
  *value = ET_UNWRAP_TOKENIZER(std::move(result));
  return Error::Ok;
}
Error unwrap(tokenizers::Result<int> result, int* value) {
  *value = ET_UNWRAP_TOKENIZER(std::move(result));
  return Error::Ok;
}

TEST(UtilTest, UnwrapsResultsOfTokenizersAndOfTheRuntime) {
  int value = 0;
  EXPECT_EQ(unwrap(executorch::runtime::Result<int>(3), &value), Error::Ok);
  EXPECT_EQ(value, 3);
  EXPECT_EQ(unwrap(executorch::runtime::Result<int>(Error::NotFound), &value), Error::InvalidArgument);
  EXPECT_EQ(unwrap(tokenizers::Result<int>(4), &value), Error::Ok);
  EXPECT_EQ(value, 4);
  EXPECT_EQ(unwrap(tokenizers::Result<int>(tokenizers::Error::EncodeFailure), &value), Error::InvalidArgument);
}

}  // namespace
