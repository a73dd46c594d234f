// SPDX-License-Identifier: BSD-3-Clause
#include "regex.h"

#include <array>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "failure.h"
#include "utf8.h"

namespace tokenizers::detail {
namespace {

/// PCRE2 does not tell how many steps a match took, only that they were more than a limit. So each match begins with
/// the first of these limits, and goes on with the next one where that is not enough. The expressions of tokenizers
/// need a few steps for a word, and one for each space of a run of spaces.
constexpr uint32_t kStepLimits[] = {1'000, 64'000, 4'000'000};
constexpr size_t kLimits = sizeof(kStepLimits) / sizeof(kStepLimits[0]);
/// KiB of heap for one match without the just-in-time compiler.
constexpr uint32_t kHeapLimit = 1U << 14;
/// Parentheses inside of each other: PCRE2 compiles them recursively, also on the small stack of a thread.
constexpr uint32_t kDeepestNesting = 64;
/// The most memory that compiling an expression of 64 KiB takes, the longest that PCRE2 compiles.
constexpr uint64_t kLargestCode = 1U << 20;
constexpr size_t kLongestPattern = 1U << 16;

std::string pcre2_message(int code) {
  PCRE2_UCHAR text[256];
  if (pcre2_get_error_message(code, text, sizeof(text)) < 0) {
    return "error " + std::to_string(code);
  }
  return reinterpret_cast<const char*>(text);
}

/// The expression with \\s as both syntaxes define it: PCRE2's has U+180E, which has been no space since Unicode 6.3.
std::string with_spaces_of_unicode(std::string_view pattern) {
  std::string out;
  for (size_t i = 0; i < pattern.size(); i++) {
    const char escaped = pattern[i] == '\\' && i + 1 < pattern.size() ? pattern[i + 1] : '\0';
    if (escaped == 's' || escaped == 'S') {
      out += escaped == 's' ? "\\p{White_Space}" : "\\P{White_Space}";
      i++;
    } else {
      out += pattern[i];
      if (escaped != '\0') {
        out += pattern[++i];
      }
    }
  }
  return out;
}

}  // namespace

struct Regex::Code {
  pcre2_code* code = nullptr;
  std::array<pcre2_match_context*, kLimits> contexts{};  // with the limits of kStepLimits
  bool compiled_to_machine_code = false;
  std::string pattern;

  Code() = default;
  Code(const Code&) = delete;
  Code& operator=(const Code&) = delete;
  ~Code() {
    for (pcre2_match_context* context : contexts) {
      pcre2_match_context_free(context);
    }
    pcre2_code_free(code);
  }
};

Regex::Regex() = default;
Regex::~Regex() = default;
Regex::Regex(Regex&&) noexcept = default;
Regex& Regex::operator=(Regex&&) noexcept = default;

Error Regex::compile(std::string_view pattern, RegexSyntax syntax, Work& work) {
  auto made = std::make_unique<Code>();
  made->pattern = pattern;
  if (pattern.size() > kLongestPattern) {
    return fail(Error::RegexFailure, "a regular expression has %zu bytes, at most %zu are supported", pattern.size(),
                kLongestPattern);
  }
  uint32_t options = PCRE2_UTF | PCRE2_UCP | PCRE2_NEVER_BACKSLASH_C;
  options |= syntax == RegexSyntax::kOniguruma ? PCRE2_MULTILINE : PCRE2_DOLLAR_ENDONLY;
  if (pattern.find("&&") != std::string_view::npos) {
    options |= PCRE2_ALT_EXTENDED_CLASS;  // intersections of classes, which both syntaxes have
  }
  const std::string translated = with_spaces_of_unicode(pattern);
  TK_CHECK_OK_OR_RETURN_ERROR(work.take(kLargestCode));
  const std::unique_ptr<pcre2_compile_context, decltype(&pcre2_compile_context_free)> limits(
      pcre2_compile_context_create(nullptr), &pcre2_compile_context_free);
  if (limits == nullptr) {
    return fail(Error::OutOfMemory, "no memory for a regular expression");
  }
  pcre2_set_parens_nest_limit(limits.get(), kDeepestNesting);
  int error = 0;
  PCRE2_SIZE offset = 0;
  made->code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(translated.data()), translated.size(), options, &error,
                             &offset, limits.get());
  if (made->code == nullptr) {
    return fail(Error::RegexFailure, "the regular expression %.200s is wrong at byte %zu: %s", made->pattern.c_str(),
                static_cast<size_t>(offset), pcre2_message(error).c_str());
  }
  for (size_t i = 0; i < kLimits; i++) {
    made->contexts[i] = pcre2_match_context_create(nullptr);
    if (made->contexts[i] == nullptr) {
      return fail(Error::OutOfMemory, "no memory for a regular expression");
    }
    pcre2_set_match_limit(made->contexts[i], kStepLimits[i]);
    pcre2_set_heap_limit(made->contexts[i], kHeapLimit);
  }
  // A system may forbid machine code that is made at run time: then the expression is interpreted.
  made->compiled_to_machine_code = pcre2_jit_compile(made->code, PCRE2_JIT_COMPLETE) == 0;
  size_t size = 0, machine_code = 0;
  pcre2_pattern_info(made->code, PCRE2_INFO_SIZE, &size);
  pcre2_pattern_info(made->code, PCRE2_INFO_JITSIZE, &machine_code);
  code_ = std::move(made);
  work.give_back(kLargestCode);
  return work.take(size + machine_code);
}

Regex::Matches::Matches(const Regex& regex, std::string_view text, Work& work)
    : code_(*regex.code_),
      text_(text),
      work_(work),
      data_(pcre2_match_data_create_from_pattern(regex.code_->code, nullptr)) {
  if (data_ == nullptr) {
    error_ = fail(Error::OutOfMemory, "no memory to match a regular expression");
  }
}

Regex::Matches::~Matches() {
  pcre2_match_data_free(static_cast<pcre2_match_data*>(data_));
}

int Regex::Matches::match() {
  auto* data = static_cast<pcre2_match_data*>(data_);
  const auto* subject = reinterpret_cast<PCRE2_SPTR>(text_.data());
  int status = PCRE2_ERROR_MATCHLIMIT;
  for (size_t i = 0; i < kLimits && status == PCRE2_ERROR_MATCHLIMIT; i++) {
    error_ = work_.steps(i == 0 ? 1 : kStepLimits[i]);
    if (error_ != Error::Ok) {
      break;
    }
    status = PCRE2_ERROR_JIT_STACKLIMIT;
    if (code_.compiled_to_machine_code) {
      status = pcre2_jit_match(code_.code, subject, text_.size(), at_, 0, data, code_.contexts[i]);
    }
    if (status == PCRE2_ERROR_JIT_STACKLIMIT) {
      status = pcre2_match(code_.code, subject, text_.size(), at_, PCRE2_NO_UTF_CHECK | PCRE2_NO_JIT, data,
                           code_.contexts[i]);
    }
  }
  return status;
}

bool Regex::Matches::next(size_t& begin, size_t& end) {
  auto* data = static_cast<pcre2_match_data*>(data_);
  while (error_ == Error::Ok && at_ <= text_.size()) {
    const int status = match();
    if (status == PCRE2_ERROR_NOMATCH || error_ != Error::Ok) {
      return false;
    }
    if (status < 0) {
      error_ = fail(Error::RegexFailure, "matching the regular expression %.200s from byte %zu failed: %s",
                    code_.pattern.c_str(), at_, pcre2_message(status).c_str());
      return false;
    }
    const PCRE2_SIZE* ends = pcre2_get_ovector_pointer(data);
    begin = ends[0];
    end = ends[1];
    if (begin > end || begin < at_) {
      error_ = fail(Error::RegexFailure,
                    "the regular expression %.200s moves the start of a match (\\K), which is not supported",
                    code_.pattern.c_str());
      return false;
    }
    const bool repeated = begin == end && begin == last_end_;
    last_end_ = end;
    at_ = end;
    if (begin == end) {
      if (at_ == text_.size()) {
        at_++;
      } else {
        next_character(text_, at_);
      }
    }
    if (!repeated) {
      return true;
    }
  }
  return false;
}

std::string quoted_pattern(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x80 && !(c >= '0' && c <= '9') && !(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z')) {
      static const char* const digits = "0123456789abcdef";
      out += "\\x";
      out += digits[byte >> 4];
      out += digits[byte & 15];
    } else {
      out += c;
    }
  }
  return out;
}

}  // namespace tokenizers::detail
