// SPDX-License-Identifier: BSD-3-Clause
#include "lexer.h"

#include <algorithm>

#include "characters.h"
#include "string_literal.h"
#include "work.h"

namespace executorch {
namespace extension {
namespace llm {
namespace jinja {
namespace {

using TokenKind = Token::Kind;

/// Converts line ends to \n, and removes one at the end of the template.
std::string with_newlines(const std::string& source) {
  std::string all;
  all.reserve(source.size());
  for (size_t i = 0; i < source.size(); i++) {
    if (source[i] == '\r') {
      i += i + 1 < source.size() && source[i + 1] == '\n' ? 1 : 0;
      all += '\n';
    } else {
      all += source[i];
    }
  }
  if (!all.empty() && all.back() == '\n') {
    all.pop_back();
  }
  return all;
}

bool is_ascii_digit(char c) {
  return c >= '0' && c <= '9';
}

class Lexer final {
 public:
  Lexer(const std::string& source, Work& work) : work_(work), source_(with_newlines(source)) {}

  std::vector<Token> run() {
    while (at_ < source_.size() && !work_.failed()) {
      const size_t open = next_tag();
      if (open >= source_.size()) {
        add_text(at_, source_.size());
        move_to(source_.size());
        break;
      }
      const size_t begin = at_;
      const char sign = sign_after(open);
      const size_t raw = source_[open + 1] == '%' ? end_of_tag(open, sign, "raw", false) : std::string::npos;
      add_text(begin, stripped_end(begin, open, source_[open + 1] == '{' ? '+' : '\0', sign));
      move_to(open);
      raw != std::string::npos ? raw_block(raw) : tag(sign);
    }
    add(TokenKind::kEnd, "");
    return std::move(tokens_);
  }

 private:
  char peek(size_t ahead = 0) const { return at_ + ahead < source_.size() ? source_[at_ + ahead] : '\0'; }
  bool sees(size_t at, std::string_view text) const { return source_.compare(at, text.size(), text) == 0; }

  void move_to(size_t end) {
    for (; at_ < end; at_++) {
      position_.column = source_[at_] == '\n' ? 1 : position_.column + 1;
      position_.line += source_[at_] == '\n' ? 1 : 0;
    }
  }
  void add(TokenKind kind, std::string text, int base = 10) { add_at(kind, std::move(text), position_, base); }
  void add_at(TokenKind kind, std::string text, Position at, int base = 10) {
    work_.at(at);
    if (work_.take(2 * sizeof(Token) + text.size())) {
      tokens_.push_back({kind, std::move(text), at, base});
    }
  }
  void fail(Position at, std::string message) {
    work_.at(at);
    work_.fail(std::move(message));
  }

  size_t next_tag() const {
    for (size_t i = at_; (i = source_.find('{', i)) != std::string::npos; i++) {
      const char next = i + 1 < source_.size() ? source_[i + 1] : '\0';
      if (next == '{' || next == '%' || next == '#') {
        return i;
      }
    }
    return source_.size();
  }

  /// The sign '-' or '+' after the two characters that open a tag.
  char sign_after(size_t open) const {
    const char c = open + 2 < source_.size() ? source_[open + 2] : '\0';
    return c == '-' || c == '+' ? c : '\0';
  }

  size_t skip_space(size_t at) const {
    while (at < source_.size()) {
      size_t next = at;
      if (!is_space(next_character(source_, next))) {
        break;
      }
      at = next;
    }
    return at;
  }

  /// The end of the text before a tag. `keeps` is '+' for outputs: nothing is removed before them.
  size_t stripped_end(size_t begin, size_t end, char keeps, char sign) const {
    const std::string_view text = std::string_view(source_).substr(begin, end - begin);
    if (sign == '-') {
      return begin + stripped(text, nullptr, false, true).size();
    }
    if (sign == '+' || keeps == '+') {
      return end;
    }
    const size_t newline = text.rfind('\n');
    const size_t line = newline == std::string_view::npos ? 0 : newline + 1;
    const bool only_space = stripped(text.substr(line), nullptr, true, true).empty();
    return (line > 0 || line_starts_) && only_space ? begin + line : end;
  }

  void add_text(size_t begin, size_t end) {
    if (begin < end) {
      add(TokenKind::kText, source_.substr(begin, end - begin));
    }
  }

  /// The position after the tag `word` that opens at `open`; npos if it is another tag. `ends` tells that the tag
  /// closes a block, after which a newline is removed.
  size_t end_of_tag(size_t open, char sign, std::string_view word, bool ends) const {
    size_t at = skip_space(open + (sign != '\0' ? 3 : 2));
    if (!sees(at, word)) {
      return std::string::npos;
    }
    at = skip_space(at + word.size());
    if (sees(at, "-%}")) {
      return skip_space(at + 3);
    }
    if (ends && sees(at, "+%}")) {
      return at + 3;
    }
    if (!sees(at, "%}")) {
      return std::string::npos;
    }
    return at + 2 + (ends && at + 2 < source_.size() && source_[at + 2] == '\n' ? 1 : 0);
  }

  /// Text up to {% endraw %}.
  void raw_block(size_t begin) {
    const Position start = position_;
    line_starts_ = source_[begin - 1] == '\n';
    for (size_t i = begin; (i = source_.find("{%", i)) != std::string::npos; i++) {
      const char sign = sign_after(i);
      const size_t end = end_of_tag(i, sign, "endraw", true);
      if (end != std::string::npos) {
        move_to(begin);
        add_text(begin, stripped_end(begin, i, '\0', sign));
        move_to(end);
        line_starts_ = source_[end - 1] == '\n';
        return;
      }
    }
    fail(start, "this raw block has no end: expected {% endraw %}");
  }

  void tag(char sign) {
    const Position start = position_;
    const char type = peek(1);
    move_to(at_ + 2 + (sign != '\0' ? 1 : 0));
    if (type == '#') {
      return comment(start);
    }
    add_at(type == '%' ? TokenKind::kBlockBegin : TokenKind::kOutputBegin, "", start);
    inside(type == '%' ? '%' : '}', start);
  }

  void comment(const Position& start) {
    const size_t end = source_.find("#}", at_);
    if (end == std::string::npos) {
      return fail(start, "this comment has no end: expected #}");
    }
    const char sign = end > at_ ? source_[end - 1] : '\0';
    close(end + 2, sign, true);
  }

  /// Moves to the position after the end of a tag and after the white space that is removed there.
  void close(size_t end, char sign, bool trims) {
    if (sign == '-') {
      end = skip_space(end);
    } else if (sign != '+' && trims && end < source_.size() && source_[end] == '\n') {
      end++;
    }
    line_starts_ = source_[end - 1] == '\n';
    move_to(end);
  }

  /// Tokens up to the end of a tag.
  void inside(char closing, const Position& start) {
    std::string open;  // the brackets that are open
    while (!work_.failed()) {
      move_to(skip_space(at_));
      if (at_ >= source_.size()) {
        return fail(start, closing == '%' ? "this tag has no end: expected %}" : "this output has no end: expected }}");
      }
      const bool may_sign = peek() == '-' || (peek() == '+' && closing == '%');
      const size_t sign = open.empty() && may_sign ? 1 : 0;
      if (open.empty() && peek(sign) == closing && peek(sign + 1) == '}') {
        add(closing == '%' ? TokenKind::kBlockEnd : TokenKind::kOutputEnd, "");
        return close(at_ + sign + 2, sign == 1 ? peek() : '\0', closing == '%');
      }
      one_token(open);
    }
  }

  void one_token(std::string& open) {
    const char c = peek();
    if (is_ascii_digit(c)) {
      return number();
    }
    if (c == '"' || c == '\'') {
      return string(c);
    }
    size_t end = at_;
    while (end < source_.size()) {
      size_t next = end;
      if (!is_identifier(next_character(source_, next), end == at_)) {
        break;
      }
      end = next;
    }
    if (end > at_) {
      add(TokenKind::kName, source_.substr(at_, end - at_));
      return move_to(end);
    }
    for (const char* const symbol : {"==", "!=", "<=", ">=", "//", "**"}) {
      if (sees(at_, symbol)) {
        add(TokenKind::kSymbol, symbol);
        return move_to(at_ + 2);
      }
    }
    if (std::string_view("+-*/%~<>=()[]{}.,:|;").find(c) == std::string_view::npos) {
      size_t next = at_;
      next_character(source_, next);
      return fail(position_, "unexpected character '" + source_.substr(at_, next - at_) + "'");
    }
    balance(c, open);
    add(TokenKind::kSymbol, std::string(1, c));
    move_to(at_ + 1);
  }

  void balance(char c, std::string& open) {
    if (c == '(' || c == '[' || c == '{') {
      open += c == '(' ? ')' : c == '[' ? ']' : '}';
    } else if (c == ')' || c == ']' || c == '}') {
      if (open.empty() || open.back() != c) {
        return fail(position_, std::string("unexpected '") + c + "'" +
                                   (open.empty() ? "" : std::string(", expected '") + open.back() + "'"));
      }
      open.pop_back();
    }
  }

  /// Digits with single underscores between them, from `at`.
  template <typename IsDigit>
  size_t digits(size_t at, IsDigit is_digit) const {
    const auto c = [this](size_t i) { return i < source_.size() ? source_[i] : '\0'; };
    while (is_digit(c(at)) || (c(at) == '_' && is_digit(c(at + 1)))) {
      at++;
    }
    return at;
  }

  void number() {
    const auto c = [this](size_t i) { return i < source_.size() ? source_[i] : '\0'; };
    const char letter = static_cast<char>(c(at_ + 1) | 0x20);
    const int base = c(at_) != '0' ? 10 : letter == 'x' ? 16 : letter == 'o' ? 8 : letter == 'b' ? 2 : 10;
    const auto in_base = [base](char digit) {
      const char low = static_cast<char>(digit | 0x20);
      const int value = is_ascii_digit(digit) ? digit - '0' : low >= 'a' && low <= 'f' ? low - 'a' + 10 : 99;
      return value < base;
    };
    size_t begin = at_ + (base == 10 ? 0 : 2);
    size_t end = digits(begin, in_base);
    bool is_real = false;
    const bool after_dot = at_ > 0 && source_[at_ - 1] == '.';
    if (base == 10 && !after_dot && c(end) == '.' && is_ascii_digit(c(end + 1))) {
      is_real = true;
      end = digits(end + 1, is_ascii_digit);
    }
    const size_t exponent = end + (c(end + 1) == '-' || c(end + 1) == '+' ? 2 : 1);
    if (base == 10 && !after_dot && (c(end) | 0x20) == 'e' && is_ascii_digit(c(exponent))) {
      is_real = true;
      end = digits(exponent, is_ascii_digit);
    }
    std::string text = source_.substr(begin, end - begin);
    text.erase(std::remove(text.begin(), text.end(), '_'), text.end());
    add(is_real ? TokenKind::kFloat : TokenKind::kInt, std::move(text), base);
    move_to(std::max(end, at_ + 1));
  }

  void string(char quote) {
    size_t end = at_ + 1;
    while (end < source_.size() && source_[end] != quote) {
      end += source_[end] == '\\' ? 2 : 1;
    }
    if (end >= source_.size()) {
      return fail(position_, "this string has no end");
    }
    std::string text;
    std::string message;
    if (!unescape(std::string_view(source_).substr(at_ + 1, end - at_ - 1), text, message)) {
      return fail(position_, message);
    }
    add(TokenKind::kString, std::move(text));
    move_to(end + 1);
  }

  Work& work_;
  std::string source_;
  std::vector<Token> tokens_;
  size_t at_ = 0;
  Position position_;
  bool line_starts_ = true;  // the last tag, with the white space that is removed after it, ended a line
};

}  // namespace

std::vector<Token> tokenize(const std::string& source, Work& work) {
  return Lexer(source, work).run();
}

}  // namespace jinja
}  // namespace llm
}  // namespace extension
}  // namespace executorch
