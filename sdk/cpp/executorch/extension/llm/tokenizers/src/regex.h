// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include <pytorch/tokenizers/error.h>

namespace tokenizers::detail {

/// Whose syntax an expression is in, where they differ: Oniguruma's `^` and `$` are the ends of lines.
enum class RegexSyntax { kOniguruma, kRust };

/// A compiled expression, matched by PCRE2 with a limit on the steps of one match. Any number of threads may use it.
class Regex {
 public:
  Regex();
  ~Regex();
  Regex(Regex&&) noexcept;
  Regex& operator=(Regex&&) noexcept;

  /// Error::RegexFailure names the place in the expression and what is wrong with it.
  Error compile(std::string_view pattern, RegexSyntax syntax);

  /// Calls `found(begin, end)` for every match from left to right in a valid UTF-8 text; an empty match too, but not
  /// directly behind the last match. Error::RegexFailure if a match takes more steps than the limit.
  template <typename Found>
  Error for_each(std::string_view text, Found&& found) const {
    Matches matches(*this, text);
    size_t begin = 0, end = 0;
    while (matches.next(begin, end)) {
      found(begin, end);
    }
    return matches.error();
  }

 private:
  struct Code;
  class Matches {
   public:
    Matches(const Regex& regex, std::string_view text);
    ~Matches();
    Matches(const Matches&) = delete;
    Matches& operator=(const Matches&) = delete;
    bool next(size_t& begin, size_t& end);
    Error error() const { return error_; }

   private:
    const Code& code_;
    std::string_view text_;
    void* data_;
    size_t at_ = 0;
    size_t last_end_ = static_cast<size_t>(-1);
    Error error_ = Error::Ok;
  };

  std::unique_ptr<Code> code_;
};

/// An expression that matches `text` and nothing else.
std::string quoted_pattern(std::string_view text);

}  // namespace tokenizers::detail
