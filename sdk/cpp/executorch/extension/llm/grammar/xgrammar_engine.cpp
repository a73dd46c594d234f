// SPDX-License-Identifier: BSD-3-Clause
// The engine over xgrammar. Its exceptions end here.
#include <executorch/extension/llm/grammar/grammar_engine.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <deque>
#include <exception>
#include <limits>
#include <new>
#include <optional>
#include <utility>

#include <xgrammar/xgrammar.h>

#include <executorch/extension/llm/grammar/json_schema.h>
#include <executorch/extension/llm/grammar/worker.h>
#include <executorch/extension/memory_allocator/report_bad_alloc.h>
#include <executorch/runtime/platform/log.h>

namespace xgrammar {
// xgrammar calls this function instead of printing.
[[noreturn]] void LogFatalImpl(const std::string& file, int line, const std::string& message);
void LogMessageImpl(const std::string& file, int line, int level, const std::string& message);
}  // namespace xgrammar

namespace executorch {
namespace extension {
namespace llm {
namespace internal {

using runtime::Error;
using runtime::Result;

namespace {

// Larger grammars would take seconds to compile.
constexpr size_t kMaxConvertedBytes = 1 << 20;
// Calls that xgrammar nests, of a few hundred bytes each: check_grammar() lets no text nest deeper than 64.
constexpr int kMaxRecursion = 1000;
constexpr size_t kKeptGrammars = 8;
constexpr int kBitsOfWord = 32;
constexpr int kWarning = 2;
constexpr char kNextTokens[] = "the grammar's next tokens";
// Short, so that a string of it takes no memory.
constexpr char kNoMemory[] = "out of memory";

thread_local std::string* warnings = nullptr;

struct Failure : std::exception {
  explicit Failure(std::string said) : message(std::move(said)) {}
  const char* what() const noexcept override { return message.c_str(); }
  std::string message;
};

/// Calls a function of xgrammar. Returns the error message, or "". Throws nothing: an exception that left the thread of
/// a Worker would end the process.
template <typename Function>
std::string problem_of(const Function& function) noexcept {
  try {
    try {
      function();
      return "";
    } catch (const std::bad_alloc&) {
      throw;
    } catch (const std::exception& exception) {
      const std::string said = exception.what();
      return said.empty() ? "unknown error" : said;
    }
  } catch (...) {
    return kNoMemory;
  }
}

/// Logs a problem of a function that cannot fail with the arguments that were checked before.
Error error_of(const char* what, const std::string& problem) {
  ET_CHECK_OR_RETURN_ERROR(problem != kNoMemory, MemoryAllocationFailed, "%s: %s", what, kNoMemory);
  ET_CHECK_OR_RETURN_ERROR(problem.empty(), Internal, "%s: %s", what, problem.c_str());
  return Error::Ok;
}

/// Calls such a function.
template <typename Function>
Error guarded(const char* what, const Function& function) {
  return error_of(what, problem_of(function));
}

/// Parses a grammar, or throws. A warning of xgrammar is an error, because the answer would not follow the grammar.
xgrammar::Grammar convert(GrammarType type, const std::string& text) {
  std::string ignored;
  warnings = &ignored;
  const struct Restore {
    ~Restore() { warnings = nullptr; }
  } restore;
  const auto parse = [&] {
    switch (type) {
      case GrammarType::kJsonSchema:
        // Models that loop at white space would never end without a limit.
        return xgrammar::Grammar::FromJSONSchema(text, true, std::nullopt, std::nullopt, true, kMaxJsonSpaces);
      case GrammarType::kRegex:
        return xgrammar::Grammar::FromRegex(text);
      case GrammarType::kLark:
        return xgrammar::Grammar::FromLark(text);
      default:
        return xgrammar::Grammar::FromEBNF(text);
    }
  };
  xgrammar::Grammar grammar = parse();
  if (!ignored.empty()) {
    throw Failure(ignored);
  }
  if (grammar.ToString().size() > kMaxConvertedBytes) {
    throw Failure("it is too large: its rules have more than " + std::to_string(kMaxConvertedBytes) + " bytes");
  }
  return grammar;
}

/// The text of xgrammar's error, without positions in the grammar that it made from a schema or a regular expression.
std::string shown(GrammarType type, std::string problem) {
  const size_t end = problem.find(": ");
  if (type != GrammarType::kGbnf && problem.rfind("EBNF ", 0) == 0 && end != std::string::npos) {
    problem.erase(0, end + 2);
  }
  problem.erase(std::min(problem.find('\n'), problem.size()));  // a message in the log has one line
  return problem;
}

/// The processor time of this thread in seconds; the time of a clock where the system does not report it.
double thread_seconds() {
#if defined(CLOCK_THREAD_CPUTIME_ID)
  timespec now{};
  if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now) == 0) {
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
  }
#endif
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

class Constraint final : public TokenConstraint {
 public:
  Constraint(const xgrammar::CompiledGrammar& grammar, GrammarTime most)
      : matcher_(grammar),
        most_(most),
        mask_(static_cast<size_t>(xgrammar::GetBitmaskSize(grammar.GetTokenizerInfo().GetVocabSize()))) {}

  Error apply(float* logits, int64_t count) override {
    ET_CHECK_OK_OR_RETURN_ERROR(finish());
    ET_CHECK_OR_RETURN_ERROR(!matcher_.IsTerminated(), InvalidState, "the grammar allows no more text");
    if (!is_filled_) {
      ET_CHECK_OK_OR_RETURN_ERROR(timed(kNextTokens, [this] { fill(); }));
    }
    bool any = false;
    for (int64_t begin = 0; begin < count; begin += kBitsOfWord) {
      const auto index = static_cast<size_t>(begin / kBitsOfWord);
      const auto bits = index < mask_.size() ? static_cast<uint32_t>(mask_[index]) : 0U;
      any = any || bits != 0;
      if (bits == UINT32_MAX) {
        continue;
      }
      const int64_t end = std::min<int64_t>(begin + kBitsOfWord, count);
      for (int64_t i = begin; i < end; i++) {
        if ((bits >> (i - begin) & 1U) == 0) {
          logits[i] = -std::numeric_limits<float>::infinity();
        }
      }
    }
    ET_CHECK_OR_RETURN_ERROR(any, InvalidState, "no token of the vocabulary can follow by the grammar");
    return Error::Ok;
  }

  void prepare() override {
    if (!is_prepared_ && !is_filled_ && !matcher_.IsTerminated()) {
      is_prepared_ = worker_.start([this] { prepared_ = called([this] { fill(); }); });
    }
  }

  Error accept(uint64_t token) override {
    ET_CHECK_OK_OR_RETURN_ERROR(finish());
    bool accepted = false;
    num_tokens_ += 1;
    ET_CHECK_OK_OR_RETURN_ERROR(timed("the grammar", [&] {
      accepted = token <= INT32_MAX && matcher_.AcceptToken(static_cast<int32_t>(token));
      is_filled_ = false;
      if (accepted && !matcher_.IsTerminated() && matcher_.IsCompleted()) {
        fill();
        has_ended_ = allows_only_stop_tokens();
      }
    }));
    ET_CHECK_OR_RETURN_ERROR(accepted, InvalidState, "token %llu does not follow the grammar",
                             static_cast<unsigned long long>(token));
    return Error::Ok;
  }

  bool has_ended() const override { return has_ended_; }

 private:
  struct Called {
    std::string problem;
    double seconds;
  };
  template <typename Function>
  static Called called(const Function& function) {
    const double begin = thread_seconds();
    std::string problem = problem_of(function);
    return {std::move(problem), thread_seconds() - begin};
  }

  /// guarded(), with the time that all calls together may take.
  template <typename Function>
  Error timed(const char* what, const Function& function) {
    return count(what, called(function));
  }

  /// Waits for what prepare() began. Logs errors here, because logs are collected by thread.
  Error finish() {
    if (!is_prepared_) {
      return Error::Ok;
    }
    worker_.wait();
    is_prepared_ = false;
    return count(kNextTokens, prepared_);
  }

  Error count(const char* what, const Called& call) {
    ET_CHECK_OK_OR_RETURN_ERROR(error_of(what, call.problem));
    seconds_ += call.seconds;
    const double most = most_.seconds + most_.seconds_of_token * static_cast<double>(num_tokens_);
    ET_CHECK_OR_RETURN_ERROR(
        seconds_ <= most, OutOfResources,
        "the grammar took %.1f s for %zu tokens of an answer, expected at most %.1f s: it has many "
        "parses of one text; avoid repetitions of what repeats or may be empty, as in (a+b?)+",
        seconds_, num_tokens_, most);
    return Error::Ok;
  }

  void fill() {
    auto size = static_cast<int64_t>(mask_.size());
    DLTensor tensor{mask_.data(), {kDLCPU, 0}, 1, {kDLInt, kBitsOfWord, 1}, &size, nullptr, 0};
    if (!matcher_.FillNextTokenBitmask(&tensor)) {
      std::fill(mask_.begin(), mask_.end(), -1);
    }
    is_filled_ = true;
  }

  bool allows_only_stop_tokens() const {
    std::vector<int32_t> others = mask_;
    for (const int token : matcher_.GetStopTokenIds()) {
      const auto index = static_cast<size_t>(token) / kBitsOfWord;
      if (index < others.size()) {
        others[index] = static_cast<int32_t>(static_cast<uint32_t>(others[index]) & ~(1U << token % kBitsOfWord));
      }
    }
    return std::all_of(others.begin(), others.end(), [](int32_t bits) { return bits == 0; });
  }

  xgrammar::GrammarMatcher matcher_;
  GrammarTime most_;
  double seconds_ = 0;
  size_t num_tokens_ = 0;   // of the answer
  bool is_filled_ = false;  // whether mask_ is valid for the next token
  bool has_ended_ = false;
  std::vector<int32_t> mask_;
  bool is_prepared_ = false;  // whether the worker fills mask_, or has done so
  Called prepared_{};
  Worker worker_;  // the last member, because its thread uses the others
};

class XGrammarEngine final : public GrammarEngine {
 public:
  XGrammarEngine(xgrammar::TokenizerInfo info, GrammarTime most) : info_(std::move(info)), most_(most) {}

  Result<std::unique_ptr<TokenConstraint>> constrain(GrammarType type, const std::string& text) override {
    return extension::internal::report_bad_alloc([&] { return make(type, text); });
  }

 private:
  struct Kept {
    GrammarType type;
    std::string text;
    xgrammar::CompiledGrammar grammar;
  };

  Result<std::unique_ptr<TokenConstraint>> make(GrammarType type, const std::string& text) {
    auto found = std::find_if(kept_.begin(), kept_.end(),
                              [&](const Kept& kept) { return kept.type == type && kept.text == text; });
    if (found == kept_.end()) {
      ET_CHECK_OK_OR_RETURN_ERROR(check_grammar(type, text));
      ET_CHECK_OK_OR_RETURN_ERROR(compile(type, text));
      found = kept_.begin();
    }
    std::unique_ptr<TokenConstraint> made;
    ET_CHECK_OK_OR_RETURN_ERROR(
        guarded("the grammar", [&] { made = std::make_unique<Constraint>(found->grammar, most_); }));
    return made;
  }

  Error compile(GrammarType type, const std::string& text) {
    const std::string problem = problem_of([&] {
      const xgrammar::Grammar grammar = convert(type, text);
      // One thread, no separate cache, and masks of states are computed when they are needed: compiling all of them may
      // take seconds.
      xgrammar::GrammarCompiler compiler(info_, 1, false, -1, true);
      kept_.push_front({type, text, compiler.CompileGrammar(grammar)});
    });
    if (problem.empty()) {
      if (kept_.size() > kKeptGrammars) {
        kept_.pop_back();
      }
      return Error::Ok;
    }
    ET_CHECK_OR_RETURN_ERROR(problem != kNoMemory, MemoryAllocationFailed, "the grammar: %s", kNoMemory);
    if (type != GrammarType::kJsonSchema) {
      ET_LOG(Error, "the grammar cannot be used: %s", shown(type, problem).c_str());
      return Error::InvalidArgument;
    }
    const std::string path = path_of_problem(text, [](const std::string& part) {
      return problem_of([&] { convert(GrammarType::kJsonSchema, part); }).empty();
    });
    ET_LOG(Error, "the JSON schema cannot be used at %s: %s", path.c_str(), shown(type, problem).c_str());
    return Error::InvalidArgument;
  }

  xgrammar::TokenizerInfo info_;
  GrammarTime most_;
  std::deque<Kept> kept_;  // the last one first
};

}  // namespace

Result<std::unique_ptr<GrammarEngine>> GrammarEngine::create(const std::vector<std::string>& vocabulary,
                                                             const std::vector<int32_t>& stop_tokens,
                                                             GrammarTime most) {
  std::unique_ptr<GrammarEngine> made;
  ET_CHECK_OK_OR_RETURN_ERROR(guarded("the vocabulary", [&] {
    xgrammar::SetMaxRecursionDepth(kMaxRecursion);
    made = std::make_unique<XGrammarEngine>(
        xgrammar::TokenizerInfo(vocabulary, xgrammar::VocabType::RAW, static_cast<int>(vocabulary.size()), stop_tokens),
        most);
  }));
  return made;
}

}  // namespace internal
}  // namespace llm
}  // namespace extension
}  // namespace executorch

namespace xgrammar {

void LogFatalImpl(const std::string&, int, const std::string& message) {
  throw executorch::extension::llm::internal::Failure(message);
}

void LogMessageImpl(const std::string&, int, int level, const std::string& message) {
  namespace internal = executorch::extension::llm::internal;
  if (level == internal::kWarning && internal::warnings != nullptr) {
    *internal::warnings += (internal::warnings->empty() ? "" : "; ") + message;
  }
}

}  // namespace xgrammar
