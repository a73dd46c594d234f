// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <executorch/extension/llm/limits/budget.h>

namespace executorch {
namespace extension {
namespace llm {
namespace jinja {

class Object;
class Value;
struct Method;
using List = std::vector<Value>;

/// The maximal nesting of lists and dictionaries; deeper values are refused.
constexpr int kMaxDepth = 100;

/// The part of a value on the heap: shared, immutable, and charged to a budget while it lives.
class Storage {
 public:
  Storage() = default;
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;
  virtual ~Storage() {
    if (budget_ != nullptr) {
      budget_->give_back(bytes_);
    }
  }
  /// Records that `bytes` were taken from `budget`, which lives longer. The destructor gives them back.
  void charged(Budget* budget, uint64_t bytes) {
    budget_ = budget;
    bytes_ = bytes;
  }
  int depth = 0;  // 0 without elements, otherwise one more than the depth of the deepest element

 private:
  Budget* budget_ = nullptr;
  uint64_t bytes_ = 0;
};

/// A Python value of a template. Values do not change, except for the contents of an Object.
class Value {
 public:
  enum class Type {
    kUndefined,
    kNone,
    kBool,
    kInt,
    kFloat,
    kString,
    kList,
    kTuple,
    kRange,  // a list that remembers how it was made
    kView,   // dict.keys() and its like
    kDict,
    kMethod,    // a bound method: "a".strip
    kGlobal,    // range, dict, ...
    kIterator,  // Objects from here on
    kNamespace,
    kLoop,
    kMacro,
    kCycler,
    kJoiner
  };

  Value() = default;
  static Value none();
  static Value boolean(bool value);
  static Value integer(int64_t value);
  static Value real(double value);
  /// For literals and variables only; texts that a template makes come from a TextBuilder, which charges them.
  static Value text(std::string value);
  static Value object(Type type, Object* object);
  static Value global(const char* name);
  /// `storage` is of the kind that belongs to `type`.
  static Value stored(Type type, std::shared_ptr<const Storage> storage);
  /// `what` is the expression without a value, for messages.
  static Value undefined(std::string what = {});

  Type type() const { return type_; }
  bool is(Type type) const { return type_ == type; }
  bool is_undefined() const { return type_ == Type::kUndefined; }
  bool is_none() const { return type_ == Type::kNone; }
  bool is_string() const { return type_ == Type::kString; }
  bool is_dict() const { return type_ == Type::kDict; }
  /// int, float or bool, as in Python's arithmetic.
  bool is_number() const { return type_ == Type::kInt || type_ == Type::kFloat || type_ == Type::kBool; }
  bool is_integral() const { return type_ == Type::kInt || type_ == Type::kBool; }
  /// Whether as_list() can read it.
  bool has_list() const { return type_ >= Type::kList && type_ <= Type::kView; }
  /// A string that filter `safe` or `escape` made: what is added to it is escaped.
  bool is_markup() const { return markup_; }
  Value as_markup(bool markup = true) const;

  int64_t as_int() const { return int_; }
  double as_real() const { return type_ == Type::kFloat ? real_ : static_cast<double>(int_); }
  const std::string& as_text() const;
  /// The number of characters of a string.
  size_t length() const;
  const List& as_list() const;
  /// The name or expression that is undefined.
  const std::string& hint() const { return as_text(); }
  const char* name() const { return name_; }
  template <typename Kind>
  const Kind& as() const {
    return static_cast<const Kind&>(*storage_);
  }
  Object* object() const { return object_; }
  const Storage* storage() const { return storage_.get(); }
  int depth() const { return storage_ ? storage_->depth : 0; }

  bool truthy() const;
  /// For messages: "string", "list".
  const char* type_name() const;

 private:
  Type type_ = Type::kUndefined;
  bool markup_ = false;
  union {
    int64_t int_ = 0;
    double real_;
    Object* object_;
    const char* name_;
  };
  std::shared_ptr<const Storage> storage_;
};

/// Whether this is the global `self`, whose attributes are the blocks of the template.
inline bool is_self(const Value& value) {
  return value.is(Value::Type::kGlobal) && std::string_view(value.name()) == "self";
}

struct TextStorage final : Storage {
  explicit TextStorage(std::string all);
  std::string text;
  size_t length;  // number of characters
};

struct ListStorage : Storage {
  List items;
  bool is_group = false;  // a result of groupby: a tuple with named parts
};

struct RangeStorage final : ListStorage {
  int64_t start = 0;
  int64_t stop = 0;
  int64_t step = 1;
};

struct ViewStorage final : ListStorage {
  const char* kind = "dict_items";
};

struct MethodStorage final : Storage {
  Value self;
  const Method* method = nullptr;
};

struct Entry {
  Value key;
  Value value;
  uint64_t hash;
};

/// In the order of insertion, without equal keys.
struct DictStorage final : Storage {
  std::vector<Entry> entries;
  std::vector<uint32_t> slots;  // hash index: entry + 1, or 0 if free; empty for few entries
};

/// A mutable object: a namespace, a loop. The interpreter owns it, so that cyclic references are freed.
class Object {
 public:
  Object() = default;
  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;
  virtual ~Object() = default;
};

/// A generator: its elements can be read once.
struct Iterator final : Object {
  Value items;  // a list
  size_t at = 0;
  const char* what = "generator";
  std::string failure;  // instead of elements
};

}  // namespace jinja
}  // namespace llm
}  // namespace extension
}  // namespace executorch
