// SPDX-License-Identifier: BSD-3-Clause
// Text from a language model. tests/data/make_language_model.py makes the model and says what eager mode makes of it.
#include <executorch/extension/c_api/llm.h>

#include <cstdio>
#include <fstream>
#include <functional>
#include <regex>
#include <string>
#include <thread>
#include <vector>

#include "c_api_test_support.h"
#include "paths.h"

using namespace c_api_test;
using executorch::tests::kDataFolder;

namespace {

using Runner = std::unique_ptr<et_llm, FreeWith<et_llm_free>>;
using Config = std::unique_ptr<et_llm_config, FreeWith<et_llm_config_free>>;

const std::string kModel = std::string(kDataFolder) + "/language_model.pte";
constexpr const char* kPrompt = "Once upon a time";
constexpr const char* kEager = "pDl*!Vn8{l9W{l9W{l9W";

/// What the callback got, and what it does.
struct Answer {
  std::string text;
  size_t pieces = 0;
  size_t most_pieces = 1000;
  std::function<void()> on_piece;
};

bool receive(const char* text, size_t size, void* context) {
  auto& answer = *static_cast<Answer*>(context);
  EXPECT_EQ(text[size], '\0');
  answer.text.append(text, size);
  answer.pieces++;
  if (answer.on_piece) {
    answer.on_piece();
  }
  return answer.pieces < answer.most_pieces;
}

class LlmTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!et_has_llm()) {
      GTEST_SKIP() << "built without EXECUTORCH_BUILD_EXTENSION_LLM_RUNNER";
    }
    runner_ = C_API_MAKE(Runner, et_llm_load_file, kModel.c_str(), nullptr, nullptr);
    et_llm_config* config = nullptr;
    ASSERT_EQ(et_llm_config_create(&config, nullptr), et_status{ET_STATUS_OK});
    config_.reset(config);
    set("max_new_tokens", 20);
    ASSERT_EQ(et_llm_config_set_double(config_.get(), "temperature", 0, nullptr), et_status{ET_STATUS_OK});
  }

  void set(const char* name, int64_t value) {
    EXPECT_EQ(et_llm_config_set_int(config_.get(), name, value, nullptr), et_status{ET_STATUS_OK}) << name;
  }

  std::string generate(const char* prompt = kPrompt) {
    Answer answer;
    et_error* error = nullptr;
    EXPECT_EQ(et_llm_generate(runner_.get(), prompt, config_.get(), receive, &answer, &error), et_status{ET_STATUS_OK});
    EXPECT_EQ(take(error), "");
    return answer.text;
  }

  et_llm_stats stats() {
    et_llm_stats stats;
    EXPECT_EQ(et_llm_get_stats(runner_.get(), &stats, sizeof(stats), nullptr), et_status{ET_STATUS_OK});
    return stats;
  }

  Runner runner_;
  Config config_;
};

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
  // A token that is ruled out.
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

TEST_F(LlmTest, FilesThatCannotBeUsedAreNamed) {
  et_llm* llm = nullptr;
  C_API_EXPECT_ERROR(ET_STATUS_ACCESS_FAILED, "/none.pte", et_llm_load_file, "/none.pte", nullptr, nullptr, &llm);
  C_API_EXPECT_ERROR(ET_STATUS_INVALID_ARGUMENT, "the tokenizer /none.json cannot be loaded", et_llm_load_file,
                     kModel.c_str(), "/none.json", nullptr, &llm);
  C_API_EXPECT_ERROR(ET_STATUS_INVALID_ARGUMENT, "contains no tokenizer: name its file", et_llm_load_file,
                     program("add").c_str(), nullptr, nullptr, &llm);
  EXPECT_EQ(llm, nullptr);
}

/// The tokenizer of tests/data/make_language_model.py: a letter a token.
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
  // The letters of the model but the last two, whose numbers are those of the special tokens.
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
  // With the 256 of Llama 3 it is the tokenizer of another model.
  C_API_EXPECT_ERROR(ET_STATUS_INVALID_ARGUMENT, "it has 349 tokens, the program has 95",
                     et_llm_load_file_with_special_tokens, kModel.c_str(), path.c_str(), tokens, 0, nullptr, &llm);
  C_API_EXPECT_ERROR(ET_STATUS_INVALID_ARGUMENT, "`special_tokens`", et_llm_load_file_with_special_tokens,
                     kModel.c_str(), path.c_str(), nullptr, 2, nullptr, &llm);
  const char* const missing[] = {"<a>", nullptr};
  C_API_EXPECT_ERROR(ET_STATUS_INVALID_ARGUMENT, "`special_tokens[i]`", et_llm_load_file_with_special_tokens,
                     kModel.c_str(), path.c_str(), missing, 2, nullptr, &llm);
  std::remove(path.c_str());
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

/// The text that transformers makes of the prompt of tests/data/make_multimodal.py.
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
  const std::vector<uint8_t> pixels = numbers(3 * 29 * 28);
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
                         29, 3);
      C_API_EXPECT_ERROR(ET_STATUS_INVALID_ARGUMENT, "expected positive ones", et_llm_prefill_image, llm, pixels.data(),
                         28, -28, 3);
      C_API_EXPECT_ERROR(ET_STATUS_INVALID_ARGUMENT, "expected positive ones", et_llm_prefill_normalized_image, llm,
                         features.data(), 1 << 20, 1 << 20, 3);
      ASSERT_EQ(et_llm_prefill_image(llm, pixels.data(), 28, 28, 3, nullptr), et_status{ET_STATUS_OK});
    } else {
      C_API_EXPECT_ERROR(ET_STATUS_NOT_SUPPORTED, "takes no pictures", et_llm_prefill_image, llm, pixels.data(), 28, 28,
                         3);
      C_API_EXPECT_ERROR(ET_STATUS_NOT_SUPPORTED, "front end", et_llm_prefill_samples, llm, features.data(), 100);
      ASSERT_EQ(et_llm_prefill_audio(llm, features.data(), 1, 16, 200, nullptr), et_status{ET_STATUS_OK});
    }
    Answer answer;
    ASSERT_EQ(et_llm_generate(llm, "cd", config_.get(), receive, &answer, nullptr), et_status{ET_STATUS_OK});
    EXPECT_EQ(answer.text, text_of(name));
  }
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

/// The program's template has no form of calls; tests/python/llm/test_tool_calls.py has those that have one.
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
  ASSERT_EQ(et_llm_set_draft(runner_.get(), draft, nullptr), et_status{ET_STATUS_OK});  // which frees it
  C_API_EXPECT_ERROR(ET_STATUS_NOT_SUPPORTED, "debug.generate_full_logits=true", et_llm_generate, runner_.get(),
                     kPrompt, config_.get(), nullptr, nullptr);
  set("draft_tokens", 0);
  ASSERT_EQ(et_llm_reset(runner_.get(), nullptr), et_status{ET_STATUS_OK});
  EXPECT_EQ(generate(), kEager);
}

TEST_F(LlmTest, SavesAndRestoresAConversation) {
  const std::string path = std::string(kDataFolder) + "/multimodal/llava.pte";
  const std::string file = ::testing::TempDir() + "c_api.session";
  C_API_EXPECT_ERROR(ET_STATUS_NOT_SUPPORTED, "does not say which it is", et_llm_save_session, runner_.get(),
                     file.c_str());
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
