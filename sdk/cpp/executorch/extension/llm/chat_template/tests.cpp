// SPDX-License-Identifier: BSD-3-Clause
#include "interpreter.h"
#include "text_methods.h"

namespace executorch {
namespace extension {
namespace llm {
namespace jinja {
namespace {

using Type = Value::Type;

bool is_defined(Interpreter&, const Value& value, const Bound&) {
  return !value.is_undefined();
}
bool is_undefined(Interpreter&, const Value& value, const Bound&) {
  return value.is_undefined();
}
bool is_none(Interpreter&, const Value& value, const Bound&) {
  return value.is_none();
}
bool is_string(Interpreter&, const Value& value, const Bound&) {
  return value.is_string();
}
bool is_number(Interpreter&, const Value& value, const Bound&) {
  return value.is_number();
}
bool is_integer(Interpreter&, const Value& value, const Bound&) {
  return value.is(Type::kInt);
}
bool is_float(Interpreter&, const Value& value, const Bound&) {
  return value.is(Type::kFloat);
}
bool is_boolean(Interpreter&, const Value& value, const Bound&) {
  return value.is(Type::kBool);
}
bool is_true(Interpreter&, const Value& value, const Bound&) {
  return value.is(Type::kBool) && value.truthy();
}
bool is_false(Interpreter&, const Value& value, const Bound&) {
  return value.is(Type::kBool) && !value.truthy();
}
bool is_mapping(Interpreter&, const Value& value, const Bound&) {
  return value.is_dict();
}
bool is_sequence(Interpreter&, const Value& value, const Bound&) {
  return value.is_string() || value.is_dict() || value.is_undefined() || (value.has_list() && !value.is(Type::kView));
}
bool is_iterable(Interpreter&, const Value& value, const Bound&) {
  return value.is_string() || value.is_dict() || value.is_undefined() || value.has_list() ||
         value.is(Type::kIterator) || value.is(Type::kLoop) || is_self(value);
}
bool is_callable(Interpreter&, const Value& value, const Bound&) {
  switch (value.type()) {
    case Type::kUndefined:  // jinja2 defines __call__ for it, which fails
    case Type::kGlobal:
      return !is_self(value);
    case Type::kMethod:
    case Type::kMacro:
    case Type::kJoiner:
    case Type::kLoop:
      return true;
    default:
      return false;
  }
}

bool divides(Interpreter& in, const Value& value, int64_t by, int64_t rest) {
  return equal(in, in.binary("%", value, Value::integer(by)), Value::integer(rest));
}
bool is_odd(Interpreter& in, const Value& value, const Bound&) {
  return divides(in, value, 2, 1);
}
bool is_even(Interpreter& in, const Value& value, const Bound&) {
  return divides(in, value, 2, 0);
}
bool is_divisible(Interpreter& in, const Value& value, const Bound& arguments) {
  return equal(in, in.binary("%", value, *arguments.get(0)), Value::integer(0));
}

bool is_upper_text(Interpreter& in, const Value& value, const Bound&) {
  const Value text = soft_str(in, value);
  return in.read(4 * text.as_text().size()) && all_upper(text.as_text());
}
bool is_lower_text(Interpreter& in, const Value& value, const Bound&) {
  const Value text = soft_str(in, value);
  return in.read(4 * text.as_text().size()) && all_lower(text.as_text());
}
bool is_escaped(Interpreter&, const Value& value, const Bound&) {
  return value.is_markup();
}

bool is_equal(Interpreter& in, const Value& value, const Bound& arguments) {
  return equal(in, value, *arguments.get(0));
}
bool is_not_equal(Interpreter& in, const Value& value, const Bound& arguments) {
  return !equal(in, value, *arguments.get(0));
}
/// Python's `is`: the same object. Equal texts and numbers count as the same object.
bool is_same(Interpreter& in, const Value& value, const Bound& arguments) {
  const Value& other = *arguments.get(0);
  if (value.type() != other.type()) {
    return false;
  }
  return value.has_list() || value.is_dict() ? value.storage() == other.storage() : equal(in, value, other);
}
bool is_in(Interpreter& in, const Value& value, const Bound& arguments) {
  return in.contains(*arguments.get(0), value);
}
bool is_less(Interpreter& in, const Value& value, const Bound& arguments) {
  return ordered(in, "<", value, *arguments.get(0));
}
bool is_less_or_equal(Interpreter& in, const Value& value, const Bound& arguments) {
  return ordered(in, "<=", value, *arguments.get(0));
}
bool is_greater(Interpreter& in, const Value& value, const Bound& arguments) {
  return ordered(in, ">", value, *arguments.get(0));
}
bool is_greater_or_equal(Interpreter& in, const Value& value, const Bound& arguments) {
  return ordered(in, ">=", value, *arguments.get(0));
}

/// Like a look-up in a dictionary of names: a value that cannot be a key is an error.
bool is_name(Interpreter& in, const Value& value, bool (*exists)(std::string_view)) {
  hash(in, value);
  return !in.failed() && value.is_string() && exists(value.as_text());
}
bool is_filter_name(Interpreter& in, const Value& value, const Bound&) {
  return is_name(in, value, is_filter);
}
bool is_test_name(Interpreter& in, const Value& value, const Bound&) {
  return is_name(in, value, is_test);
}

constexpr Test kTests[] = {
    {"defined", "", is_defined},
    {"undefined", "", is_undefined},
    {"none", "", is_none},
    {"string", "", is_string},
    {"number", "", is_number},
    {"integer", "", is_integer},
    {"float", "", is_float},
    {"boolean", "", is_boolean},
    {"true", "", is_true},
    {"false", "", is_false},
    {"mapping", "", is_mapping},
    {"sequence", "", is_sequence},
    {"iterable", "", is_iterable},
    {"callable", "", is_callable},
    {"odd", "", is_odd},
    {"even", "", is_even},
    {"divisibleby", "num", is_divisible},
    {"upper", "", is_upper_text},
    {"lower", "", is_lower_text},
    {"escaped", "", is_escaped},
    {"filter", "", is_filter_name},
    {"test", "", is_test_name},
    {"in", "seq", is_in},
    {"sameas", "other", is_same},
    {"eq", "other /", is_equal},
    {"equalto", "other /", is_equal},
    {"==", "other /", is_equal},
    {"ne", "other /", is_not_equal},
    {"!=", "other /", is_not_equal},
    {"lt", "other /", is_less},
    {"lessthan", "other /", is_less},
    {"<", "other /", is_less},
    {"le", "other /", is_less_or_equal},
    {"<=", "other /", is_less_or_equal},
    {"gt", "other /", is_greater},
    {"greaterthan", "other /", is_greater},
    {">", "other /", is_greater},
    {"ge", "other /", is_greater_or_equal},
    {">=", "other /", is_greater_or_equal},
};

}  // namespace

Table<Test> tests() {
  return table(kTests);
}

}  // namespace jinja
}  // namespace llm
}  // namespace extension
}  // namespace executorch
