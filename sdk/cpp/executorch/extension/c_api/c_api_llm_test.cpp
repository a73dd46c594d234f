// SPDX-License-Identifier: BSD-3-Clause
// Text from a language model.
#include <cstdio>
#include <fstream>
#include <regex>
#include <string>
#include <thread>
#include <vector>

#include "c_api_llm_test_support.h"

using namespace c_api_test;
using executorch::tests::kDataFolder;

namespace {

TEST(LlmWithoutRunner, SaysWhatIsMissing) {
  if (et_has_llm()) {
    GTEST_SKIP() << "built with language models";
  }
  et_llm* llm = nullptr;
  C_API_EXPECT_ERROR(ET_STATUS_NOT_SUPPORTED, "EXECUTORCH_BUILD_EXTENSION_LLM_RUNNER=ON", et_llm_load_file,
                     kModel.c_str(), nullptr, nullptr, &llm);
  EXPECT_EQ(llm, nullptr);
}

TEST_F(LlmTest, ContinuesAsEagerDoes) {
  EXPECT_EQ(generate(), kEager);
  const et_llm_stats counts = stats();
  EXPECT_EQ(counts.prompt_tokens, 16);
  EXPECT_EQ(counts.generated_tokens, 20);
  EXPECT_GE(counts.first_token_ms, counts.inference_start_ms);
  EXPECT_GE(counts.inference_end_ms, counts.first_token_ms);
  EXPECT_GT(counts.model_load_start_ms, 0);
  EXPECT_GE(counts.model_load_end_ms, counts.model_load_start_ms);
  EXPECT_GE(counts.inference_start_ms, counts.model_load_end_ms);
  EXPECT_EQ(et_llm_position(runner_.get()), 36);
}

TEST_F(LlmTest, KeepsTheConversationUntilReset) {
  set("max_new_tokens", 8);
  const std::string first = generate();
  EXPECT_EQ(first, std::string(kEager).substr(0, 8));
  EXPECT_EQ(generate(""), std::string(kEager).substr(8, 8));
  ASSERT_EQ(et_llm_reset(runner_.get(), nullptr), et_status{ET_STATUS_OK});
  EXPECT_EQ(et_llm_position(runner_.get()), 0);
  ASSERT_EQ(et_llm_prefill(runner_.get(), kPrompt, nullptr), et_status{ET_STATUS_OK});
  EXPECT_EQ(et_llm_position(runner_.get()), 16);
  EXPECT_EQ(generate(""), first);
}

TEST_F(LlmTest, SettingsChangeTheAnswer) {
  set("echo", 1);
  EXPECT_EQ(generate(), std::string(kPrompt) + kEager);
  set("echo", 0);
  ASSERT_EQ(et_llm_reset(runner_.get(), nullptr), et_status{ET_STATUS_OK});
  const std::string end(1, kEager[5]);
  ASSERT_EQ(et_llm_config_add_stop(config_.get(), end.c_str(), nullptr), et_status{ET_STATUS_OK});
  EXPECT_EQ(generate(), std::string(kEager).substr(0, std::string(kEager).find(end)));
  // A forbidden token.
  ASSERT_EQ(et_llm_reset(runner_.get(), nullptr), et_status{ET_STATUS_OK});
  const auto first = static_cast<uint64_t>(kEager[0] - ' ');
  ASSERT_EQ(et_llm_config_add_logit_bias(config_.get(), first, -100, nullptr), et_status{ET_STATUS_OK});
  EXPECT_EQ(generate().find(kEager[0]), std::string::npos);
}

TEST_F(LlmTest, TheSameSeedGivesTheSameText) {
  ASSERT_EQ(et_llm_config_set_double(config_.get(), "temperature", 1.5, nullptr), et_status{ET_STATUS_OK});
  std::string texts[3];
  for (int i = 0; i < 3; ++i) {
    set("seed", i == 2 ? 2 : -1);
    texts[i] = generate();
    ASSERT_EQ(et_llm_reset(runner_.get(), nullptr), et_status{ET_STATUS_OK});
  }
  EXPECT_EQ(texts[0], texts[1]);
  EXPECT_NE(texts[0], texts[2]);
}

TEST_F(LlmTest, TheCallbackAndOtherThreadsStopIt) {
  Answer answer;
  answer.most_pieces = 3;
  ASSERT_EQ(et_llm_generate(runner_.get(), kPrompt, config_.get(), receive, &answer, nullptr), et_status{ET_STATUS_OK});
  EXPECT_EQ(answer.text, std::string(kEager).substr(0, 3));
  ASSERT_EQ(et_llm_reset(runner_.get(), nullptr), et_status{ET_STATUS_OK});
  Answer stopped;
  stopped.on_piece = [&] { std::thread([&] { et_llm_stop(runner_.get()); }).join(); };
  ASSERT_EQ(et_llm_generate(runner_.get(), kPrompt, config_.get(), receive, &stopped, nullptr),
            et_status{ET_STATUS_OK});
  EXPECT_LE(stopped.pieces, 2u);
  et_llm_stop(nullptr);
}

TEST_F(LlmTest, RefusesASecondCallMeanwhile) {
  Answer answer;
  answer.on_piece = [&] {
    C_API_EXPECT_ERROR(ET_STATUS_INVALID_STATE, "in another call", et_llm_generate, runner_.get(), "x", nullptr,
                       nullptr, nullptr);
    C_API_EXPECT_ERROR(ET_STATUS_INVALID_STATE, "in another call", et_llm_reset, runner_.get());
    C_API_EXPECT_ERROR(ET_STATUS_INVALID_STATE, "in another call", et_llm_prefill, runner_.get(), "x");
  };
  ASSERT_EQ(et_llm_generate(runner_.get(), kPrompt, config_.get(), receive, &answer, nullptr), et_status{ET_STATUS_OK});
  EXPECT_EQ(answer.text, kEager);
}

TEST_F(LlmTest, ErrorsSayWhatToDoAndLeaveItUsable) {
  const std::string too_long(100, 'x');
  C_API_EXPECT_ERROR(ET_STATUS_INVALID_ARGUMENT,
                     "the prompt is too long: it has 100 tokens, and the context of 64 tokens has room for 64",
                     et_llm_generate, runner_.get(), too_long.c_str(), config_.get(), nullptr, nullptr);
  C_API_EXPECT_ERROR(ET_STATUS_INVALID_ARGUMENT, "no setting 'temprature' of this type; there are: temperature, top_p",
                     et_llm_config_set_double, config_.get(), "temprature", 1);
  C_API_EXPECT_ERROR(ET_STATUS_INVALID_ARGUMENT, "`prompt`", et_llm_generate, runner_.get(), nullptr, nullptr, nullptr,
                     nullptr);
  C_API_EXPECT_ERROR(ET_STATUS_INVALID_ARGUMENT, "`llm`", et_llm_reset, nullptr);
  ASSERT_EQ(et_llm_config_set_double(config_.get(), "top_p", 2, nullptr), et_status{ET_STATUS_OK});
  C_API_EXPECT_ERROR(ET_STATUS_INVALID_ARGUMENT, "top", et_llm_generate, runner_.get(), kPrompt, config_.get(), nullptr,
                     nullptr);
  ASSERT_EQ(et_llm_config_set_double(config_.get(), "top_p", 1, nullptr), et_status{ET_STATUS_OK});
  EXPECT_EQ(generate(), kEager);
}

TEST_F(LlmTest, MakesPromptsOfConversations) {
  const char* prompt = nullptr;
  ASSERT_EQ(et_llm_apply_chat_template(runner_.get(), R"({"messages": [{"role": "user", "content": "Hi"}]})", &prompt,
                                       nullptr),
            et_status{ET_STATUS_OK});
  EXPECT_STREQ(prompt, "<user>Hi");
  C_API_EXPECT_ERROR(ET_STATUS_INVALID_ARGUMENT, "line 1", et_llm_apply_chat_template, runner_.get(),
                     "{\"messages\": ", &prompt);
  EXPECT_EQ(prompt, nullptr);
}

/// The text that transformers generates from the prompt of tests/data/make_multimodal.py.
std::string text_of(const std::string& name) {
  std::ifstream file(std::string(kDataFolder) + "/multimodal/" + name + ".expected");
  std::string text;
  for (int token = 0; text.size() < 8 && file >> token;) {
    text += static_cast<char>(token + 32);
  }
  return text;
}

std::vector<uint8_t> numbers(size_t count) {
  std::vector<uint8_t> found(count);
  for (size_t i = 0; i < count; ++i) {
    found[i] = static_cast<uint8_t>(i * 37 % 256);
  }
  return found;
}

TEST_F(LlmTest, PicturesAndSound) {
  const std::vector<uint8_t> pixels = numbers(4 * 28 * 28);
  std::vector<float> features;
  for (const uint8_t number : numbers(16 * 200)) {
    features.push_back(static_cast<float>(number) / 256.0f);
  }
  set("max_new_tokens", 8);
  for (const std::string name : {"llava", "voxtral"}) {
    const std::string path = std::string(kDataFolder) + "/multimodal/" + name + ".pte";
    runner_ = C_API_MAKE(Runner, et_llm_load_file, path.c_str(), nullptr, nullptr);
    et_llm* const llm = runner_.get();
    ASSERT_EQ(et_llm_prefill(llm, "ab", nullptr), et_status{ET_STATUS_OK});
    if (name == "llava") {
      C_API_EXPECT_ERROR(ET_STATUS_NOT_SUPPORTED, "takes no sound", et_llm_prefill_audio, llm, features.data(), 1, 16,
                         200);
      C_API_EXPECT_ERROR(ET_STATUS_INVALID_ARGUMENT, "takes 3 x 28 x 28", et_llm_prefill_image, llm, pixels.data(), 28,
                         28, 4);
      C_API_EXPECT_ERROR(ET_STATUS_INVALID_ARGUMENT, "expected positive ones", et_llm_prefill_image, llm, pixels.data(),
                         28, -28, 3);
      C_API_EXPECT_ERROR(ET_STATUS_INVALID_ARGUMENT, "expected positive ones", et_llm_prefill_normalized_image, llm,
                         features.data(), 1 << 20, 1 << 20, 3);
      ASSERT_EQ(et_llm_prefill_image(llm, pixels.data(), 28, 28, 3, nullptr), et_status{ET_STATUS_OK});
    } else {
      C_API_EXPECT_ERROR(ET_STATUS_NOT_SUPPORTED, "takes no pictures", et_llm_prefill_image, llm, pixels.data(), 28, 28,
                         3);
      C_API_EXPECT_ERROR(ET_STATUS_NOT_SUPPORTED, "front end", et_llm_prefill_samples, llm, features.data(), 100);
      const et_llm_input samples = {ET_LLM_INPUT_RAW_AUDIO, {1, 1, 100}, pixels.data(), 200};
      C_API_EXPECT_ERROR(ET_STATUS_NOT_SUPPORTED, "front end", et_llm_prefill_inputs, llm, &samples, 1);
      const et_llm_input cut = {ET_LLM_INPUT_RAW_AUDIO, {1, 1, 100}, pixels.data(), 150};
      C_API_EXPECT_ERROR(ET_STATUS_INVALID_ARGUMENT, "150 bytes", et_llm_prefill_inputs, llm, &cut, 1);
      const et_llm_input whole = {ET_LLM_INPUT_AUDIO_BYTES, {1, 16, 100}, pixels.data(), 1600};
      C_API_EXPECT_ERROR(ET_STATUS_INVALID_ARGUMENT, "holds Byte", et_llm_prefill_inputs, llm, &whole, 1);
      ASSERT_EQ(et_llm_prefill_audio(llm, features.data(), 1, 16, 200, nullptr), et_status{ET_STATUS_OK});
    }
    Answer answer;
    ASSERT_EQ(et_llm_generate(llm, "cd", config_.get(), receive, &answer, nullptr), et_status{ET_STATUS_OK});
    EXPECT_EQ(answer.text, text_of(name));
  }
}

TEST_F(LlmTest, PromptsOfSeveralParts) {
  const std::vector<uint8_t> pixels = numbers(3 * 28 * 28);
  std::vector<float> features;
  for (const uint8_t number : numbers(16 * 200)) {
    features.push_back(static_cast<float>(number) / 256.0f);
  }
  const et_llm_input before = {ET_LLM_INPUT_TEXT, {}, "ab", 2};
  const et_llm_input after = {ET_LLM_INPUT_TEXT, {}, "cd", 2};
  const et_llm_input picture = {ET_LLM_INPUT_IMAGE, {28, 28, 3}, pixels.data(), pixels.size()};
  const et_llm_input sound = {ET_LLM_INPUT_AUDIO, {1, 16, 200}, features.data(), features.size() * sizeof(float)};
  set("max_new_tokens", 8);
  for (const std::string name : {"llava", "voxtral"}) {
    const std::string path = std::string(kDataFolder) + "/multimodal/" + name + ".pte";
    runner_ = C_API_MAKE(Runner, et_llm_load_file, path.c_str(), nullptr, nullptr);
    et_llm* const llm = runner_.get();
    const et_llm_input& media = name == "llava" ? picture : sound;
    const et_llm_input& other = name == "llava" ? sound : picture;
    // If one part of a prompt cannot be used, the session keeps none of its parts.
    const et_llm_input mixed[] = {before, media, other};
    C_API_EXPECT_ERROR(ET_STATUS_NOT_SUPPORTED, "takes no", et_llm_prefill_inputs, llm, mixed, 3);
    EXPECT_EQ(et_llm_position(llm), 0);
    const et_llm_input prompt[] = {before, media, after};
    Answer answer;
    ASSERT_EQ(et_llm_generate_inputs(llm, prompt, 3, config_.get(), receive, &answer, nullptr),
              et_status{ET_STATUS_OK});
    EXPECT_EQ(answer.text, text_of(name));
    ASSERT_EQ(et_llm_reset(llm, nullptr), et_status{ET_STATUS_OK});
    ASSERT_EQ(et_llm_prefill_inputs(llm, prompt, 3, nullptr), et_status{ET_STATUS_OK});
    EXPECT_EQ(generate(""), text_of(name));
  }
  et_llm_input wrong = picture;
  const auto refused = [&](const char* words) {
    C_API_EXPECT_ERROR(ET_STATUS_INVALID_ARGUMENT, words, et_llm_generate_inputs, runner_.get(), &wrong, 1, nullptr,
                       nullptr, nullptr);
  };
  wrong.size--;
  refused("need 2352 bytes, found 2351");
  wrong.type = 6;
  refused("found 6");
  wrong.data = nullptr;
  refused("NULL");
  C_API_EXPECT_ERROR(ET_STATUS_INVALID_ARGUMENT, "found none", et_llm_prefill_inputs, runner_.get(), &wrong, 0);
}

TEST_F(LlmTest, AnswersFollowAGrammar) {
  C_API_EXPECT_ERROR(ET_STATUS_INVALID_ARGUMENT, "there are: grammar, grammar_type", et_llm_config_set_string,
                     config_.get(), "schema", "x");
  C_API_EXPECT_ERROR(ET_STATUS_INVALID_ARGUMENT, "NULL", et_llm_config_set_string, config_.get(), "grammar", nullptr);
  const auto set_text = [this](const char* name, const char* value) {
    ASSERT_EQ(et_llm_config_set_string(config_.get(), name, value, nullptr), et_status{ET_STATUS_OK});
  };
  set_text("grammar", "[0-9]{3}-[0-9]{2}(");
  set_text("grammar_type", "regex");
  C_API_EXPECT_ERROR(ET_STATUS_INVALID_ARGUMENT, "position 19", et_llm_generate, runner_.get(), "abc", config_.get(),
                     nullptr, nullptr);
  set_text("grammar", "[0-9]{3}-[0-9]{2}");
  set("max_new_tokens", 20);
  Answer answer;
  ASSERT_EQ(et_llm_generate(runner_.get(), "abc", config_.get(), receive, &answer, nullptr), et_status{ET_STATUS_OK});
  EXPECT_TRUE(std::regex_match(answer.text, std::regex("[0-9]{3}-[0-9]{2}"))) << answer.text;
}

/// The program's template has no tool calls; tests/python/llm/test_tool_calls.py tests templates that have them.
TEST_F(LlmTest, CallsOfToolsNeedATemplateThatHasThem) {
  const char* message = nullptr;
  C_API_EXPECT_ERROR(ET_STATUS_NOT_SUPPORTED, "no known form", et_llm_parse_tool_calls, runner_.get(), "a", &message);
  EXPECT_EQ(message, nullptr);
  C_API_EXPECT_ERROR(ET_STATUS_INVALID_ARGUMENT, "NULL", et_llm_parse_tool_calls, runner_.get(), nullptr, &message);
}

TEST_F(LlmTest, AModelDrafts) {
  C_API_EXPECT_ERROR(ET_STATUS_INVALID_ARGUMENT, "NULL", et_llm_set_draft, runner_.get(), nullptr);
  C_API_EXPECT_ERROR(ET_STATUS_INVALID_ARGUMENT, "cannot draft for itself", et_llm_set_draft, runner_.get(),
                     runner_.get());
  set("draft_tokens", 3);
  C_API_EXPECT_ERROR(ET_STATUS_INVALID_STATE, "call set_draft() first", et_llm_generate, runner_.get(), kPrompt,
                     config_.get(), nullptr, nullptr);
  et_llm* draft = nullptr;
  ASSERT_EQ(et_llm_load_file(kModel.c_str(), nullptr, nullptr, &draft, nullptr), et_status{ET_STATUS_OK});
  ASSERT_EQ(et_llm_set_draft(runner_.get(), draft, nullptr), et_status{ET_STATUS_OK});  // this frees the draft handle
  C_API_EXPECT_ERROR(ET_STATUS_NOT_SUPPORTED, "debug.generate_full_logits=true", et_llm_generate, runner_.get(),
                     kPrompt, config_.get(), nullptr, nullptr);
  set("draft_tokens", 0);
  ASSERT_EQ(et_llm_reset(runner_.get(), nullptr), et_status{ET_STATUS_OK});
  EXPECT_EQ(generate(), kEager);
}

TEST_F(LlmTest, SavesAndRestoresAConversation) {
  const std::string path = std::string(kDataFolder) + "/multimodal/llava.pte";
  const std::string file = ::testing::TempDir() + "c_api.session";
  C_API_EXPECT_ERROR(ET_STATUS_NOT_SUPPORTED, "has no identity", et_llm_save_session, runner_.get(), file.c_str());
  runner_ = C_API_MAKE(Runner, et_llm_load_file, path.c_str(), nullptr, nullptr);
  set("max_new_tokens", 5);
  set("lookup_tokens", 0);
  Answer first;
  ASSERT_EQ(et_llm_generate(runner_.get(), "abc", config_.get(), receive, &first, nullptr), et_status{ET_STATUS_OK});
  ASSERT_EQ(et_llm_save_session(runner_.get(), file.c_str(), nullptr), et_status{ET_STATUS_OK});
  Answer wanted;
  ASSERT_EQ(et_llm_generate(runner_.get(), "de", config_.get(), receive, &wanted, nullptr), et_status{ET_STATUS_OK});
  runner_ = C_API_MAKE(Runner, et_llm_load_file, path.c_str(), nullptr, nullptr);
  ASSERT_EQ(et_llm_load_session(runner_.get(), file.c_str(), nullptr), et_status{ET_STATUS_OK});
  EXPECT_EQ(et_llm_position(runner_.get()), 8);
  Answer found;
  ASSERT_EQ(et_llm_generate(runner_.get(), "de", config_.get(), receive, &found, nullptr), et_status{ET_STATUS_OK});
  EXPECT_EQ(found.text, wanted.text);
  C_API_EXPECT_ERROR(ET_STATUS_ACCESS_FAILED, "/none", et_llm_load_session, runner_.get(), "/none");
  C_API_EXPECT_ERROR(ET_STATUS_INVALID_EXTERNAL_DATA, "is not a session", et_llm_load_session, runner_.get(),
                     path.c_str());
  std::remove(file.c_str());
}

}  // namespace
