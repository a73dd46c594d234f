// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "builtins.h"
#include "node.h"
#include "objects.h"
#include "work.h"

namespace executorch {
namespace extension {
namespace llm {
namespace jinja {

/// Renders a template once.
class Interpreter final : public Work {
 public:
  /// Steps that a template may take: about one for each expression, element, or 64 bytes of reads and writes.
  static constexpr uint64_t kMaxSteps = 20'000'000;
  /// Bytes that its values may hold at the same time.
  static constexpr uint64_t kMaxBytes = 64 << 20;

  /// `variables` is a dictionary. The first error is in `problem`.
  Interpreter(const Template& parsed, const Value& variables, Budget& budget, Problem& problem);
  ~Interpreter();
  std::string render();

  // --- For filters, tests, methods and functions ---

  /// The elements of a sequence, the keys of a dictionary, the characters of a string, as a list. A generator is
  /// consumed.
  Value elements(const Value& value);
  /// The number of elements; an error for a value without a length.
  int64_t size_of(const Value& value);
  Value attribute(const Value& object, const Value& name);
  /// object[key].
  Value item(const Value& object, const Value& key);
  /// The attribute of a name with dots, or a number, as in map(attribute="function.name").
  /// `otherwise` replaces an undefined value on the path.
  Value by_path(Value value, const Value& path, const Value* otherwise = nullptr);
  Value call(const Value& function, const Arguments& arguments);
  Value filter(const std::string& name, const Value& input, const Arguments& arguments);
  bool test(const std::string& name, const Value& value, const Arguments& arguments);
  Value binary(std::string_view sign, const Value& left, const Value& right);
  bool contains(const Value& container, const Value& item);
  Value slice(const Value& object, const Value& start, const Value& stop, const Value& step);
  /// A generator over a list.
  Value generator(const Value& items, const char* what = "generator");
  /// Sorts a list by keys. `keys` has one key for each element.
  Value sorted(const List& items, const List& keys, bool descends);
  bool integer(const Value& value, const char* what, int64_t& number);
  bool string(const Value& value, const char* what);
  /// A new object that lives as long as this interpreter.
  template <typename Kind>
  Kind* make() {
    auto made = std::make_unique<Kind>();
    Kind* const kept = made.get();
    return take_for_good(sizeof(Kind) + 64) ? (objects_.push_back(std::move(made)), kept) : nullptr;
  }
  /// Charges memory that is never released.
  bool take_for_good(uint64_t bytes) {
    const bool taken = take(bytes);
    for_good_ += taken ? bytes : 0;
    return taken;
  }
  /// For loop(...) of a recursive loop.
  Value loop_again(const Loop& loop, const Value& items);
  /// The element that the loop reads next; false at its end.
  bool loop_next(Loop& loop, Value& value);
  int64_t loop_length(Loop& loop);

 private:
  enum class Flow { kOn, kBreak, kContinue };
  class Scope;

  // statements.cpp
  Flow run(const Node& node);
  Flow run_body(const Node& node);
  Flow run_if(const Node& node);
  Flow run_with(const Node& node);
  Flow run_loop(const Node& node, Frame* frame, const Value& items, int64_t depth);
  void run_call_block(const Node& node);
  void output(const Value& value);
  void assign(const Node& target, const Value& value);
  void set(int id, Value value);
  Value captured(const Node& body);
  /// Applies the filters of a block to its text.
  Value filtered(const Node* filters, Value text);

  // interpreter.cpp
  Value evaluate(const Node& node);
  Value evaluate_here(const Node& node);
  Value name(const Node& node);
  Value unary(const Node& node);
  Value compare(const Node& node);
  Value concat(const Node& node);
  Value dictionary(const Node& node);
  Value sequence(const Node& node, Value::Type type);
  Value sliced(const Node& node);
  Value call_node(const Node& node, const Value* caller);
  Arguments arguments_of(const Node& node);
  void spread(const Node& node, const std::string& name, Arguments& arguments);

  // calls.cpp
  Value call_macro(const Macro& macro, const Arguments& arguments);
  bool bind_macro(const Macro& macro, const Arguments& arguments);
  Value loop_attribute(Loop& loop, std::string_view name);
  Value block_value(const std::string& name);
  Value object_attribute(const Value& object, const std::string& name, bool& found);
  Value macro_value(const Node& node);
  Value marked(const Value& value);
  int parsed_id(std::string_view name) const;
  /// Makes a frame and those around it live as long as this interpreter.
  void keep(Frame* frame);

  const Template& parsed_;
  List variables_;  // indexed by the ids of their names
  std::vector<bool> has_variable_;
  std::vector<std::unique_ptr<Object>> objects_;
  std::vector<std::unique_ptr<Frame>> kept_;
  uint64_t for_good_ = 0;
  size_t live_kept_ = 0;  // frames that are kept, and still in use
  Frame* frame_ = nullptr;
  TextBuilder* output_ = nullptr;
  const Value* block_text_ = nullptr;  // the text of a filter block, which its filters receive
};

/// Counts a scope of variables while it exists.
class Interpreter::Scope final {
 public:
  Scope(Interpreter& in, Frame* outer);
  ~Scope();
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;
  Frame* frame() { return frame_.get(); }

 private:
  Interpreter& in_;
  Frame* const before_;
  std::unique_ptr<Frame> frame_;
};

}  // namespace jinja
}  // namespace llm
}  // namespace extension
}  // namespace executorch
