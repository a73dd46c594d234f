// SPDX-License-Identifier: BSD-3-Clause
// The generation loop with a function as the program: checks the inputs that it receives, their order, and the text.
// tests/python/llm runs exported programs.
#include "text_llm_runner_test_support.h"

namespace text_llm_runner_test {
namespace {

/// LR-05, LR-07: pieces of text, one per token here, and measurements at the end.
TEST_F(TextLLMRunnerTest, GeneratesAndCountsLR05LR07) {
  make(successor);
  IRunner& runner = *runner_;
  EXPECT_FALSE(runner.is_loaded());
  EXPECT_EQ(runner.load(), Error::Ok);
  EXPECT_TRUE(runner.is_loaded());
  ASSERT_EQ(generate("xya", greedy(5)), Error::Ok);
  EXPECT_EQ(text_, "bcdef");
  EXPECT_EQ(pieces_, 5);
  EXPECT_EQ(stats_.num_prompt_tokens, 3);
  EXPECT_EQ(stats_.num_generated_tokens, 5);
  EXPECT_GE(stats_.inference_end_ms, stats_.first_token_ms);
  EXPECT_GE(stats_.first_token_ms, stats_.inference_start_ms);
  EXPECT_GT(stats_.inference_start_ms, 0);
  EXPECT_GT(stats_.model_load_start_ms, 0) << "load() is timed, whoever calls it";
  EXPECT_GE(stats_.model_load_end_ms, stats_.model_load_start_ms);
  EXPECT_GE(stats_.inference_start_ms, stats_.model_load_end_ms);
  EXPECT_EQ(runner_->generated_tokens(), (Ids{'b', 'c', 'd', 'e', 'f'}));
  EXPECT_EQ(runner.generate("a", greedy(1), nullptr, nullptr), Error::Ok);
  runner.reset();
  EXPECT_EQ(runner.generate_from_pos("a", 0, greedy(1), nullptr, nullptr), Error::Ok);
}

TEST_F(TextLLMRunnerTest, EchoesThePrompt) {
  make(successor);
  GenerationConfig config = greedy(2);
  config.echo = true;
  config.num_bos = 1;
  ASSERT_EQ(generate("a", config), Error::Ok);
  EXPECT_EQ(text_, "abc");
  EXPECT_EQ(decoder_->seen, (Ids{1, 'a', 'b'}));
}

/// The text that ends a sequence is part of neither the answer nor the context.
TEST_F(TextLLMRunnerTest, EndsWithTheSequence) {
  make(spells(std::string("abc\0", 4)));
  ASSERT_EQ(generate("1234", greedy(20)), Error::Ok);
  EXPECT_EQ(text_, "abc");
  EXPECT_EQ(runner_->generated_tokens(), (Ids{'a', 'b', 'c', kEos}));
  EXPECT_EQ(runner_->position(), 7);
  GenerationConfig config = greedy(20);
  config.ignore_eos = true;
  runner_->reset();
  ASSERT_EQ(generate("1234", config), Error::Ok);
  EXPECT_EQ(text_, "abcabcabcabcabc");
  // As the first token.
  runner_->reset();
  ASSERT_EQ(generate("123", greedy(20)), Error::Ok);
  EXPECT_EQ(text_, "");
  EXPECT_EQ(stats_.num_generated_tokens, 1);
  EXPECT_EQ(generate("", greedy(20)), Error::InvalidState);
}

TEST_F(TextLLMRunnerTest, AConversationContinuesWhereTheTextEnded) {
  for (const bool use_kv_cache : {true, false}) {
    Options options;
    options.use_kv_cache = use_kv_cache;
    options.max_seq_len = 32;
    make(successor, options);
    ASSERT_EQ(generate("a", greedy(3)), Error::Ok);
    ASSERT_EQ(generate("k", greedy(2)), Error::Ok);
    EXPECT_EQ(text_, "lm");
    EXPECT_EQ(runner_->position(), 7);
    ASSERT_EQ(generate("", greedy(1)), Error::Ok);
    EXPECT_EQ(text_, "n");
    EXPECT_EQ(decoder_->seen, (Ids{'a', 'b', 'c', 'd', 'k', 'l', 'm'}));
    EXPECT_EQ(decoder_->calls.back(), use_kv_cache ? 1U : 7U);
    runner_->reset();
    EXPECT_EQ(runner_->position(), 0);
    ASSERT_EQ(generate("x", greedy(1)), Error::Ok);
    EXPECT_EQ(decoder_->seen, (Ids{'x'}));
  }
}

/// LR-08: chunks as long as a call may be, one token at a time, or the whole sequence.
TEST_F(TextLLMRunnerTest, PrefillsInChunksLR08) {
  const std::string prompt = "12345678901234567890";
  make(successor);
  ASSERT_EQ(generate(prompt, greedy(2)), Error::Ok);
  EXPECT_EQ(decoder_->calls, (std::vector<size_t>{8, 8, 4, 1}));
  for (const size_t length : {1, 7, 8, 9, 16}) {
    make(successor);
    ASSERT_EQ(generate(prompt.substr(0, length), greedy(1)), Error::Ok);
    EXPECT_EQ(decoder_->seen.size(), length);
    EXPECT_EQ(decoder_->calls.size(), (length + 7) / 8);
  }
  Options sequential;
  sequential.parallel = false;
  make(successor, sequential);
  ASSERT_EQ(generate(prompt, greedy(1)), Error::Ok);
  EXPECT_EQ(decoder_->calls, std::vector<size_t>(20, 1));
  TextPrefiller prefiller(decoder_, true, true, 8);
  Ids tokens{'a', 'b'};
  int64_t position = 0;
  EXPECT_EQ(*prefiller.prefill_chunk(tokens, position), 'c');
  EXPECT_EQ(position, 2);
  tokens.resize(9);
  EXPECT_EQ(prefiller.prefill_chunk(tokens, position).error(), Error::InvalidArgument);
  tokens.clear();
  EXPECT_EQ(prefiller.prefill(tokens, position).error(), Error::InvalidArgument);
}

/// Counts chunks, as an application's subclass may do.
class CountingPrefiller final : public TextPrefiller {
 public:
  using TextPrefiller::TextPrefiller;
  Result<uint64_t> prefill_chunk(Ids& tokens, int64_t& start_pos) override {
    chunks.emplace_back(tokens.size(), start_pos);
    return TextPrefiller::prefill_chunk(tokens, start_pos);
  }
  Result<uint64_t> prefill_chunk(Ids& tokens, int64_t& start_pos, float temperature) override {
    chunks_with_temperature++;
    return TextPrefiller::prefill_chunk(tokens, start_pos, temperature);
  }

  std::vector<std::pair<size_t, int64_t>> chunks;
  int chunks_with_temperature = 0;
};

TEST_F(TextLLMRunnerTest, PrefillCallsPrefillChunk) {
  make(successor);
  CountingPrefiller prefiller(decoder_, true, true, 3);
  Ids tokens{'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'};
  int64_t position = 0;
  EXPECT_EQ(*prefiller.prefill(tokens, position), 'i');
  EXPECT_EQ(position, 8);
  EXPECT_EQ(prefiller.chunks, (std::vector<std::pair<size_t, int64_t>>{{3, 0}, {3, 3}, {2, 6}}));
  EXPECT_EQ(*prefiller.prefill(tokens, position, 0.0f), 'i');
  EXPECT_EQ(position, 16);
  EXPECT_EQ(prefiller.chunks.size(), 3U);
  EXPECT_EQ(prefiller.chunks_with_temperature, 6) << "three for each call";
  decoder_->fails = true;
  EXPECT_EQ(prefiller.prefill(tokens, position).error(), Error::Internal);
  EXPECT_EQ(position, 16);
  // Without a cache a chunk would lose the tokens before it.
  decoder_->fails = false;
  CountingPrefiller without_cache(decoder_, false, true, 3);
  position = 0;
  EXPECT_EQ(*without_cache.prefill(tokens, position), 'i');
  EXPECT_TRUE(without_cache.chunks.empty());
}

TEST_F(TextLLMRunnerTest, AnyLogits) {
  for (const ScalarType type : {ScalarType::Float, ScalarType::Half, ScalarType::BFloat16}) {
    for (const bool all : {false, true}) {
      Options options;
      options.type = type;
      options.all_logits = all;
      make(successor, options);
      ASSERT_EQ(generate("abc", greedy(3)), Error::Ok);
      EXPECT_EQ(text_, "def");
    }
  }
}

TEST_F(TextLLMRunnerTest, TextComesInWholeCharacters) {
  make(spells("\u00e9\u20ac\U0001F600"));
  std::vector<std::string> pieces;
  ASSERT_EQ(runner_->generate("123456789", greedy(9), [&](const std::string& piece) { pieces.push_back(piece); }),
            Error::Ok);
  EXPECT_EQ(pieces, (std::vector<std::string>{"\u00e9", "\u20ac", "\U0001F600"}));
}

/// A limit may end a text inside a character: a continued text then begins with the rest of it.
TEST_F(TextLLMRunnerTest, NoPartOfACharacterIsText) {
  for (const bool use_kv_cache : {true, false}) {
    Options options;
    options.use_kv_cache = use_kv_cache;
    options.max_seq_len = 32;
    for (int32_t cut = 1; cut < 9; cut++) {
      make(spells("\u00e9\u20ac\U0001F600"), options);
      ASSERT_EQ(generate("123456789", greedy(cut)), Error::Ok);
      EXPECT_EQ(text_.find("\uFFFD"), std::string::npos) << cut;
      const std::string first = text_;
      ASSERT_EQ(generate("", greedy(9 - cut)), Error::Ok);
      EXPECT_EQ(first + text_, "\u00e9\u20ac\U0001F600") << cut;
    }
  }
  // The end of a sequence and a new prompt also end an incomplete character.
  make(spells(std::string("\xE2\x82\0", 3)));
  ASSERT_EQ(generate("123", greedy(9)), Error::Ok);
  EXPECT_EQ(text_, "\uFFFD");
  make(spells("\u20ac"));
  ASSERT_EQ(generate("123", greedy(2)), Error::Ok);
  EXPECT_EQ(text_, "");
  ASSERT_EQ(generate("\x82", greedy(3)), Error::Ok);
  EXPECT_EQ(text_, "\u20ac");
}

/// One call, which counts and times the prompt, for text and for tokens.
TEST_F(TextLLMRunnerTest, GeneratesFromTokens) {
  make(successor);
  const auto on_text = [this](const std::string& piece) { text_ += piece; };
  const auto on_stats = [this](const Stats& stats) { stats_ = stats; };
  GenerationConfig config = greedy(3);
  config.num_bos = 2;
  ASSERT_EQ(runner_->generate(Ids{'a', 'b'}, config, on_text, on_stats), Error::Ok);
  EXPECT_EQ(text_, "cde");
  EXPECT_EQ(stats_.num_prompt_tokens, 4);
  EXPECT_EQ(stats_.num_generated_tokens, 3);
  EXPECT_GE(stats_.prompt_eval_end_ms, stats_.model_execution_start_ms);
  EXPECT_EQ(decoder_->seen, (Ids{1, 1, 'a', 'b', 'c', 'd'}));
  text_.clear();
  config = greedy(2);
  config.echo = true;
  ASSERT_EQ(runner_->generate_from_pos(Ids{'k'}, 3, config, on_text, on_stats), Error::Ok);
  EXPECT_EQ(text_, "klm");
  EXPECT_EQ(stats_.num_prompt_tokens, 1);
  EXPECT_EQ(decoder_->seen, (Ids{1, 1, 'a', 'k', 'l'}));
  EXPECT_EQ(runner_->generate(Ids{256}, config), Error::InvalidArgument);
  runner_->reset();
  EXPECT_EQ(runner_->generate(Ids(), config), Error::InvalidState);
}

TEST_F(TextLLMRunnerTest, StopTexts) {
  make(successor);
  GenerationConfig config = greedy(20);
  config.stop = {"zz", "fgh"};
  ASSERT_EQ(generate("a", config), Error::Ok);
  EXPECT_EQ(text_, "bcde");
  EXPECT_EQ(runner_->generated_tokens().back(), 'h');
  runner_->reset();
  config.max_new_tokens = 6;  // "fg" may still become a stop text: given at the end
  ASSERT_EQ(generate("a", config), Error::Ok);
  EXPECT_EQ(text_, "bcdefg");
}

/// LR-10.
TEST_F(TextLLMRunnerTest, WarmsUpLR10) {
  make(successor);
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  ASSERT_EQ(runner_->warmup("Hello world", 10), Error::Ok);
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
  const std::string log = testing::internal::GetCapturedStderr();
#if ET_LOG_ENABLED
  EXPECT_NE(log.find("Doing a warmup run..."), std::string::npos);
  EXPECT_NE(log.find("Warmup run finished!"), std::string::npos);
#endif
  EXPECT_TRUE(runner_->is_loaded());
  EXPECT_EQ(runner_->position(), 0);
  EXPECT_EQ(decoder_->seen.size(), 20U);
  ASSERT_EQ(generate("a", greedy(2)), Error::Ok);
  EXPECT_EQ(stats_.num_prompt_tokens, 1);
  EXPECT_EQ(runner_->warmup("a", 2), Error::InvalidState);
}

TEST_F(TextLLMRunnerTest, PrefillThenGenerate) {
  make(successor);
  EXPECT_EQ(*runner_->prefill("abc"), 'd');
  EXPECT_EQ(runner_->position(), 3);
  EXPECT_EQ(*runner_->prefill({make_text_input(std::string("xy")), make_token_input({'k', 'l'})}, 1, 0), 'm');
  ASSERT_EQ(generate("", greedy(2)), Error::Ok);
  EXPECT_EQ(text_, "mn");
  EXPECT_EQ(decoder_->seen, (Ids{'a', 'b', 'c', 1, 'x', 'y', 'k', 'l', 'm'}));
  EXPECT_EQ(runner_->prefill("").error(), Error::InvalidArgument);
  EXPECT_EQ(runner_->prefill({make_image_input(Image())}).error(), Error::NotSupported);
  GenerationConfig config = greedy(1);
  config.num_eos = 1;
  EXPECT_EQ(*runner_->prefill("q", config), 1U);
}

TEST_F(TextLLMRunnerTest, GoesBackToAPosition) {
  make(successor);
  ASSERT_EQ(generate("abc", greedy(4)), Error::Ok);  // defg
  ASSERT_EQ(runner_->generate_from_pos("x", 4, greedy(2)), Error::Ok);
  EXPECT_EQ(decoder_->seen, (Ids{'a', 'b', 'c', 'd', 'x', 'y'}));
  EXPECT_EQ(runner_->generate_from_pos("x", 8, greedy(2)), Error::InvalidArgument);
  EXPECT_EQ(runner_->generate_from_pos("x", -1, greedy(2)), Error::InvalidArgument);
  ASSERT_EQ(runner_->rewind(5), Error::Ok);
  EXPECT_EQ(runner_->position(), 5);
  EXPECT_EQ(runner_->rewind(6), Error::InvalidArgument);
  ASSERT_EQ(generate("k", greedy(1)), Error::Ok);
  EXPECT_EQ(decoder_->seen, (Ids{'a', 'b', 'c', 'd', 'x', 'k'}));
  Options options;
  options.recurrent = 1;
  make(successor, options);
  ASSERT_EQ(generate("abc", greedy(4)), Error::Ok);
  EXPECT_EQ(runner_->generate_from_pos("x", 4, greedy(2)), Error::NotSupported);
  EXPECT_EQ(runner_->generate_from_pos("x", 7, greedy(2)), Error::Ok);
  EXPECT_EQ(runner_->generate_from_pos("x", 0, greedy(1)), Error::Ok);
  EXPECT_EQ(decoder_->seen, (Ids{'x'}));
}

TEST_F(TextLLMRunnerTest, PenaltiesBiasAndProcessorsReachTheFirstToken) {
  make(successor);
  GenerationConfig config = greedy(3);
  config.logit_bias = {{'b', -100.0f}, {'q', 1.0f}};
  ASSERT_EQ(generate("a", config), Error::Ok);
  EXPECT_EQ(text_, "qrs");
  config = greedy(4);
  config.temperature = 30;
  config.seed = 4;
  runner_->reset();
  ASSERT_EQ(generate("a", config), Error::Ok);
  const std::string once = text_;
  EXPECT_NE(once, "bcde");
  runner_->reset();
  ASSERT_EQ(generate("a", config), Error::Ok);
  EXPECT_EQ(text_, once);
}

TEST_F(TextLLMRunnerTest, TheGeneratorAlone) {
  make(successor);
  ASSERT_EQ(runner_->load(), Error::Ok);
  decoder_->seen = {'a'};
  std::string text;
  TextTokenGenerator& generator = runner_->token_generator();
  const auto count = generator.generate({'a', 'b'}, 1, 3, 0.0f, [&text](const std::string& piece) { text += piece; });
  EXPECT_EQ(*count, 3);
  EXPECT_EQ(text, "cde");
  EXPECT_EQ(generator.generate({}, 0, 3).error(), Error::InvalidArgument);
  EXPECT_EQ(generator.num_logit_processors(), 0U);
}

/// LR-04: the calls of the documents; the files that they name do not exist here.
TEST_F(TextLLMRunnerTest, CreatesFromFilesLR04) {
  auto tokenizer = load_tokenizer("path/to/tokenizer.json", nullptr, std::nullopt, 0, 0);
  EXPECT_EQ(tokenizer, nullptr);
  EXPECT_EQ(create_text_llm_runner("path/to/model.pte", std::move(tokenizer)), nullptr);
  EXPECT_EQ(create_text_llm_runner("/there/is/no/such.pte", std::make_unique<ByteTokenizer>()), nullptr);
  EXPECT_EQ(create_text_llm_runner("/there/is/no/such.pte", nullptr), nullptr);
  EXPECT_EQ(create_text_llm_runner("/no.pte", std::make_unique<ByteTokenizer>(), std::optional<const std::string>()),
            nullptr);
  // The tokenizer inside the program.
  EXPECT_EQ(create_text_llm_runner("/there/is/no/such.pte"), nullptr);
  EXPECT_EQ(create_text_llm_runner(std::unique_ptr<Module>()), nullptr);
}

}  // namespace
}  // namespace text_llm_runner_test
