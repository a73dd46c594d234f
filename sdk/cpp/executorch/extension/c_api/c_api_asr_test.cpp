// SPDX-License-Identifier: BSD-3-Clause
// Speech recognition. tests/data/make_speech.py makes the programs and the texts that transformers expects.
#include <executorch/extension/c_api/asr.h>

#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "c_api_test_support.h"
#include "paths.h"

using namespace c_api_test;
using executorch::tests::kDataFolder;

namespace {

using Runner = std::unique_ptr<et_asr, FreeWith<et_asr_free>>;
using Config = std::unique_ptr<et_asr_config, FreeWith<et_asr_config_free>>;

const std::string kModel = std::string(kDataFolder) + "/speech/whisper.pte";
const std::string kPreprocessor = std::string(kDataFolder) + "/speech/preprocessor.pte";
constexpr size_t kSamples = 16 * 200;

std::string expected() {
  std::ifstream file(std::string(kDataFolder) + "/speech/whisper.expected");
  std::string text;
  for (int token = 0; text.size() < 12 && file >> token;) {
    text += static_cast<char>(token + ' ');
  }
  return text;
}

/// A WAV file of float32 samples.
std::string wav_of(const std::vector<float>& samples, uint32_t rate) {
  const std::string path = ::testing::TempDir() + "c_api_asr.wav";
  std::ofstream file(path, std::ios::binary);
  const auto write = [&](uint32_t value, int bytes) { file.write(reinterpret_cast<const char*>(&value), bytes); };
  const auto size = static_cast<uint32_t>(samples.size() * sizeof(float));
  file << "RIFF";
  write(36 + size, 4);
  file << "WAVEfmt ";
  write(16, 4);
  write(3, 2);  // floats
  write(1, 2);
  write(rate, 4);
  write(rate * 4, 4);
  write(4, 2);
  write(32, 2);
  file << "data";
  write(size, 4);
  file.write(reinterpret_cast<const char*>(samples.data()), size);
  return path;
}

class AsrTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!et_has_asr()) {
      GTEST_SKIP() << "built without EXECUTORCH_BUILD_EXTENSION_ASR_RUNNER";
    }
    for (size_t i = 0; i < kSamples; i++) {
      samples_.push_back(static_cast<float>(i * 37 % 256) / 256.0F);
    }
    runner_ = C_API_MAKE(Runner, et_asr_load_file, kModel.c_str(), nullptr, kPreprocessor.c_str(), nullptr);
    config_ = new_config();
  }

  Config new_config() {
    Config config = C_API_MAKE(Config, et_asr_config_create, runner_.get());
    EXPECT_EQ(et_asr_config_set_int(config.get(), "max_new_tokens", 12, nullptr), et_status{ET_STATUS_OK});
    return config;
  }

  std::string transcribe(const et_asr_config* config) {
    Answer answer;
    et_error* error = nullptr;
    EXPECT_EQ(
        et_asr_transcribe_samples(runner_.get(), samples_.data(), samples_.size(), config, receive, &answer, &error),
        et_status{ET_STATUS_OK});
    EXPECT_EQ(take(error), "");
    return answer.text;
  }

  void set_tokens(const char* name, const std::vector<int64_t>& tokens) {
    EXPECT_EQ(et_asr_config_set_tokens(config_.get(), name, tokens.data(), tokens.size(), nullptr),
              et_status{ET_STATUS_OK});
  }

  std::vector<float> samples_;
  Runner runner_;
  Config config_;
};

TEST(AsrWithoutRunner, SaysWhatIsMissing) {
  if (et_has_asr()) {
    GTEST_SKIP() << "built with models of speech";
  }
  et_asr* asr = nullptr;
  C_API_EXPECT_ERROR(ET_STATUS_NOT_SUPPORTED, "EXECUTORCH_BUILD_EXTENSION_ASR_RUNNER=ON", et_asr_load_file,
                     kModel.c_str(), nullptr, nullptr, nullptr, &asr);
  EXPECT_EQ(asr, nullptr);
}

TEST_F(AsrTest, FilesAndSamplesGiveTheTextOfTransformers) {
  EXPECT_EQ(transcribe(config_.get()), expected());
  const std::string path = wav_of(samples_, 16000);
  Answer answer;
  EXPECT_EQ(et_asr_transcribe_file(runner_.get(), path.c_str(), config_.get(), receive, &answer, nullptr),
            et_status{ET_STATUS_OK});
  EXPECT_EQ(answer.text, expected());
  // The texts of two windows are joined, with the settings of the program as the default.
  samples_.insert(samples_.end(), samples_.begin(), samples_.end());
  EXPECT_EQ(transcribe(config_.get()), expected() + expected());
  EXPECT_EQ(transcribe(nullptr).substr(0, 12), expected());
  int32_t rate = 0;
  ASSERT_EQ(et_asr_sampling_rate(runner_.get(), &rate, nullptr), et_status{ET_STATUS_OK});
  EXPECT_EQ(rate, 16000);
  std::remove(path.c_str());
}

TEST_F(AsrTest, SettingsChangeTheText) {
  const std::string text = expected();
  set_tokens("eos_token_ids", {text[1] - ' '});
  EXPECT_EQ(transcribe(config_.get()), text.substr(0, 1));
  config_ = new_config();
  set_tokens("suppress_token_ids", {text[0] - ' '});
  EXPECT_EQ(transcribe(config_.get()).find(text[0]), std::string::npos);
  config_ = new_config();
  set_tokens("prompt_token_ids", {});
  set_tokens("begin_suppress_token_ids", {});
  const std::string unprompted = transcribe(config_.get());
  EXPECT_NE(unprompted, text);
  // The program's prompt contains <en>.
  int64_t token = 0;
  ASSERT_EQ(et_asr_token_id(runner_.get(), "<en>", &token, nullptr), et_status{ET_STATUS_OK});
  set_tokens("prompt_token_ids", {token});
  set_tokens("begin_suppress_token_ids", {94});
  EXPECT_EQ(transcribe(config_.get()), text);
  EXPECT_EQ(et_asr_config_set_int(config_.get(), "decoder_start_token_id", 5, nullptr), et_status{ET_STATUS_OK});
  EXPECT_NE(transcribe(config_.get()), text);
}

TEST_F(AsrTest, TheCallbackAndOtherThreadsStopIt) {
  Answer answer;
  answer.most_pieces = 3;
  const auto run = [&](Answer& to) {
    return et_asr_transcribe_samples(runner_.get(), samples_.data(), samples_.size(), config_.get(), receive, &to,
                                     nullptr);
  };
  EXPECT_EQ(run(answer), et_status{ET_STATUS_OK});
  EXPECT_EQ(answer.text, expected().substr(0, 3));
  Answer stopped;
  stopped.on_piece = [&] { std::thread([&] { et_asr_stop(runner_.get()); }).join(); };
  EXPECT_EQ(run(stopped), et_status{ET_STATUS_OK});
  EXPECT_GE(stopped.pieces, 1u);
  EXPECT_LE(stopped.pieces, 2u);
  et_asr_stop(nullptr);
  EXPECT_EQ(transcribe(config_.get()), expected());
}

/// The lines of timed.expected: "part" or "word", start, end, text.
std::vector<std::string> expected_times() {
  std::ifstream file(std::string(kDataFolder) + "/speech/timed.expected");
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) {
    lines.push_back(line);
  }
  EXPECT_GT(lines.size(), 1u);
  return lines;
}

struct Lines {
  std::vector<std::string> lines;
  size_t parts = 0;
  size_t most_parts = SIZE_MAX;
};

std::string line_of(const char* kind, double start, double end, const char* text) {
  char times[64];
  std::snprintf(times, sizeof(times), "\t%.4f\t%.4f\t", start, end);
  return kind + std::string(times) + text;
}

bool receive_segment(const et_asr_segment* segment, void* context) {
  auto& to = *static_cast<Lines*>(context);
  to.lines.push_back(line_of("part", segment->start, segment->end, segment->text));
  EXPECT_EQ(std::strlen(segment->text), segment->text_size);
  for (size_t i = 0; i < segment->word_count; i++) {
    const et_asr_word& word = segment->words[i];
    to.lines.push_back(line_of("word", word.start, word.end, word.text));
    EXPECT_EQ(std::strlen(word.text), word.text_size);
  }
  to.parts++;
  return to.parts < to.most_parts;
}

TEST_F(AsrTest, PartsAndWordsHaveTheTimesOfTransformers) {
  const Runner timed = C_API_MAKE(Runner, et_asr_load_file, (std::string(kDataFolder) + "/speech/timed.pte").c_str(),
                                  nullptr, kPreprocessor.c_str(), nullptr);
  const Config config = C_API_MAKE(Config, et_asr_config_create, timed.get());
  EXPECT_EQ(et_asr_config_set_int(config.get(), "max_new_tokens", 12, nullptr), et_status{ET_STATUS_OK});
  EXPECT_EQ(et_asr_config_set_bool(config.get(), "word_times", true, nullptr), et_status{ET_STATUS_OK});
  const auto segments = [&](Lines& to) {
    return et_asr_segments_samples(timed.get(), samples_.data(), samples_.size(), config.get(), receive_segment, &to,
                                   nullptr);
  };
  const std::vector<std::string> wanted = expected_times();
  Lines found;
  ASSERT_EQ(segments(found), et_status{ET_STATUS_OK});
  ASSERT_GE(found.lines.size(), wanted.size());  // transformers' lines are those of the first window
  EXPECT_EQ(std::vector<std::string>(found.lines.begin(), found.lines.begin() + wanted.size()), wanted);
  Lines of_file;
  const std::string path = wav_of(samples_, 16000);
  ASSERT_EQ(et_asr_segments_file(timed.get(), path.c_str(), config.get(), receive_segment, &of_file, nullptr),
            et_status{ET_STATUS_OK});
  EXPECT_EQ(of_file.lines, found.lines);
  std::remove(path.c_str());
  Lines one;
  one.most_parts = 1;
  ASSERT_EQ(segments(one), et_status{ET_STATUS_OK});
  EXPECT_EQ(one.parts, 1u);
  EXPECT_EQ(et_asr_config_set_bool(config.get(), "word_times", false, nullptr), et_status{ET_STATUS_OK});
  Lines plain;
  ASSERT_EQ(segments(plain), et_status{ET_STATUS_OK});
  EXPECT_EQ(plain.lines.size(), plain.parts);  // no words
  EXPECT_EQ(
      et_asr_segments_samples(timed.get(), samples_.data(), samples_.size(), config.get(), nullptr, nullptr, nullptr),
      et_status{ET_STATUS_OK});
}

TEST_F(AsrTest, SegmentsThatCannotBeFound) {
  int64_t language = 0;
  C_API_EXPECT_ERROR(ET_STATUS_NOT_SUPPORTED, "does not name tokens of languages", et_asr_detect_language,
                     runner_.get(), samples_.data(), samples_.size(), &language, nullptr);
  C_API_EXPECT_ERROR(ET_STATUS_INVALID_ARGUMENT, "`token`", et_asr_detect_language, runner_.get(), samples_.data(),
                     samples_.size(), nullptr, nullptr);
  C_API_EXPECT_ERROR(ET_STATUS_NOT_SUPPORTED, "does not name its timestamp tokens", et_asr_segments_samples,
                     runner_.get(), samples_.data(), samples_.size(), nullptr, nullptr, nullptr);
  C_API_EXPECT_ERROR(ET_STATUS_ACCESS_FAILED, "/none.wav", et_asr_segments_file, runner_.get(), "/none.wav", nullptr,
                     nullptr, nullptr);
  C_API_EXPECT_ERROR(ET_STATUS_INVALID_ARGUMENT, "there are: word_times", et_asr_config_set_bool, config_.get(),
                     "words", true);
}

TEST_F(AsrTest, RefusesASecondCallMeanwhile) {
  Answer answer;
  answer.most_pieces = 1;
  answer.on_piece = [&] {
    et_asr_config* config = nullptr;
    int32_t rate = 0;
    C_API_EXPECT_ERROR(ET_STATUS_INVALID_STATE, "in another call", et_asr_config_create, runner_.get(), &config);
    C_API_EXPECT_ERROR(ET_STATUS_INVALID_STATE, "in another call", et_asr_sampling_rate, runner_.get(), &rate);
    C_API_EXPECT_ERROR(ET_STATUS_INVALID_STATE, "in another call", et_asr_transcribe_samples, runner_.get(),
                       samples_.data(), samples_.size(), nullptr, nullptr, nullptr);
  };
  EXPECT_EQ(et_asr_transcribe_samples(runner_.get(), samples_.data(), samples_.size(), config_.get(), receive, &answer,
                                      nullptr),
            et_status{ET_STATUS_OK});
  EXPECT_EQ(answer.pieces, 1u);  // otherwise nothing was checked
}

TEST_F(AsrTest, WhatCannotBeUsedIsNamed) {
  et_asr* asr = nullptr;
  C_API_EXPECT_ERROR(ET_STATUS_ACCESS_FAILED, "/none.pte", et_asr_load_file, "/none.pte", nullptr, nullptr, nullptr,
                     &asr);
  C_API_EXPECT_ERROR(ET_STATUS_ACCESS_FAILED, "/none.pte", et_asr_load_file, kModel.c_str(), nullptr, "/none.pte",
                     nullptr, &asr);
  C_API_EXPECT_ERROR(ET_STATUS_INVALID_ARGUMENT, "no method 'encoder'", et_asr_load_file, program("add").c_str(),
                     nullptr, nullptr, nullptr, &asr);
  EXPECT_EQ(asr, nullptr);
  C_API_EXPECT_ERROR(ET_STATUS_ACCESS_FAILED, "/none.wav", et_asr_transcribe_file, runner_.get(), "/none.wav", nullptr,
                     nullptr, nullptr);
  const std::string slow = wav_of(samples_, 8000);
  C_API_EXPECT_ERROR(ET_STATUS_INVALID_ARGUMENT, "8000 samples a second", et_asr_transcribe_file, runner_.get(),
                     slow.c_str(), nullptr, nullptr, nullptr);
  std::remove(slow.c_str());
  C_API_EXPECT_ERROR(ET_STATUS_INVALID_EXTERNAL_DATA, "not a WAV file", et_asr_transcribe_file, runner_.get(),
                     kModel.c_str(), nullptr, nullptr, nullptr);
  C_API_EXPECT_ERROR(ET_STATUS_INVALID_ARGUMENT, "no samples", et_asr_transcribe_samples, runner_.get(),
                     samples_.data(), 0, nullptr, nullptr, nullptr);
  C_API_EXPECT_ERROR(ET_STATUS_INVALID_ARGUMENT, "there are: max_new_tokens, decoder_start_token_id",
                     et_asr_config_set_int, config_.get(), "seed", 1);
  C_API_EXPECT_ERROR(ET_STATUS_INVALID_ARGUMENT, "there are: temperature", et_asr_config_set_double, config_.get(),
                     "top_p", 1);
  C_API_EXPECT_ERROR(ET_STATUS_INVALID_ARGUMENT, "there are: prompt_token_ids", et_asr_config_set_tokens, config_.get(),
                     "tokens", nullptr, 0);
  C_API_EXPECT_ERROR(ET_STATUS_INVALID_ARGUMENT, "`tokens`", et_asr_config_set_tokens, config_.get(),
                     "prompt_token_ids", nullptr, 2);
  int64_t token = 0;
  C_API_EXPECT_ERROR(ET_STATUS_NOT_FOUND, "no token <|xx|>", et_asr_token_id, runner_.get(), "<|xx|>", &token);
  C_API_EXPECT_ERROR(ET_STATUS_INVALID_ARGUMENT, "`asr`", et_asr_transcribe_file, nullptr, "x", nullptr, nullptr,
                     nullptr);
  ASSERT_EQ(et_asr_config_set_double(config_.get(), "temperature", -1, nullptr), et_status{ET_STATUS_OK});
  C_API_EXPECT_ERROR(ET_STATUS_INVALID_ARGUMENT, "temperature", et_asr_transcribe_samples, runner_.get(),
                     samples_.data(), samples_.size(), config_.get(), nullptr, nullptr);
  // Without a preprocessor, samples need an encoder that takes them.
  const Runner bare = C_API_MAKE(Runner, et_asr_load_file, kModel.c_str(), nullptr, nullptr, nullptr);
  C_API_EXPECT_ERROR(ET_STATUS_NOT_SUPPORTED, "no method 'preprocessor'", et_asr_transcribe_samples, bare.get(),
                     samples_.data(), samples_.size(), nullptr, nullptr, nullptr);
  EXPECT_EQ(transcribe(nullptr).substr(0, 12), expected());
}

}  // namespace
