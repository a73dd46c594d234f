// SPDX-License-Identifier: BSD-3-Clause
#include "regex.h"

#include <algorithm>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "failure.h"
#include "utf8.h"

namespace tokenizers::detail {
namespace {

/// PCRE2 reports only that a match took more steps than a limit, and does not count repeats of one character. So an
/// expression is first matched on a window of the text, with few steps for each start of a match. If PCRE2 reports that
/// this was not enough, the same start gets a larger window or the next limit, and both attempts are charged. The
/// expressions of tokenizers need a few steps for a word.
constexpr size_t kWindow = 128;
constexpr uint32_t kStepLimits[] = {64, 1'000, 64'000, 4'000'000};

/// The cost of trying an expression of `size` characters. The machine code of a long expression does not fit into
/// caches, and each choice (alternative or repetition) is tried separately.
constexpr uint64_t steps_of_try(size_t size, size_t choices) {
  return 1 + size / 32 + (size / 512) * (size / 512) + 5 * choices;
}
/// The cost of a byte that a match reads, possibly for several parts of the expression.
constexpr uint64_t steps_of_byte(size_t size) {
  return 1 + size / 128;
}
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
  std::string message = reinterpret_cast<const char*>(text);
  if (code == PCRE2_ERROR_PATTERN_TOO_LARGE) {
    message += "; expected at most 64 KiB when it is compiled, which writes {2,9} out";
  } else if (code == PCRE2_ERROR_PARENTHESES_NEST_TOO_DEEP) {
    message += "; expected at most " + std::to_string(kDeepestNesting);
  }
  return message;
}

struct Translated {
  std::string pattern;
  bool has_line_start = false;    // ^ outside of a class
  bool has_search_start = false;  // \G
  bool has_set = false;           // a class in a class, or an intersection
  size_t choices = 0;             // | ? * { outside of classes
};

/// The expression with \s as both syntaxes define it: PCRE2's includes U+180E, which is not a space since Unicode 6.3.
Translated translate(std::string_view pattern) {
  Translated result;
  std::string& out = result.pattern;
  size_t depth = 0;  // nesting depth of character classes
  for (size_t i = 0; i < pattern.size(); i++) {
    const std::string_view rest = pattern.substr(i);
    size_t count = 1;  // bytes that are copied
    if (rest.substr(0, 2) == "\\s" || rest.substr(0, 2) == "\\S") {
      out += rest[1] == 's' ? "\\p{White_Space}" : "\\P{White_Space}";
      i++;
      continue;
    }
    if (rest[0] == '\\') {
      count = 2;
      result.has_search_start |= rest.substr(0, 2) == "\\G";
    } else if (depth > 0 && rest.substr(0, 2) == "[:") {
      count = rest.find(":]") == std::string_view::npos ? 1 : rest.find(":]") + 2;
    } else if (rest[0] == '[') {
      result.has_set |= depth > 0;
      depth++;
      // A ] that comes first is a character.
      count += rest.substr(count, 1) == "^" ? 1 : 0;
      count += rest.substr(count, 1) == "]" ? 1 : 0;
    } else if (depth > 0) {
      depth -= rest[0] == ']' ? 1 : 0;
      result.has_set |= rest.substr(0, 2) == "&&";
    } else {
      result.has_line_start |= rest[0] == '^';
      result.choices += std::string_view("|?*{").find(rest[0]) != std::string_view::npos ? 1 : 0;
    }
    out += rest.substr(0, count);
    i += count - 1;
  }
  return result;
}

}  // namespace

struct Regex::Code {
  pcre2_code* code = nullptr;
  pcre2_match_context* context = nullptr;  // with the first of kStepLimits
  bool compiled_to_machine_code = false;
  bool has_line_start = false;
  uint64_t steps_of_try = 1;
  uint64_t steps_of_byte = 1;
  std::string pattern;

  Code() = default;
  Code(const Code&) = delete;
  Code& operator=(const Code&) = delete;
  ~Code() {
    pcre2_match_context_free(context);
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
  uint32_t options = PCRE2_UTF | PCRE2_UCP | PCRE2_NEVER_BACKSLASH_C | PCRE2_USE_OFFSET_LIMIT;
  options |= syntax == RegexSyntax::kOniguruma ? PCRE2_MULTILINE : PCRE2_DOLLAR_ENDONLY;
  const Translated translated = translate(pattern);
  if (translated.has_set) {
    options |= PCRE2_ALT_EXTENDED_CLASS;  // both syntaxes support them
  }
  if (translated.has_search_start) {
    return fail(Error::RegexFailure, "the regular expression %.200s has \\G, which is not supported",
                made->pattern.c_str());
  }
  made->has_line_start = translated.has_line_start;
  made->steps_of_try = steps_of_try(pattern.size(), translated.choices);
  made->steps_of_byte = steps_of_byte(pattern.size());
  TK_CHECK_OK_OR_RETURN_ERROR(work.take(kLargestCode));
  const std::unique_ptr<pcre2_compile_context, decltype(&pcre2_compile_context_free)> limits(
      pcre2_compile_context_create(nullptr), &pcre2_compile_context_free);
  if (limits == nullptr) {
    return fail(Error::OutOfMemory, "no memory for a regular expression");
  }
  pcre2_set_parens_nest_limit(limits.get(), kDeepestNesting);
  int error = 0;
  PCRE2_SIZE offset = 0;
  made->code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(translated.pattern.data()), translated.pattern.size(),
                             options, &error, &offset, limits.get());
  if (made->code == nullptr) {
    return fail(Error::RegexFailure, "the regular expression %.200s is wrong at byte %zu: %s", made->pattern.c_str(),
                static_cast<size_t>(offset), pcre2_message(error).c_str());
  }
  made->context = pcre2_match_context_create(nullptr);
  if (made->context == nullptr) {
    return fail(Error::OutOfMemory, "no memory for a regular expression");
  }
  pcre2_set_match_limit(made->context, kStepLimits[0]);
  pcre2_set_heap_limit(made->context, kHeapLimit);
  // A system may forbid machine code that is made at run time: then the expression is interpreted.
  made->compiled_to_machine_code = pcre2_jit_compile(made->code, PCRE2_JIT_COMPLETE | PCRE2_JIT_PARTIAL_HARD) == 0;
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
  pcre2_match_context_free(static_cast<pcre2_match_context*>(one_));
  pcre2_match_data_free(static_cast<pcre2_match_data*>(data_));
}

bool Regex::Matches::charge(size_t tries, size_t bytes) {
  error_ = work_.steps(tries * code_.steps_of_try + bytes * code_.steps_of_byte);
  return error_ == Error::Ok;
}

size_t Regex::Matches::window_end(size_t from, size_t size) const {
  if (size >= text_.size() - from) {
    return text_.size();
  }
  size_t end = from + size;
  // PCRE2 does not report that ^ depends on the following text: it matches after a line feed, but not at the end of the
  // text.
  const auto is_inside = [&] {
    return is_continuation(text_[end]) || (code_.has_line_start && text_[end - 1] == '\n');
  };
  while (end < text_.size() && is_inside()) {
    end++;
  }
  return end;
}

int Regex::Matches::match_in(size_t from, size_t end, void* context) {
  auto* data = static_cast<pcre2_match_data*>(data_);
  auto* limits = static_cast<pcre2_match_context*>(context);
  const auto* subject = reinterpret_cast<PCRE2_SPTR>(text_.data());
  // With this option, a match that depends on the text after the window gives PCRE2_ERROR_PARTIAL.
  const uint32_t options = end < text_.size() ? PCRE2_PARTIAL_HARD : 0;
  int status = PCRE2_ERROR_JIT_STACKLIMIT;
  if (code_.compiled_to_machine_code) {
    status = pcre2_jit_match(code_.code, subject, end, from, options, data, limits);
  }
  if (status == PCRE2_ERROR_JIT_STACKLIMIT) {
    status = pcre2_match(code_.code, subject, end, from, options | PCRE2_NO_UTF_CHECK | PCRE2_NO_JIT, data, limits);
  }
  return status;
}

int Regex::Matches::match_at(size_t from) {
  if (one_ == nullptr) {
    one_ = pcre2_match_context_copy(code_.context);
    if (one_ == nullptr) {
      return PCRE2_ERROR_NOMEMORY;
    }
  }
  auto* limits = static_cast<pcre2_match_context*>(one_);
  pcre2_set_offset_limit(limits, from);
  int status = PCRE2_ERROR_PARTIAL;
  for (size_t size = kWindow; status == PCRE2_ERROR_PARTIAL; size *= 2) {
    const size_t end = window_end(from, size);
    status = PCRE2_ERROR_MATCHLIMIT;
    for (const uint32_t most : kStepLimits) {
      if (status != PCRE2_ERROR_MATCHLIMIT) {
        break;
      }
      // The steps include the cost of a short window.
      if (!charge(1, end - from > kWindow ? end - from : 0)) {
        return PCRE2_ERROR_MATCHLIMIT;
      }
      error_ = work_.steps(most);
      if (error_ != Error::Ok) {
        return PCRE2_ERROR_MATCHLIMIT;
      }
      pcre2_set_match_limit(limits, most);
      status = match_in(from, end, limits);
    }
  }
  return status;
}

int Regex::Matches::match() {
  const PCRE2_SIZE* found = pcre2_get_ovector_pointer(static_cast<pcre2_match_data*>(data_));
  size_t from = at_;
  size_t alone_until = from;  // up to here, each start of a match is tried separately
  while (true) {
    if (from < alone_until) {
      const int status = match_at(from);
      if (status != PCRE2_ERROR_NOMATCH || from == text_.size()) {
        return status;
      }
      next_character(text_, from);
      continue;
    }
    const size_t end = window_end(from, kWindow);
    const int status = match_in(from, end, code_.context);
    const bool last = end == text_.size();
    size_t seen = end;  // no match begins before this offset
    if (status >= 0 && (found[0] < end || last)) {
      const bool in_order = from <= found[0] && found[0] <= found[1];  // else next() refuses the match
      return !in_order || charge(1 + found[0] - from, found[1] - found[0]) ? status : PCRE2_ERROR_MATCHLIMIT;
    }
    if (status == PCRE2_ERROR_PARTIAL) {
      seen = std::max(from, found[0]);
      alone_until = seen + 1;
    } else if (status == PCRE2_ERROR_MATCHLIMIT) {
      seen = from;
      alone_until = end + 1;
    } else if (status < 0 && (status != PCRE2_ERROR_NOMATCH || last)) {
      return charge(1 + end - from, 0) ? status : PCRE2_ERROR_MATCHLIMIT;
    }
    if (!charge(1 + seen - from, 0)) {
      return PCRE2_ERROR_MATCHLIMIT;
    }
    from = seen;
  }
}

bool Regex::Matches::next(size_t& begin, size_t& end) {
  auto* data = static_cast<pcre2_match_data*>(data_);
  while (error_ == Error::Ok && at_ <= text_.size()) {
    error_ = work_.steps(kStepsOfMatch);
    const int status = error_ == Error::Ok ? match() : PCRE2_ERROR_NOMATCH;
    if (error_ != Error::Ok || status == PCRE2_ERROR_NOMATCH) {
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
