// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/extension/llm/grammar/nesting.h>

#include <algorithm>
#include <utility>
#include <vector>

#include <executorch/extension/llm/grammar/json_schema.h>

namespace executorch {
namespace extension {
namespace llm {
namespace internal {

Nesting::Nesting(GrammarType type)
    : type_(type), limit_(static_cast<size_t>(kMaxGrammarDepth) * (type == GrammarType::kJsonSchema ? 3 : 1)) {}

bool Nesting::push(char c) {
  line_ += c == '\n' ? 1 : 0;
  column_ = c == '\n' ? 0 : column_ + 1;
  const bool begins = std::exchange(regex_begins_, false);
  if (is_in_regex_ && c == '/' && begins) {  // "//"
    leave_regex();
    place_ = Place::kComment;
  } else if (is_escaped_) {
    is_escaped_ = false;
  } else if (c == '\\' && place_ != Place::kComment) {
    is_escaped_ = true;
    current_.last = place_ == Place::kText ? 0 : current_.last;
  } else if (is_in_regex_ && c == '/') {
    leave_regex();
  } else {
    read(c);
  }
  return open_.size() <= limit_;
}

void Nesting::leave_regex() {
  const size_t inside = std::max(current_.deepest, current_.last);
  is_in_regex_ = false;
  place_ = Place::kText;
  open_ = std::move(outer_);
  levels_ = std::move(outer_levels_);
  current_ = levels_.back();
  levels_.pop_back();
  add(inside);
}

void Nesting::add(size_t repetitions) {
  current_.last = repetitions;
  current_.deepest = std::max(current_.deepest, repetitions);
}

void Nesting::open(char c) {
  open_ += c;
  levels_.push_back(current_);
  current_ = {};
}

void Nesting::close() {
  const bool is_count = open_.back() == '{';
  const size_t inside = current_.deepest;
  open_.pop_back();
  current_ = levels_.back();
  levels_.pop_back();
  // Between { and } is a number, or the arguments of a Lark template.
  add(is_count ? std::max(current_.last, inside) : inside);
}

void Nesting::read(char c) {
  switch (place_) {
    case Place::kString:
      place_ = c == '"' || c == '\n' ? Place::kText : place_;
      break;
    case Place::kClass:
      place_ = c == ']' || (c == '\n' && !is_regex()) ? Place::kText : place_;
      break;
    case Place::kComment:
      place_ = c == '\n' || c == '\r' ? Place::kText : place_;
      break;
    default:
      read_text(c);
  }
}

void Nesting::read_text(char c) {
  const bool is_repetition = c == '*' || c == '+' || c == '?' || c == '{' || c == '~';
  repetitions_ += is_repetition ? 1 : 0;
  if (is_repetition) {
    add(current_.last + 1);
  } else if (c != ' ' && c != ')' && c != ']' && c != '}' && (c < '0' || c > '9' || is_regex())) {
    current_.last = 0;  // another part begins; digits follow the ~ of Lark
  }
  if (c == '"' && !is_regex()) {
    place_ = Place::kString;
  } else if (c == '#' && type_ == GrammarType::kGbnf) {
    place_ = Place::kComment;
  } else if (c == '/' && type_ == GrammarType::kLark) {
    is_in_regex_ = regex_begins_ = true;
    outer_ = std::exchange(open_, "");
    outer_levels_ = std::exchange(levels_, {});
    outer_levels_.push_back(std::exchange(current_, {}));
  } else if (c == '[' && (is_regex() || type_ == GrammarType::kGbnf)) {
    place_ = Place::kClass;
  } else if (c == '(' || c == '[' || c == '{') {
    open(c);
  } else if (!open_.empty() && ((c == ')' && open_.back() == '(') || (c == ']' && open_.back() == '[') ||
                                (c == '}' && open_.back() == '{'))) {
    close();
  }
}

std::string too_deep(std::string_view pattern) {
  Nesting nesting(GrammarType::kRegex);
  for (size_t i = 0; i < pattern.size(); i++) {
    const bool is_group = !nesting.push(pattern[i]);
    if (is_group || nesting.nested_repetitions() > kMaxNestedRepetitions) {
      return "byte " + std::to_string(i) + ": more than " +
             std::to_string(is_group ? kMaxGrammarDepth : static_cast<int>(kMaxNestedRepetitions)) +
             (is_group ? " groups" : " repetitions") + " inside each other";
    }
  }
  return "";
}

uint64_t pattern_length(std::string_view pattern) {
  std::vector<uint64_t> groups{0};  // lengths of the groups that are open
  uint64_t last = 0;                // length of the last part, which a repetition would repeat
  const auto add = [&groups](uint64_t length) {
    groups.back() = std::min<uint64_t>(groups.back() + length, UINT32_MAX);
  };
  for (size_t i = 0; i < pattern.size(); i++) {
    const char c = pattern[i];
    if (c == '(') {
      groups.push_back(0);
    } else if (c == ')' && groups.size() > 1) {
      last = groups.back();
      groups.pop_back();
      add(last);
    } else if (c == '{') {
      uint64_t number = 0, most = 1;
      for (; i + 1 < pattern.size() && pattern[i] != '}'; i++) {
        const bool is_digit = pattern[i + 1] >= '0' && pattern[i + 1] <= '9';
        number =
            is_digit ? std::min<uint64_t>(number * 10 + static_cast<uint64_t>(pattern[i + 1] - '0'), UINT32_MAX) : 0;
        most = std::max(most, number);
      }
      add(last * (most - 1) + 1);
      last = std::min<uint64_t>(last * most, UINT32_MAX);
    } else if (c == '*' || c == '+' || c == '?') {
      add(1);  // the repetition itself may be repeated
    } else {
      i += c == '\\' ? 1 : 0;
      last = 1;
      add(1);
    }
  }
  while (groups.size() > 1) {
    const uint64_t open = groups.back();
    groups.pop_back();
    add(open);
  }
  return groups.back();
}

}  // namespace internal
}  // namespace llm
}  // namespace extension
}  // namespace executorch
