// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include <pytorch/tokenizers/error.h>

#include "work.h"

namespace tokenizers::detail {

/// The dialect of an expression: Oniguruma's `^` and `$` are the ends of lines.
enum class RegexSyntax { kOniguruma, kRust };

/// A compiled expression, matched by PCRE2. Time is charged: a match reads no more of the text than it needs, and each
/// byte counts as often as it is read. Any number of threads may use it.
class Regex {
 public:
  /// The cost of a match in addition to the bytes that are read.
  static constexpr uint64_t kStepsOfMatch = 16;

  Regex();
  ~Regex();
  Regex(Regex&&) noexcept;
  Regex& operator=(Regex&&) noexcept;

  /// Error::RegexFailure contains the position of the error and its reason. The memory of the compiled
  /// expression is charged to `work`.
  Error compile(std::string_view pattern, RegexSyntax syntax, Work& work);

  /// Calls `found(begin, end)`, which returns an Error, for every match from left to right in a valid UTF-8 text, until
  /// a call fails. Empty matches count, except directly after the last match. Error::RegexFailure if a match takes more
  /// steps than the limit, and an error of `work` if all matches together exceed the limit of the text.
  template <typename Found>
  Error for_each(std::string_view text, Work& work, const Found& found) const {
    Matches matches(*this, text, work);
    size_t begin = 0, end = 0;
    while (matches.next(begin, end)) {
      TK_CHECK_OK_OR_RETURN_ERROR(found(begin, end));
    }
    return matches.error();
  }

 private:
  struct Code;
  class Matches {
   public:
    Matches(const Regex& regex, std::string_view text, Work& work);
    ~Matches();
    Matches(const Matches&) = delete;
    Matches& operator=(const Matches&) = delete;
    bool next(size_t& begin, size_t& end);
    Error error() const { return error_; }

   private:
    /// PCRE2's result of the next match from at_ on.
    int match();
    /// Like the function above, for a match that begins at `from`.
    int match_at(size_t from);
    /// Like the function above, for the text up to `end` and, unless `context` says otherwise, a match that begins at
    /// or after `from`.
    int match_in(size_t from, size_t end, void* context);
    size_t window_end(size_t from, size_t size) const;
    /// Charges this number of tries of the expression, and of bytes that were read.
    bool charge(size_t tries, size_t bytes);

    const Code& code_;
    std::string_view text_;
    Work& work_;
    void* data_;
    void* one_ = nullptr;  // the context of match_at(), made when it is needed
    size_t at_ = 0;
    size_t last_end_ = static_cast<size_t>(-1);
    Error error_ = Error::Ok;
  };

  std::unique_ptr<Code> code_;
};

/// An expression that matches `text` and nothing else.
std::string quoted_pattern(std::string_view text);

}  // namespace tokenizers::detail
