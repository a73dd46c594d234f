// SPDX-License-Identifier: BSD-3-Clause
#include "lexer.h"

#include <algorithm>
#include <cctype>

namespace executorch {
namespace extension {
namespace llm {
namespace jinja {
namespace {

using Kind = Token::Kind;

bool is_space(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_name(char c) {
  return c == '_' || std::isalnum(static_cast<unsigned char>(c)) != 0 || (static_cast<unsigned char>(c) & 0x80U) != 0;
}

void append_utf8(std::string& text, unsigned code) {
  if (code < 0x80) {
    text += static_cast<char>(code);
  } else if (code < 0x800) {
    text += static_cast<char>(0xC0U | (code >> 6U));
    text += static_cast<char>(0x80U | (code & 0x3FU));
  } else {
    text += static_cast<char>(0xE0U | (code >> 12U));
    text += static_cast<char>(0x80U | ((code >> 6U) & 0x3FU));
    text += static_cast<char>(0x80U | (code & 0x3FU));
  }
}

class Lexer final {
 public:
  Lexer(std::string source, Problem& problem) : problem_(problem) {
    for (size_t i = 0; i < source.size(); i++) {  // every end of a line is \n, and the last one does not count
      if (source[i] == '\r') {
        source_ += '\n';
        i += i + 1 < source.size() && source[i + 1] == '\n' ? 1 : 0;
      } else {
        source_ += source[i];
      }
    }
    if (!source_.empty() && source_.back() == '\n') {
      source_.pop_back();
    }
  }

  std::vector<Token> run() {
    while (at_ < source_.size() && !problem_.is_set()) {
      const size_t open = next_tag();
      add_text(at_, open);
      move_to(open);
      if (open < source_.size()) {
        tag();
      }
    }
    add(Kind::kEnd, "");
    return std::move(tokens_);
  }

 private:
  char peek(size_t ahead = 0) const { return at_ + ahead < source_.size() ? source_[at_ + ahead] : '\0'; }
  bool sees(std::string_view text) const { return source_.compare(at_, text.size(), text) == 0; }

  void move_to(size_t end) {
    for (; at_ < end; at_++) {
      position_.column = source_[at_] == '\n' ? 1 : position_.column + 1;
      position_.line += source_[at_] == '\n' ? 1 : 0;
    }
  }
  void add(Kind kind, std::string text) { tokens_.push_back({kind, std::move(text), position_}); }
  void fail(std::string message) {
    if (!problem_.is_set()) {
      problem_ = {position_, std::move(message)};
    }
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

  /// The text between two tags, less what the tags remove.
  void add_text(size_t begin, size_t end) {
    if (strip_) {
      begin = static_cast<size_t>(std::find_if_not(source_.begin() + static_cast<std::ptrdiff_t>(begin),
                                                   source_.begin() + static_cast<std::ptrdiff_t>(end), is_space) -
                                  source_.begin());
    } else if (trim_ && begin < end && source_[begin] == '\n') {
      begin++;
    }
    if (end + 2 < source_.size() && source_[end + 2] == '-') {
      while (end > begin && is_space(source_[end - 1])) {
        end--;
      }
    } else if (end + 1 < source_.size() && source_[end + 1] != '{' &&
               source_[std::min(end + 2, source_.size() - 1)] != '+') {
      size_t start = end;
      while (start > begin && is_space(source_[start - 1]) && source_[start - 1] != '\n') {
        start--;
      }
      // Only from the beginning of a line; a tag before may be the beginning of the text.
      if (start == 0 || source_[start - 1] == '\n') {
        end = start;
      }
    }
    strip_ = trim_ = false;
    if (begin < end) {
      const Position here = position_;
      move_to(begin);
      add(Kind::kText, source_.substr(begin, end - begin));
      if (begin < at_) {
        position_ = here;
      }
    }
  }

  void tag() {
    const Position start = position_;
    const char type = peek(1);
    move_to(at_ + 2);
    if (peek() == '-' || (type != '{' && peek() == '+')) {
      move_to(at_ + 1);
    }
    if (type == '#') {
      const size_t end = source_.find("#}", at_);
      if (end == std::string::npos) {
        position_ = start;
        return fail("this comment has no end: expected #}");
      }
      strip_ = source_[end - 1] == '-';
      trim_ = source_[end - 1] != '+';
      return move_to(end + 2);
    }
    tokens_.push_back({type == '%' ? Kind::kBlockBegin : Kind::kOutputBegin, "", start});
    inside(type == '%' ? '%' : '}', start);
  }

  /// Tokens up to the end of a tag.
  void inside(char closing, const Position& start) {
    int braces = 0;
    while (!problem_.is_set()) {
      while (is_space(peek())) {
        move_to(at_ + 1);
      }
      if (at_ >= source_.size()) {
        position_ = start;
        return fail(closing == '%' ? "this tag has no end: expected %}" : "this output has no end: expected }}");
      }
      const size_t sign = braces == 0 && (peek() == '-' || peek() == '+') ? 1 : 0;
      if (braces == 0 && peek(sign) == closing && peek(sign + 1) == '}') {
        strip_ = sign == 1 && peek() == '-';
        trim_ = closing == '%' && sign == 0;
        add(closing == '%' ? Kind::kBlockEnd : Kind::kOutputEnd, "");
        return move_to(at_ + sign + 2);
      }
      braces += peek() == '{' ? 1 : peek() == '}' ? -1 : 0;
      one_token();
    }
  }

  void one_token() {
    const char c = peek();
    if (is_digit(c)) {
      return number();
    }
    if (c == '"' || c == '\'') {
      return string(c);
    }
    size_t end = at_;
    while (end < source_.size() && is_name(source_[end])) {
      end++;
    }
    if (end > at_) {
      add(Kind::kName, source_.substr(at_, end - at_));
      return move_to(end);
    }
    for (const char* const symbol : {"==", "!=", "<=", ">=", "//", "**"}) {
      if (sees(symbol)) {
        add(Kind::kSymbol, symbol);
        return move_to(at_ + 2);
      }
    }
    if (std::string_view("+-*/%~<>=()[]{}.,:|").find(c) == std::string_view::npos) {
      return fail(std::string("unexpected character '") + c + "'");
    }
    add(Kind::kSymbol, std::string(1, c));
    move_to(at_ + 1);
  }

  void number() {
    size_t end = at_;
    bool is_real = false;
    while (end < source_.size() && (is_digit(source_[end]) || source_[end] == '_')) {
      end++;
    }
    const auto at = [this](size_t i) { return i < source_.size() ? source_[i] : '\0'; };
    if (at(end) == '.' && is_digit(at(end + 1))) {
      is_real = true;
      for (end++; is_digit(at(end)); end++) {
      }
    }
    const size_t exponent = end + (at(end + 1) == '-' || at(end + 1) == '+' ? 2 : 1);
    if ((at(end) == 'e' || at(end) == 'E') && is_digit(at(exponent))) {
      is_real = true;
      for (end = exponent; is_digit(at(end)); end++) {
      }
    }
    std::string digits = source_.substr(at_, end - at_);
    digits.erase(std::remove(digits.begin(), digits.end(), '_'), digits.end());
    add(is_real ? Kind::kFloat : Kind::kInt, std::move(digits));
    move_to(end);
  }

  void string(char quote) {
    std::string text;
    size_t i = at_ + 1;
    for (; i < source_.size() && source_[i] != quote; i++) {
      if (source_[i] != '\\' || i + 1 >= source_.size()) {
        text += source_[i];
        continue;
      }
      const char c = source_[++i];
      const size_t digits = c == 'x' ? 2 : c == 'u' ? 4 : 0;
      const std::string hex = source_.substr(i + 1, digits);
      if (digits > 0 && hex.size() == digits &&
          std::all_of(hex.begin(), hex.end(), [](unsigned char digit) { return std::isxdigit(digit) != 0; })) {
        append_utf8(text, static_cast<unsigned>(std::stoul(hex, nullptr, 16)));
        i += digits;
      } else if (c == '\\' || c == '\'' || c == '"') {
        text += c;
      } else if (c != '\n') {
        const size_t found = std::string_view("ntrbfav0").find(c);
        text += found != std::string_view::npos ? std::string(1, "\n\t\r\b\f\a\v\0"[found]) : std::string("\\") + c;
      }
    }
    if (i >= source_.size()) {
      return fail("this string has no end");
    }
    add(Kind::kString, std::move(text));
    move_to(i + 1);
  }

  std::string source_;
  Problem& problem_;
  std::vector<Token> tokens_;
  size_t at_ = 0;
  Position position_;
  bool strip_ = false;  // the last tag removes white space behind it, or
  bool trim_ = false;   // one end of a line
};

}  // namespace

std::vector<Token> tokenize(std::string source, Problem& problem) {
  return Lexer(std::move(source), problem).run();
}

}  // namespace jinja
}  // namespace llm
}  // namespace extension
}  // namespace executorch
