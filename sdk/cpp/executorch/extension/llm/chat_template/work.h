// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <executorch/extension/llm/limits/budget.h>
#include <executorch/extension/llm/limits/stack_limit.h>

#include "problem.h"
#include "value.h"

namespace executorch {
namespace extension {
namespace llm {
namespace jinja {

/// The first error of a piece of work, and its remaining budget. After an error all functions return at once, with
/// meaningless values.
class Work {
 public:
  /// Both must outlive this object.
  Work(Budget& budget, Problem& problem) : budget_(budget), problem_(problem) {}

  bool failed() const { return problem_.is_set(); }
  /// Records an error at the current place, unless there is one already.
  Value fail(std::string message) {
    if (!failed()) {
      problem_ = {at_, std::move(message)};
    }
    return {};
  }
  /// Charges work. False after an error.
  bool step(uint64_t count = 1) {
    if (!failed() && !budget_.step(count)) {
      spent_ = true;
      fail("the template takes more steps than it may");
    }
    return !failed();
  }
  /// Charges the reading or copying of a text.
  bool read(size_t bytes) { return step(1 + bytes / 64); }
  /// Charges memory before it is allocated. After an error, returns false and charges nothing.
  bool take(uint64_t bytes) {
    if (failed() || !step(bytes / 256)) {
      return false;
    }
    if (!budget_.take(bytes)) {
      spent_ = true;
      fail("the template takes more memory than it may: " + std::to_string(bytes) + " bytes more, and " +
           std::to_string(budget_.bytes_left()) + " are left");
      return false;
    }
    return true;
  }
  /// False, with an error, when the stack of this thread ends.
  bool may_recurse() {
    if (!failed() && stack_.reached()) {
      spent_ = true;
      fail("the template is nested too deeply for the stack of this thread");
    }
    return !failed();
  }
  /// Clears and returns an error of reading a generator. Empty without an error, or if the budget is used up.
  std::string postponed() { return spent_ ? std::string() : std::exchange(problem_.message, std::string()); }
  Budget& budget() { return budget_; }
  Position at() const { return at_; }
  void at(const Position& position) { at_ = position; }

  Value undefined(std::string_view what);
  Value text(std::string_view copied);
  Value pair(Value first, Value second);
  Value method(const Value& self, const Method* method);

 private:
  Budget& budget_;
  Problem& problem_;
  Position at_;
  StackLimit stack_;
  bool spent_ = false;  // the error is one of the budget or the stack
};

/// Makes a text whose memory is charged before it grows.
class TextBuilder final {
 public:
  explicit TextBuilder(Work& work) : work_(work) {}
  ~TextBuilder() { work_.budget().give_back(charged_); }
  TextBuilder(const TextBuilder&) = delete;
  TextBuilder& operator=(const TextBuilder&) = delete;

  /// False after an error.
  bool add(std::string_view more) { return grow(more.size()) && (text_.append(more), true); }
  bool add(char c) { return add(std::string_view(&c, 1)); }
  bool repeat(std::string_view part, uint64_t count);
  size_t size() const { return text_.size(); }
  const std::string& seen() const { return text_; }
  /// The text as a value; the builder is empty afterwards.
  Value value(bool markup = false);
  std::string release() { return std::move(text_); }

 private:
  bool grow(size_t more);
  Work& work_;
  std::string text_;
  uint64_t charged_ = 0;
};

/// Makes a list in the same way.
class ListBuilder final {
 public:
  explicit ListBuilder(Work& work) : work_(work) {}
  ~ListBuilder() { work_.budget().give_back(charged_); }
  ListBuilder(const ListBuilder&) = delete;
  ListBuilder& operator=(const ListBuilder&) = delete;

  bool add(Value item);
  bool add_all(const List& items);
  size_t size() const { return items_.size(); }
  List& items() { return items_; }
  Value value(Value::Type type = Value::Type::kList) { return into(type, std::make_shared<ListStorage>()); }
  /// The list in a given storage.
  Value into(Value::Type type, std::shared_ptr<ListStorage> storage);

 private:
  Work& work_;
  List items_;
  uint64_t charged_ = 0;
};

/// Makes a dictionary; of equal keys the last value is kept, at the position of the first.
class DictBuilder final {
 public:
  explicit DictBuilder(Work& work) : work_(work), made_(std::make_shared<DictStorage>()) {}
  ~DictBuilder() { work_.budget().give_back(charged_); }
  DictBuilder(const DictBuilder&) = delete;
  DictBuilder& operator=(const DictBuilder&) = delete;

  bool set(Value key, Value value);
  bool set_all(const Value& dict);
  size_t size() const { return made_->entries.size(); }
  Value value();

 private:
  bool index(size_t entry);
  Work& work_;
  std::shared_ptr<DictStorage> made_;
  uint64_t charged_ = 0;
};

// --- Python's rules, each charged ---

/// ==.
bool equal(Work& work, const Value& a, const Value& b);
/// <, >, <= or >=; values without an order are an error.
bool ordered(Work& work, std::string_view sign, const Value& a, const Value& b);
/// The hash of a key; an error for a value that cannot be a key.
uint64_t hash(Work& work, const Value& key);
bool is_hashable(Work& work, const Value& key);
/// The value of a key; null if the key is missing.
const Value* find(Work& work, const DictStorage& dict, const Value& key);
const Value* find(Work& work, const DictStorage& dict, std::string_view key);
/// str() and repr().
void write_str(Work& work, TextBuilder& out, const Value& value);
void write_repr(Work& work, TextBuilder& out, const Value& value);
/// Returns a string, markup included, unchanged; other values become str().
Value soft_str(Work& work, const Value& value);
/// A float as Python writes it: the shortest text that gives the same number.
std::string real_text(double number);
/// Formats a float like printf() in the C locale. The type is one of e f g E F G.
std::string real_text(double number, char type, int64_t precision);
/// Reads a number like strtod() in the C locale. False unless it is the whole text.
bool read_decimal(std::string text, double& number);
/// Appends with & < > " ' as entities.
void write_escaped(TextBuilder& out, std::string_view text);
/// The filter `escape`, which does not escape markup again.
Value escaped(Work& work, const Value& value);

struct JsonStyle {
  bool ascii = false;
  bool sort = false;
  bool lines = false;
  std::string indent;
  std::string item_separator = ", ";
  std::string key_separator = ": ";
};
/// json.dumps(). What JSON does not have is an error.
void write_json(Work& work, TextBuilder& out, const Value& value, const JsonStyle& style, size_t level = 0);

/// Parses a JSON text. Returns false, with a message that has line and column, if it is invalid or nested too deeply.
bool parse_json(Work& work, std::string_view json, Value& value, std::string& message);

}  // namespace jinja
}  // namespace llm
}  // namespace extension
}  // namespace executorch
