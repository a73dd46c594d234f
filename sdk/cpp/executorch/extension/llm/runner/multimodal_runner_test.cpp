// SPDX-License-Identifier: BSD-3-Clause
// Programs of tests/data/make_multimodal.py: the expected values come from transformers.
#include <executorch/extension/llm/runner/llm_runner_helper.h>

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <functional>
#include <sstream>

#include <executorch/extension/llm/runner/constants.h>
#include <executorch/extension/llm/runner/image_prefiller.h>
#include <executorch/runtime/platform/runtime.h>

namespace {

using namespace executorch::extension::llm;
using executorch::extension::Module;
using executorch::runtime::Error;

/// The printable characters of ASCII, as in the tokenizer of the programs, and tokens written as "<94>".
class Letters final : public tokenizers::Tokenizer {
 public:
  Letters() {
    initialized_ = true;
    vocab_size_ = 96;
  }
  tokenizers::Error load(const std::string&) override { return tokenizers::Error::Ok; }
  tokenizers::Result<std::string> id_to_piece(uint64_t token) const override {
    return std::string(1, static_cast<char>(token + ' '));
  }
  tokenizers::Result<uint64_t> piece_to_id(const std::string& text) const override {
    const auto tokens = encode(text, 0, 0);
    return tokens->front();
  }
  tokenizers::Result<std::vector<uint64_t>> encode(const std::string& input, int8_t, int8_t) const override {
    std::vector<uint64_t> ids;
    for (size_t i = 0; i < input.size(); i++) {
      if (input[i] == '<' && i + 3 < input.size() && input[i + 3] == '>') {
        ids.push_back(static_cast<uint64_t>(std::stoi(input.substr(i + 1, 2))));
        i += 3;
      } else {
        ids.push_back(input[i] < ' ' ? static_cast<uint64_t>('?' - ' ') : static_cast<uint64_t>(input[i] - ' '));
      }
    }
    return ids;
  }
  tokenizers::Result<std::string> decode(uint64_t, uint64_t token, bool) const override { return id_to_piece(token); }
  std::optional<uint64_t> bos_id() const override { return std::nullopt; }
  std::optional<uint64_t> eos_id() const override { return std::nullopt; }
};

std::string program(const std::string& name) {
  return std::string(DATA_FOLDER) + "/multimodal/" + name + ".pte";
}

struct Expected {
  std::vector<uint64_t> tokens;
  std::vector<float> logits;
};

Expected expected(const std::string& name) {
  std::ifstream file(std::string(DATA_FOLDER) + "/multimodal/" + name + ".expected");
  Expected found;
  std::string line;
  std::getline(file, line);
  std::istringstream tokens(line);
  for (uint64_t token = 0; tokens >> token;) {
    found.tokens.push_back(token);
  }
  std::getline(file, line);
  std::istringstream logits(line);
  for (float value = 0; logits >> value;) {
    found.logits.push_back(value);
  }
  return found;
}

std::vector<uint8_t> numbers(size_t count) {
  std::vector<uint8_t> found(count);
  for (size_t i = 0; i < count; i++) {
    found[i] = static_cast<uint8_t>(i * 37 % 256);
  }
  return found;
}

Image picture() {
  return {numbers(3 * 28 * 28), 28, 28, 3};
}

Audio sound() {
  const std::vector<uint8_t> given = numbers(16 * 200);
  std::vector<float> features;
  for (const uint8_t value : given) {
    features.push_back(static_cast<float>(value) / 256.0F);
  }
  return {std::move(features), 1, 16, 200};
}

class MultimodalRunnerTest : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    executorch::runtime::runtime_init();
    runner_ = create_multimodal_runner(program(GetParam()), std::make_unique<Letters>());
    ASSERT_NE(runner_, nullptr);
  }

  static MultimodalInput media() { return sees() ? make_image_input(picture()) : make_audio_input(sound()); }
  static bool sees() { return std::string(GetParam()) != "voxtral"; }
  static std::vector<MultimodalInput> prompt() {
    return {make_text_input(std::string("ab")), media(), make_text_input(std::string("cd"))};
  }
  static bool has_patches() { return std::string(GetParam()) == "qwen2_5_vl"; }
  /// The positions of media().
  static int64_t positions() { return has_patches() ? 16 : sees() ? 4 : 25; }
  static std::string place() {
    return std::string(GetParam()) == "gemma3" ? "<92>" : has_patches() ? "<92><94><91>" : "<94>";
  }
  static GenerationConfig greedy(int32_t count) {
    GenerationConfig config;
    config.echo = false;
    config.temperature = 0;
    config.max_new_tokens = count;
    return config;
  }

  std::unique_ptr<MultimodalRunner> runner_;
};

/// From picture or sound to logits.
TEST_P(MultimodalRunnerTest, LogitsEqualTransformers) {
  Module module(program(GetParam()));
  IOManager io_manager(module);
  Letters tokenizer;
  MultimodalDecoderRunner decoder(&module, &io_manager);
  MultimodalPrefiller prefiller(&module, &decoder, &tokenizer, &io_manager);
  EXPECT_FALSE(decoder.is_method_loaded());
  ASSERT_EQ(prefiller.load(), Error::Ok);
  EXPECT_TRUE(prefiller.is_method_loaded());
  int64_t position = 0;
  uint64_t next = 0;
  for (const MultimodalInput& input : prompt()) {
    const auto token = prefiller.prefill(input, position);
    ASSERT_TRUE(token.ok());
    next = *token;
  }
  const Expected wanted = expected(GetParam());
  EXPECT_EQ(next, wanted.tokens.front());
  EXPECT_EQ(position, 4 + positions());
  ASSERT_TRUE(decoder.last_logits().has_value());
  const auto& logits = *decoder.last_logits();
  ASSERT_EQ(static_cast<size_t>(logits.numel()), wanted.logits.size());
  for (size_t i = 0; i < wanted.logits.size(); i++) {
    EXPECT_NEAR(logits.const_data_ptr<float>()[i], wanted.logits[i], 1e-4) << i;
  }
}

TEST_P(MultimodalRunnerTest, TokensEqualTransformers) {
  const Expected wanted = expected(GetParam());
  std::string text;
  Stats stats;
  ASSERT_EQ(runner_->generate(
                prompt(), greedy(8), [&](const std::string& piece) { text += piece; },
                [&](const Stats& given) { stats = given; }),
            Error::Ok);
  EXPECT_EQ(runner_->generated_tokens(), wanted.tokens);
  EXPECT_EQ(text.size(), wanted.tokens.size());
  EXPECT_EQ(stats.num_prompt_tokens, 4 + positions());
  // In two steps, and in one conversation after another.
  runner_->reset();
  const auto next = runner_->prefill(prompt());
  ASSERT_TRUE(next.ok());
  EXPECT_EQ(*next, wanted.tokens.front());
  ASSERT_EQ(runner_->generate("", greedy(8)), Error::Ok);
  EXPECT_EQ(runner_->generated_tokens(), wanted.tokens);
  // A prompt may consist of a picture only.
  runner_->reset();
  ASSERT_EQ(runner_->generate(std::vector<MultimodalInput>{media()}, greedy(2)), Error::Ok);
  EXPECT_EQ(runner_->position(), 2 + positions());
  ASSERT_EQ(runner_->rewind(0), Error::Ok);
  ASSERT_EQ(runner_->generate(prompt(), greedy(8)), Error::Ok);
  EXPECT_EQ(runner_->generated_tokens(), wanted.tokens);
}

TEST_P(MultimodalRunnerTest, OneCallAtATime) {
  int pieces = 0;
  ASSERT_EQ(runner_->generate(prompt(), greedy(2),
                              [&](const std::string&) {
                                pieces++;
                                EXPECT_EQ(runner_->prompt_of("ab", {}).error(), Error::InvalidState);
                              }),
            Error::Ok);
  EXPECT_GT(pieces, 0);
  EXPECT_EQ(runner_->prompt_of("ab", {}).ok(), sees());
}

/// As in ExecuTorch, the texts of a prompt are echoed.
TEST_P(MultimodalRunnerTest, Echo) {
  GenerationConfig config = greedy(1);
  config.echo = true;
  std::string text;
  ASSERT_EQ(runner_->generate(prompt(), config, [&](const std::string& piece) { text += piece; }), Error::Ok);
  EXPECT_EQ(text.substr(0, 4), "abcd");
}

/// The calls of an application written for ExecuTorch: decode() runs the decoder that the object was made for.
TEST_P(MultimodalRunnerTest, DecodesEmbeddings) {
  Module module(program(GetParam()));
  IOManager io_manager(module);
  MultimodalDecoderRunner decoder(&module, &io_manager);
  ASSERT_EQ(decoder.load(), Error::Ok);
  std::vector<int64_t> given{33};
  auto tokens = executorch::extension::from_blob(given.data(), {1, 1}, executorch::aten::ScalarType::Long);
  const auto values = [](const auto& logits) {
    return std::vector<float>(logits->template const_data_ptr<float>(),
                              logits->template const_data_ptr<float>() + logits->numel());
  };
  const auto stepped = decoder.step(tokens, 0);
  ASSERT_TRUE(stepped.ok());
  const std::vector<float> wanted = values(stepped);
  const auto embeddings = decoder.embed(tokens);
  ASSERT_TRUE(embeddings.ok());
  const auto decoded = decoder.decode(*embeddings, 0);
  ASSERT_TRUE(decoded.ok());
  EXPECT_EQ(values(decoded), wanted);
  EXPECT_EQ(decoder.decode(executorch::runtime::EValue(int64_t{1}), 0).error(), Error::InvalidArgument);
}

/// A failed call does not change the conversation.
TEST_P(MultimodalRunnerTest, InputsThatCannotBeUsed) {
  ASSERT_TRUE(runner_->prefill(prompt()).ok());
  const int64_t before = runner_->position();
  const std::vector<MultimodalInput> wrong[] = {
      {make_text_input(std::string("x")), make_image_input(Image(std::vector<float>(3 * 30 * 28), 30, 28, 3))},
      {make_image_input(Image(numbers(100), 28, 28, 3))},
      {make_image_input(Image(numbers(100), -10, -10, 1))},
      {make_image_input(Image(numbers(0), INT32_MAX, INT32_MAX, INT32_MAX))},
      {make_audio_input(Audio(std::vector<float>(100), -1, 10, -10))},
      {make_audio_input(Audio(numbers(16 * 200), 1, 16, 200))},
      {make_audio_input(Audio(std::vector<float>(16 * 201), 1, 16, 201))},
      {make_token_input(std::vector<uint64_t>{96})},
      {make_token_input(std::vector<uint64_t>{UINT64_MAX})},
      {media(), media(), media(), media(), media(), media(), media(), media(), media(), media(), media(), media(),
       media(), media(), media()}};
  for (const auto& inputs : wrong) {
    const Error error = runner_->generate(inputs, greedy(1));
    EXPECT_TRUE(error == Error::InvalidArgument || error == Error::NotSupported) << static_cast<int>(error);
    EXPECT_EQ(runner_->position(), before);
  }
  EXPECT_EQ(runner_->prefill({make_raw_audio_input(RawAudio())}).error(), Error::NotSupported);
  ASSERT_EQ(runner_->generate("", greedy(8)), Error::Ok);
  EXPECT_EQ(runner_->generated_tokens(), expected(GetParam()).tokens);
}

/// A conversation with a picture or sound goes on in another process, bit for bit.
TEST_P(MultimodalRunnerTest, SavesAndRestoresAConversation) {
  const std::string path = ::testing::TempDir() + GetParam() + ".session";  // ctest runs programs side by side
  ASSERT_EQ(runner_->generate(prompt(), greedy(3)), Error::Ok);
  ASSERT_EQ(runner_->save_session(path), Error::Ok);
  GenerationConfig config = greedy(6);
  config.temperature = 4;
  config.seed = 9;
  ASSERT_EQ(runner_->generate("ef", config), Error::Ok);
  const auto other = create_multimodal_runner(program(GetParam()), std::make_unique<Letters>());
  ASSERT_EQ(other->load_session(path), Error::Ok);
  ASSERT_EQ(other->generate("ef", config), Error::Ok);
  EXPECT_EQ(other->generated_tokens(), runner_->generated_tokens());
  EXPECT_EQ(other->position(), runner_->position());
  const std::string another = std::string(GetParam()) == "llava" ? "voxtral" : "llava";
  const auto wrong = create_multimodal_runner(program(another), std::make_unique<Letters>());
  EXPECT_EQ(wrong->load_session(path), Error::InvalidArgument);
  EXPECT_EQ(wrong->position(), 0);
  std::ofstream(path, std::ios::app) << "x";
  EXPECT_EQ(other->load_session(path), Error::InvalidExternalData);
  EXPECT_EQ(other->position(), runner_->position());
  std::remove(path.c_str());
}

class PicturePromptTest : public MultimodalRunnerTest {};

/// The text around pictures, and the tokens that follow, as transformers has them.
TEST_P(PicturePromptTest, PromptsWithPictures) {
  const Expected wanted = expected(std::string(GetParam()) + ".prompt");
  const auto inputs = runner_->prompt_of("ab" + place() + "cd", {picture()});
  ASSERT_TRUE(inputs.ok());
  std::vector<uint64_t> tokens;
  for (const MultimodalInput& input : *inputs) {
    const std::vector<uint64_t> part = input.is_image() ? std::vector<uint64_t>{94} : input.get_tokens();
    tokens.insert(tokens.end(), part.begin(), part.end());
  }
  EXPECT_EQ(tokens, wanted.tokens);
  // A picture of another size is scaled.
  const std::vector<MultimodalInput> scaled = {make_image_input(Image(numbers(3 * 50 * 30), 50, 30, 3))};
  ASSERT_EQ(runner_->generate(scaled, greedy(1)), Error::Ok);
  EXPECT_EQ(runner_->position(), has_patches() ? 25 : 5);  // 48 x 32 pixels
  EXPECT_EQ(runner_->prompt_of("ab" + place(), {}).error(), Error::InvalidArgument);
  EXPECT_EQ(runner_->prompt_of("ab", {Image()}).error(), Error::InvalidArgument);
  EXPECT_EQ(runner_->prompt_of("ab", {}, 200).error(), Error::InvalidArgument);
}

TEST_P(MultimodalRunnerTest, PromptsWithoutPictures) {
  const auto inputs = runner_->prompt_of("ab", {});
  if (!sees()) {
    EXPECT_EQ(inputs.error(), Error::NotSupported);
    return;
  }
  ASSERT_TRUE(inputs.ok());
  ASSERT_EQ(inputs->size(), 1U);
  EXPECT_EQ(inputs->front().get_tokens(), (std::vector<uint64_t>{'a' - ' ', 'b' - ' '}));
}

INSTANTIATE_TEST_SUITE_P(Programs, MultimodalRunnerTest,
                         ::testing::Values("llava", "gemma3", "smolvlm", "qwen2_5_vl", "voxtral"));
INSTANTIATE_TEST_SUITE_P(Pictures, PicturePromptTest, ::testing::Values("llava", "gemma3", "smolvlm", "qwen2_5_vl"));

TEST(MultimodalRunnerCreationTest, OtherPrograms) {
  executorch::runtime::runtime_init();
  EXPECT_EQ(create_multimodal_runner(std::string(DATA_FOLDER) + "/language_model.pte", std::make_unique<Letters>()),
            nullptr);
  EXPECT_EQ(create_multimodal_runner(program("llava"), nullptr), nullptr);
  EXPECT_EQ(create_multimodal_runner("/there/is/no/such.pte", std::make_unique<Letters>()), nullptr);
}

/// A program is not trusted: its methods may give no embeddings, or embeddings of several lengths.
TEST(MultimodalPrefillerTest, EmbeddingsThatDoNotFitTogether) {
  executorch::runtime::runtime_init();
  Module module(program("uneven"));
  IOManager io_manager(module);
  MultimodalDecoderRunner decoder(&module, &io_manager);
  Letters letters;
  MultimodalPrefiller prefiller(&module, &decoder, &letters, &io_manager);
  const auto features = [](int32_t count) {
    return make_audio_input(Audio(std::vector<float>(static_cast<size_t>(count) * 6, 1.0F), count, 2, 3));
  };
  const auto even = prefiller.encode(features(2));
  ASSERT_TRUE(even.ok());
  EXPECT_EQ(even->embeddings->size(2), 2);
  EXPECT_EQ(prefiller.encode(features(3)).error(), Error::InvalidProgram) << "calls for 2 windows, then for 1";
  RawAudio samples;
  samples.data.resize(16);
  samples.batch_size = samples.n_channels = 1;
  samples.n_samples = 4;
  EXPECT_EQ(prefiller.encode(make_raw_audio_input(samples)).error(), Error::InvalidProgram) << "no features";
}

/// An application's own way to give images to a program.
TEST(ImagePrefillerTest, IsAnInterface) {
  class Own final : public ImagePrefiller {
   public:
    using ImagePrefiller::ImagePrefiller;
    executorch::runtime::Result<executorch::aten::Tensor> prefill(Image&, int64_t& start_pos) override {
      start_pos += 1;
      return Error::NotSupported;
    }
    Error load() override { return module_->load(); }
    bool is_method_loaded() override { return module_->is_loaded(); }
  };
  Module module(program("llava"));
  Own own(&module);
  EXPECT_FALSE(own.is_method_loaded());
  EXPECT_EQ(own.load(), Error::Ok);
  EXPECT_TRUE(own.is_method_loaded());
  Image image = picture();
  int64_t position = 4;
  EXPECT_EQ(own.prefill(image, position).error(), Error::NotSupported);
  EXPECT_EQ(position, 5);
}

}  // namespace
