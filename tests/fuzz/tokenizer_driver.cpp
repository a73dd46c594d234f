// SPDX-License-Identifier: BSD-3-Clause
#include "tokenizer_driver.h"

#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>

#include <pytorch/tokenizers/hf_tokenizer.h>
#include <pytorch/tokenizers/llama2c_tokenizer.h>
#include <pytorch/tokenizers/sentencepiece.h>
#include <pytorch/tokenizers/tiktoken.h>

#include "choices.h"
#include "small_process.h"
#include "tokenizer_grammar.h"

namespace executorch {
namespace fuzz {
namespace {

std::unique_ptr<tokenizers::Tokenizer> make(uint8_t format) {
  switch (format % 6 % 4) {
    case 0:
      return std::make_unique<tokenizers::HFTokenizer>();
    case 1:
      return std::make_unique<tokenizers::Tiktoken>();
    case 2:
      return std::make_unique<tokenizers::SPTokenizer>();
    default:
      return std::make_unique<tokenizers::Llama2cTokenizer>();
  }
}

void use(const tokenizers::Tokenizer& tokenizer, const std::string& text) {
  const auto ids = tokenizer.encode(text, 1, 1);
  if (!ids.ok()) {
    return;
  }
  tokenizers::StreamDecoder stream(tokenizer);
  for (const uint64_t id : *ids) {
    if (id >= static_cast<uint64_t>(tokenizer.vocab_size())) {
      std::abort();
    }
    (void)tokenizer.id_to_piece(id);
    (void)stream.push(id);
  }
  (void)stream.finish();
  if (const auto* whole = dynamic_cast<const tokenizers::HFTokenizer*>(&tokenizer)) {
    (void)whole->decode(*ids, true);
    (void)whole->encode_with_post_processor(text);
  }
}

/// The sixth format: decisions about a tokenizer.json.
constexpr uint8_t kGrammar = 5;

void run(const uint8_t* data, size_t size) {
  if (data[0] % 6 == kGrammar) {
    Choices choices(data + 1, size - 1);
    tokenizers::HFTokenizer tokenizer;
    const std::string json = make_tokenizer_json(choices);
    if (tokenizer.load_from_buffer(json) == tokenizers::Error::Ok) {
      use(tokenizer, make_tokenizer_text(choices));
    }
    return;
  }
  const std::unique_ptr<tokenizers::Tokenizer> tokenizer = make(data[0]);
  const std::string_view all(reinterpret_cast<const char*>(data) + 1, size - 1);
  // A compiled tokenizer contains zero bytes, so no text follows it.
  const bool compiled = all.substr(0, 6) == "PTETOK";
  const size_t end = compiled ? std::string_view::npos : all.rfind('\0');
  const std::string_view file = all.substr(0, end);
  const std::string_view text = end == std::string_view::npos ? std::string_view("a \xC3\xA9<s>") : all.substr(end + 1);
  if (tokenizer->load_from_buffer(file) == tokenizers::Error::Ok) {
    use(*tokenizer, std::string(text));
  }
}

}  // namespace

void run_tokenizer(const uint8_t* data, size_t size) {
  if (size > 0) {
    run_in_small_process([&] { run(data, size); });
  }
}

}  // namespace fuzz
}  // namespace executorch
