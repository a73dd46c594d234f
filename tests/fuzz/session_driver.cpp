// SPDX-License-Identifier: BSD-3-Clause
#include "session_driver.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include <executorch/extension/file_cache/sha256.h>
#include <executorch/extension/llm/runner/llm_runner_helper.h>
#include <executorch/extension/llm/runner/text_llm_runner.h>
#include <executorch/extension/module/module.h>

#include "memory_file.h"
#include "paths.h"
#include "small_process.h"

namespace executorch {
namespace fuzz {
namespace {

namespace llm = executorch::extension::llm;
using executorch::extension::Module;
using executorch::extension::sha256;
using executorch::extension::Sha256;
using executorch::runtime::Error;

constexpr size_t kMagicSize = 8;
constexpr const char* kPrompt = "ab";
constexpr int32_t kCount = 3;

void require(bool holds, const char* what) {
  if (!holds) {
    std::fprintf(stderr, "%s\n", what);
    std::abort();
  }
}

std::unique_ptr<llm::TextLLMRunner> make_runner() {
  auto module = std::make_unique<Module>(std::string(tests::kSeedsFolder) + "/session_model.pte");
  auto tokenizer = llm::load_embedded_tokenizer(*module);
  require(tokenizer.ok(), "tests/fuzz/seeds/session_model.pte cannot be read");
  auto runner = llm::create_text_llm_runner(std::move(module), std::move(*tokenizer));
  require(runner != nullptr && runner->load() == Error::Ok, "tests/fuzz/seeds/session_model.pte cannot be loaded");
  return runner;
}

/// The tokens that follow a prompt; greedy, so that they depend on nothing but the conversation.
std::vector<uint64_t> answer(llm::TextLLMRunner& runner, const std::string& prompt, int32_t lookup, Error& error) {
  llm::GenerationConfig config;
  config.echo = false;
  config.temperature = 0;
  config.max_new_tokens = kCount;
  config.repetition_penalty = 1.1F;
  config.lookup_tokens = lookup;
  std::string text;
  error = runner.generate(prompt, config, [&](const std::string& piece) { text += piece; });
  return runner.generated_tokens();
}

/// A conversation, and how it goes on.
class Reference {
 public:
  Reference() : runner_(make_runner()) {
    begin();
    saved_ = runner_->position();
    next_ = answer(*runner_, kPrompt, 0, error_);
    require(error_ == Error::Ok && next_.size() == kCount, "the program of the seeds does not answer");
  }

  void begin() {
    runner_->reset();
    (void)answer(*runner_, kPrompt, 0, error_);
    require(error_ == Error::Ok, "the program of the seeds does not answer");
  }

  /// Loads a file, and its copy with the expected head and hash, into a conversation that has begun.
  Outcome load(const MemoryFile& as_it_is, const MemoryFile& forged) {
    begin();
    const bool accepted = runner_->load_session(as_it_is.path()) == Error::Ok;
    require(accepted || runner_->position() == saved_, "a refused session changed the conversation");
    if (runner_->load_session(forged.path()) != Error::Ok) {
      require(!accepted && runner_->position() == saved_, "a refused session changed the conversation");
      require(answer(*runner_, kPrompt, 0, error_) == next_, "a refused session changed the program's state");
      return Outcome::Refused;
    }
    Error first = Error::Ok, second = Error::Ok;
    (void)answer(*runner_, "", 0, first);
    (void)answer(*runner_, kPrompt, 2, second);
    begin();
    require(answer(*runner_, kPrompt, 0, error_) == next_, "a session changed the conversation after reset()");
    return first == Error::Ok || second == Error::Ok ? Outcome::Executed : Outcome::Loaded;
  }

 private:
  std::unique_ptr<llm::TextLLMRunner> runner_;
  Error error_ = Error::Ok;
  int64_t saved_ = 0;
  std::vector<uint64_t> next_;
};

/// The magic number and the digest of the program, with which its session files begin.
const std::vector<uint8_t>& head_of_files() {
  static const std::vector<uint8_t> head = [] {
    std::ifstream in(std::string(tests::kSeedsFolder) + "/saved.session", std::ios::binary);
    std::vector<uint8_t> file(std::istreambuf_iterator<char>(in), {});
    require(file.size() > kMagicSize + sizeof(Sha256), "tests/fuzz/seeds/saved.session cannot be read");
    file.resize(kMagicSize + sizeof(Sha256));
    return file;
  }();
  return head;
}

/// The same conversation and state, in a file with the head and the hash of a valid one.
std::vector<uint8_t> forged(const uint8_t* data, size_t size) {
  const std::vector<uint8_t>& head = head_of_files();
  std::vector<uint8_t> file(data, data + size);
  file.resize(std::max(size, head.size() + sizeof(Sha256)));
  std::copy(head.begin(), head.end(), file.begin());
  const size_t end = file.size() - sizeof(Sha256);
  const Sha256 hash = sha256(file.data(), end);
  std::copy(hash.begin(), hash.end(), file.begin() + static_cast<std::ptrdiff_t>(end));
  return file;
}

}  // namespace

Outcome run_session(const uint8_t* data, size_t size) {
  static Reference reference;
  (void)head_of_files();
  Outcome outcome = Outcome::Refused;
  run_in_small_process([&] {
    const std::vector<uint8_t> file = forged(data, size);
    outcome = reference.load(MemoryFile(data, size), MemoryFile(file.data(), file.size()));
  });
  return outcome;
}

}  // namespace fuzz
}  // namespace executorch
