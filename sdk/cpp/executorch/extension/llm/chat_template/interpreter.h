// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "node.h"
#include "value.h"

namespace executorch {
namespace extension {
namespace llm {
namespace jinja {

/// What a filter, test, method or function is called with.
struct Arguments {
  std::vector<Value> positional;
  std::vector<std::pair<std::string, Value>> named;
  /// The argument in a place or of a name; null if it is not given.
  const Value* get(size_t place, std::string_view name) const;
};

/// Renders a template once. The work is bounded: see kMaxWork.
class Interpreter final {
 public:
  /// Steps that a template may take: an expression is one, four characters of a text are, an element of a list is 16.
  static constexpr int64_t kMaxWork = 20'000'000;

  /// `globals` are the template's variables. The first error is in `problem`; more than `max_work` is one.
  Interpreter(Dict globals, Problem& problem, int64_t max_work = kMaxWork);
  std::string render(const Node& body);

 private:
  using Scope = std::vector<std::pair<std::string, Value>>;
  enum class Flow { kOn, kBreak, kContinue };

  // statements.cpp
  Flow run(const Node& node);
  Flow run_body(const Node& node);
  Flow run_for(const Node& node);
  Flow run_if(const Node& node);
  void run_set(const Node& node);
  std::string captured(const Node& body);
  void assign(const std::vector<std::string>& names, const Value& value, const Position& at);
  void set(const std::string& name, Value value);
  void write(const std::string& text);

  // interpreter.cpp
  Value evaluate(const Node& node);
  Value evaluate_here(const Node& node);
  Value name(const Node& node);
  Value unary(const Node& node);
  Value compare(const Node& node);
  Value attribute(const Value& object, const std::string& name, const Position& at);
  Value index(const Node& node);
  Value slice(const Node& node);
  Value call(const Node& node);
  Value call_macro(const Node& macro, const Arguments& arguments, const Position& at);
  Arguments arguments_of(const Node& node);
  bool truthy(const Node& node) { return evaluate(node).truthy(); }

  // operators.cpp
  Value binary(const std::string& name, const Value& left, const Value& right, const Position& at);
  Value arithmetic(const std::string& name, const Value& left, const Value& right, const Position& at);
  bool ordered(const std::string& name, const Value& left, const Value& right, const Position& at);
  bool contains(const Value& container, const Value& item, const Position& at);
  bool test(const std::string& name, const Value& value, const Arguments& arguments, const Position& at);
  Value call_function(const std::string& name, const Arguments& arguments, const Position& at);
  Value range(const Arguments& arguments, const Position& at);

  // filters.cpp
  Value filter(const std::string& name, const Value& input, const Arguments& arguments, const Position& at);
  Value list_filter(const std::string& name, const Value& input, const Arguments& arguments, const Position& at);
  Value select(const std::string& name, const Value& input, const Arguments& arguments, const Position& at);
  Value sorted(const Value& input, const Arguments& arguments, const Position& at);
  Value by_path(Value value, const Value& path, const Position& at);
  Value folded(const std::string& name, const Value& input, const Position& at);

  // methods.cpp: false if the value has no such method
  bool method(const Value& object, const std::string& name, const Arguments& arguments, const Position& at,
              Value& result);
  bool text_method(const std::string& text, const std::string& name, const Arguments& arguments, const Position& at,
                   Value& result);

  bool failed() const { return problem_.is_set(); }
  Value fail(const Position& at, std::string message);
  /// Counts work; false, with a problem, beyond the limit.
  bool charge(size_t units, const Position& at);
  /// A text or list whose making is charged.
  Value text(std::string made, const Position& at);
  Value list(List items, const Position& at);
  Value dict(Dict entries, const Position& at);
  /// The elements of a list, the keys of a dictionary, the characters of a string.
  List elements(const Value& value, const Position& at);

  Problem& problem_;
  Dict globals_;
  std::vector<Scope> scopes_;
  std::deque<Dict> namespaces_;
  std::string* output_ = nullptr;
  int64_t max_work_;
  int64_t work_ = 0;
  int depth_ = 0;
  size_t first_scope_ = 0;  // of the macro that runs; the template's is visible too
};

/// Without the characters of `set` at its ends; white space if it is empty.
std::string stripped(std::string_view text, std::string_view set, bool left, bool right);
/// Each beginning of a word in upper case and the rest in lower case; ASCII letters only change.
std::string title(std::string text);
std::string lower(std::string text);
std::string upper(std::string text);
std::string capitalize(std::string text);
std::string replaced(std::string_view text, std::string_view from, std::string_view to, int64_t count);

}  // namespace jinja
}  // namespace llm
}  // namespace extension
}  // namespace executorch
