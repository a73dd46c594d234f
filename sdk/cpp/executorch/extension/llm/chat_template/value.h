// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace executorch {
namespace extension {
namespace llm {
namespace jinja {

struct Node;
class Value;
using List = std::vector<Value>;
using Entry = std::pair<Value, Value>;
/// In the order of insertion. Of two entries with the same key the last one counts.
using Dict = std::vector<Entry>;

/// Nesting of lists and dictionaries; deeper values are refused.
constexpr int kMaxDepth = 100;

/// A value of a template, as Python has it. Lists and dictionaries are immutable and shared; a tuple is a list.
class Value {
 public:
  enum class Type { kUndefined, kNone, kBool, kInt, kFloat, kString, kList, kDict, kNamespace, kFunction };

  Value() = default;
  static Value none();
  static Value boolean(bool value);
  static Value integer(int64_t value);
  static Value real(double value);
  static Value text(std::string value);
  static Value list(List items);
  static Value dict(Dict entries);
  /// `attributes` belongs to the interpreter, so that namespaces that contain each other are freed.
  static Value name_space(Dict* attributes);
  /// A macro, or with `node` null a global function.
  static Value function(std::string name, const Node* node);
  /// `what` is for messages: the expression that has no value.
  static Value undefined(std::string what);

  Type type() const { return type_; }
  bool is(Type type) const { return type_ == type; }
  bool is_undefined() const { return type_ == Type::kUndefined; }
  bool is_string() const { return type_ == Type::kString; }
  /// int, float or bool, as in Python's arithmetic.
  bool is_number() const { return type_ == Type::kInt || type_ == Type::kFloat || type_ == Type::kBool; }
  bool is_integral() const { return type_ == Type::kInt || type_ == Type::kBool; }

  int64_t as_int() const { return int_; }
  double as_real() const { return type_ == Type::kFloat ? real_ : static_cast<double>(int_); }
  /// Of a string; the name of a function; what is undefined.
  const std::string& as_text() const;
  const List& as_list() const { return *list_; }
  const Dict& as_dict() const { return *dict_; }
  Dict& attributes() const { return *attributes_; }
  const Node* node() const { return node_; }
  /// 0 for what is no list or dictionary, otherwise one more than that of the deepest element.
  int depth() const { return depth_; }

  bool truthy() const;
  /// Python's ==; numbers compare by value.
  bool equals(const Value& other) const;
  /// The entry of a dictionary or namespace; null if there is none.
  const Value* find(const Value& key) const;
  const Value* find(std::string_view key) const;
  /// What Python's str() and repr() give.
  std::string to_text() const;
  std::string repr() const;
  /// For messages: "string", "list".
  const char* type_name() const;

 private:
  Type type_ = Type::kUndefined;
  int depth_ = 0;
  int64_t int_ = 0;
  double real_ = 0;
  std::shared_ptr<const std::string> text_;
  std::shared_ptr<const List> list_;
  std::shared_ptr<const Dict> dict_;
  Dict* attributes_ = nullptr;
  const Node* node_ = nullptr;
};

/// As json.dumps(value, ensure_ascii=False): `indent` below 0 is one line. Undefined values and functions are null.
std::string to_json(const Value& value, int indent, int level = 0);

/// The value of a JSON text. False, with a message that has line and column, if it is none or nested too deeply.
bool parse_json(std::string_view json, Value& value, std::string& message);

/// The code points of a UTF-8 text as offsets of their first bytes, and the size at the end.
std::vector<size_t> code_points(std::string_view text);

}  // namespace jinja
}  // namespace llm
}  // namespace extension
}  // namespace executorch
