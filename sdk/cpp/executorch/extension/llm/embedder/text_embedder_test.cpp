// SPDX-License-Identifier: BSD-3-Clause
// The program of tests/data/make_embedder.py: the expected vectors come from transformers.
#include <executorch/extension/llm/embedder/text_embedder.h>

#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <memory>
#include <sstream>
#include <string>
#include <thread>

#include <executorch/runtime/platform/runtime.h>

namespace {

using executorch::extension::llm::TextEmbedder;
using executorch::runtime::Error;

std::string data(const std::string& name) {
  return std::string(DATA_FOLDER) + "/" + name;
}

class TextEmbedderTest : public ::testing::Test {
 protected:
  void SetUp() override {
    executorch::runtime::runtime_init();
    auto made = TextEmbedder::create(data("embedder.pte"));
    ASSERT_TRUE(made.ok());
    embedder_ = std::move(*made);
  }

  std::unique_ptr<TextEmbedder> embedder_;
};

/// Each line of the file has a text, a tab and its vector.
TEST_F(TextEmbedderTest, VectorsEqualTransformers) {
  std::ifstream file(data("embedder.expected"));
  int texts = 0;
  for (std::string line; std::getline(file, line); texts++) {
    const size_t tab = line.find('\t');
    const auto vector = embedder_->embed(line.substr(0, tab));
    ASSERT_TRUE(vector.ok());
    ASSERT_EQ(static_cast<int64_t>(vector->size()), embedder_->dim());
    std::istringstream numbers(line.substr(tab + 1));
    for (const float found : *vector) {
      float expected = 0;
      ASSERT_TRUE(numbers >> expected);
      EXPECT_NEAR(found, expected, 1e-5);
    }
  }
  EXPECT_EQ(texts, 3);
}

TEST_F(TextEmbedderTest, TextsThatAreTooLong) {
  EXPECT_EQ(embedder_->max_tokens(), 12);
  const std::string longest(10, 'a');  // with a token before it and one after it
  const auto vector = embedder_->embed(longest);
  ASSERT_TRUE(vector.ok());
  EXPECT_EQ(embedder_->embed(longest + "a").error(), Error::InvalidArgument);
  const auto cut = embedder_->embed(longest + "a", true);
  ASSERT_TRUE(cut.ok());
  EXPECT_EQ(*cut, *vector);
  const auto tokens = embedder_->encode(longest);
  ASSERT_TRUE(tokens.ok());
  EXPECT_EQ(static_cast<int64_t>(tokens->size()), embedder_->max_tokens());
  EXPECT_EQ(*embedder_->embed_tokens(*tokens), *vector);
}

TEST_F(TextEmbedderTest, TokensThatCannotBeUsed) {
  EXPECT_EQ(embedder_->embed_tokens({}).error(), Error::InvalidArgument);
  EXPECT_EQ(embedder_->embed_tokens(std::vector<uint64_t>(13, 2)).error(), Error::InvalidArgument);
  EXPECT_EQ(embedder_->embed_tokens({UINT64_MAX}).error(), Error::InvalidArgument);
  EXPECT_TRUE(embedder_->embed_tokens({2}).ok());
}

/// Encodes every text as the token 2; `on_encode` runs in encode().
class OneToken final : public tokenizers::Tokenizer {
 public:
  explicit OneToken(bool loaded) {
    initialized_ = loaded;
    vocab_size_ = 40;
  }
  tokenizers::Error load(const std::string&) override { return tokenizers::Error::Ok; }
  tokenizers::Result<std::string> id_to_piece(uint64_t) const override { return std::string("a"); }
  tokenizers::Result<uint64_t> piece_to_id(const std::string&) const override { return uint64_t{2}; }
  tokenizers::Result<std::vector<uint64_t>> encode(const std::string&, int8_t, int8_t) const override {
    if (on_encode) {
      on_encode();
    }
    return std::vector<uint64_t>{2};
  }
  tokenizers::Result<std::string> decode(uint64_t, uint64_t token, bool) const override { return id_to_piece(token); }
  std::optional<uint64_t> bos_id() const override { return std::nullopt; }
  std::optional<uint64_t> eos_id() const override { return std::nullopt; }

  std::function<void()> on_encode;
};

/// A second thread begins a call in the middle of the first one's.
TEST_F(TextEmbedderTest, OneCallAtATime) {
  auto tokenizer = std::make_unique<OneToken>(true);
  OneToken& hook = *tokenizer;
  auto made = TextEmbedder::create(data("embedder.pte"), std::move(tokenizer));
  ASSERT_TRUE(made.ok());
  TextEmbedder& embedder = **made;
  const auto before = embedder.embed("a");
  ASSERT_TRUE(before.ok());
  std::vector<Error> errors;
  hook.on_encode = [&] {
    std::thread other([&] {
      errors.push_back(embedder.embed_tokens({4}).error());
      errors.push_back(embedder.embed("a").error());
    });
    other.join();
  };
  const auto vector = embedder.embed("a");
  hook.on_encode = nullptr;
  EXPECT_EQ(errors, std::vector<Error>(2, Error::InvalidState));
  ASSERT_TRUE(vector.ok());
  EXPECT_EQ(*vector, *before);
  EXPECT_TRUE(embedder.embed_tokens({4}).ok());
}

/// The tokenizer inside the program does not replace one that could not be loaded.
TEST_F(TextEmbedderTest, TokenizersThatAreNotLoaded) {
  using Tokenizer = std::unique_ptr<tokenizers::Tokenizer>;
  EXPECT_EQ(TextEmbedder::create(data("embedder.pte"), Tokenizer()).error(), Error::InvalidArgument);
  EXPECT_EQ(TextEmbedder::create(data("embedder.pte"), std::make_unique<OneToken>(false)).error(),
            Error::InvalidArgument);
}

TEST_F(TextEmbedderTest, OtherPrograms) {
  EXPECT_EQ(TextEmbedder::create(data("multimodal/llava.pte")).error(), Error::InvalidProgram);
  EXPECT_FALSE(TextEmbedder::create(data("no_such.pte")).ok());
  EXPECT_EQ(TextEmbedder::create(std::unique_ptr<executorch::extension::Module>()).error(), Error::InvalidArgument);
}

}  // namespace
