// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cmath>
#include <ctime>

#include "interpreter.h"

namespace executorch {
namespace extension {
namespace llm {
namespace jinja {

using Type = Value::Type;

Value Interpreter::binary(const std::string& name, const Value& left, const Value& right, const Position& at) {
  if (failed()) {
    return {};
  }
  if (name == "~") {
    return text(left.to_text() + right.to_text(), at);
  }
  if (name == "+" && left.is_string() && right.is_string()) {
    return text(left.as_text() + right.as_text(), at);
  }
  if (name == "+" && left.is(Type::kList) && right.is(Type::kList)) {
    List items = left.as_list();
    items.insert(items.end(), right.as_list().begin(), right.as_list().end());
    return list(std::move(items), at);
  }
  if (name == "*" && (left.is_string() || left.is(Type::kList)) && right.is_integral()) {
    const auto count = static_cast<size_t>(std::max<int64_t>(0, right.as_int()));
    const size_t size = left.is_string() ? left.as_text().size() : left.as_list().size();
    if (size == 0 || !charge(count > kMaxWork / size ? kMaxWork + 1
                             : left.is_string()      ? count * size / 4
                                                     : count * size * 16,
                             at)) {
      return left.is_string() ? Value::text("") : Value::list({});
    }
    std::string repeated;
    List items;
    for (size_t i = 0; i < count && !failed(); i++) {
      if (left.is_string()) {
        repeated += left.as_text();
      } else {
        items.insert(items.end(), left.as_list().begin(), left.as_list().end());
      }
    }
    return left.is_string() ? Value::text(std::move(repeated)) : list(std::move(items), at);
  }
  if (!left.is_number() || !right.is_number()) {
    const auto described = [](const Value& value) {
      return value.is_undefined() ? value.as_text() + ", which is undefined,"
                                  : std::string("a value of type ") + value.type_name();
    };
    return fail(at, "'" + name + "' cannot be applied to " + described(left) + " and " + described(right));
  }
  return arithmetic(name, left, right, at);
}

Value Interpreter::arithmetic(const std::string& name, const Value& left, const Value& right, const Position& at) {
  const bool divides = name == "/" || name == "//" || name == "%";
  if (divides && right.as_real() == 0) {
    return fail(at, "division by zero");
  }
  const bool is_integral =
      left.is_integral() && right.is_integral() && name != "/" && !(name == "**" && right.as_int() < 0);
  if (!is_integral) {
    const double a = left.as_real();
    const double b = right.as_real();
    return Value::real(name == "+"    ? a + b
                       : name == "-"  ? a - b
                       : name == "*"  ? a * b
                       : name == "/"  ? a / b
                       : name == "//" ? std::floor(a / b)
                       : name == "%"  ? a - b * std::floor(a / b)
                                      : std::pow(a, b));
  }
  const int64_t a = left.as_int();
  const int64_t b = right.as_int();
  int64_t result = 1;
  bool overflows = false;
  if (name == "+") {
    overflows = __builtin_add_overflow(a, b, &result);
  } else if (name == "-") {
    overflows = __builtin_sub_overflow(a, b, &result);
  } else if (name == "*") {
    overflows = __builtin_mul_overflow(a, b, &result);
  } else if (name == "**") {
    for (int64_t i = 0; i < b && !overflows && charge(1, at); i++) {
      overflows = __builtin_mul_overflow(result, a, &result);
    }
  } else if (b == -1) {
    overflows = name == "//" && __builtin_sub_overflow(int64_t{0}, a, &result);
    result = name == "%" ? 0 : result;
  } else {  // towards minus infinity, as in Python
    const int64_t remainder = a % b;
    const bool adjust = remainder != 0 && (remainder < 0) != (b < 0);
    result = name == "%" ? (adjust ? remainder + b : remainder) : a / b - (adjust ? 1 : 0);
  }
  return overflows ? fail(at, "the result of '" + name + "' does not fit into 64 bits") : Value::integer(result);
}

bool Interpreter::ordered(const std::string& name, const Value& left, const Value& right, const Position& at) {
  int order = 0;
  if (left.is_number() && right.is_number()) {
    const double a = left.as_real();
    const double b = right.as_real();
    if (std::isnan(a) || std::isnan(b)) {
      return false;
    }
    order = left.is_integral() && right.is_integral() ? (left.as_int() < right.as_int()   ? -1
                                                         : left.as_int() > right.as_int() ? 1
                                                                                          : 0)
            : a < b                                   ? -1
            : a > b                                   ? 1
                                                      : 0;
  } else if (left.is_string() && right.is_string()) {
    order = left.as_text().compare(right.as_text());
  } else {
    fail(at, std::string("values of types ") + left.type_name() + " and " + right.type_name() + " have no order");
    return false;
  }
  return name == "<" ? order < 0 : name == ">" ? order > 0 : name == "<=" ? order <= 0 : order >= 0;
}

bool Interpreter::contains(const Value& container, const Value& item, const Position& at) {
  if (failed()) {
    return false;
  }
  if (container.is_string()) {
    if (!item.is_string()) {
      fail(at, std::string("'in' a string needs a string, found a value of type ") + item.type_name());
      return false;
    }
    charge(container.as_text().size(), at);
    return container.as_text().find(item.as_text()) != std::string::npos;
  }
  if (container.is(Type::kDict) || container.is(Type::kNamespace)) {
    charge(container.is(Type::kDict) ? container.as_dict().size() : 1, at);
    return container.find(item) != nullptr;
  }
  const List items = elements(container, at);
  return std::any_of(items.begin(), items.end(), [&item](const Value& other) { return other.equals(item); });
}

bool Interpreter::test(const std::string& name, const Value& value, const Arguments& arguments, const Position& at) {
  const Value* const other = arguments.get(0, "other");
  const auto other_or_fail = [&]() -> const Value& {
    static const Value nothing;
    if (other == nullptr) {
      fail(at, "test '" + name + "' needs an argument");
    }
    return other != nullptr ? *other : nothing;
  };
  if (name == "defined" || name == "undefined") {
    return value.is_undefined() == (name == "undefined");
  }
  if (name == "none") {
    return value.is(Type::kNone);
  }
  if (name == "string") {
    return value.is_string();
  }
  if (name == "number") {
    return value.is_number();
  }
  if (name == "integer" || name == "float" || name == "boolean") {
    return value.is(name == "integer" ? Type::kInt : name == "float" ? Type::kFloat : Type::kBool);
  }
  if (name == "true" || name == "false") {
    return value.is(Type::kBool) && value.truthy() == (name == "true");
  }
  if (name == "mapping") {
    return value.is(Type::kDict);
  }
  if (name == "iterable" || name == "sequence") {
    return value.is(Type::kList) || value.is_string() || value.is(Type::kDict) || value.is_undefined();
  }
  if (name == "callable") {
    return value.is(Type::kFunction);
  }
  if (name == "odd" || name == "even") {
    const Value rest = binary("%", value, Value::integer(2), at);
    return !failed() && rest.truthy() == (name == "odd");
  }
  if (name == "divisibleby") {
    const Value* const number = arguments.get(0, "num");
    const Value rest = binary("%", value, number != nullptr ? *number : Value(), at);
    return !failed() && !rest.truthy();
  }
  if (name == "upper" || name == "lower") {
    const std::string all = value.to_text();
    return (name == "upper" ? jinja::upper(all) : jinja::lower(all)) == all && jinja::upper(all) != jinja::lower(all);
  }
  if (name == "eq" || name == "equalto" || name == "sameas") {
    const bool same = value.equals(other_or_fail());
    return name == "sameas" ? same && value.type() == other_or_fail().type() : same;
  }
  if (name == "ne") {
    return !value.equals(other_or_fail());
  }
  if (name == "in") {
    const Value* const container = arguments.get(0, "seq");
    return container != nullptr ? contains(*container, value, at) : other_or_fail().truthy();
  }
  if (name == "lt" || name == "lessthan" || name == "gt" || name == "greaterthan" || name == "le" || name == "ge") {
    const char* const sign = name[0] == 'l' ? (name == "le" ? "<=" : "<") : (name == "ge" ? ">=" : ">");
    return ordered(sign, value, other_or_fail(), at);
  }
  fail(at, "unknown test '" + name + "'");
  return false;
}

Value Interpreter::range(const Arguments& arguments, const Position& at) {
  const std::vector<Value>& given = arguments.positional;
  if (given.empty() || given.size() > 3 ||
      !std::all_of(given.begin(), given.end(), [](const Value& value) { return value.is_integral(); })) {
    return fail(at, "range() takes one to three integers");
  }
  const int64_t start = given.size() == 1 ? 0 : given[0].as_int();
  const int64_t stop = given.size() == 1 ? given[0].as_int() : given[1].as_int();
  const int64_t step = given.size() == 3 ? given[2].as_int() : 1;
  if (step == 0) {
    return fail(at, "the step of range() is 0");
  }
  List numbers;
  for (int64_t i = start; (step > 0 ? i < stop : i > stop) && charge(16, at);) {
    numbers.push_back(Value::integer(i));
    if (__builtin_add_overflow(i, step, &i)) {
      break;
    }
  }
  return list(std::move(numbers), at);
}

Value Interpreter::call_function(const std::string& name, const Arguments& arguments, const Position& at) {
  if (name == "range") {
    return range(arguments, at);
  }
  if (name == "namespace" || name == "dict") {
    Dict entries;
    if (!arguments.positional.empty() && arguments.positional[0].is(Type::kDict)) {
      entries = arguments.positional[0].as_dict();
    }
    for (const auto& [key, value] : arguments.named) {
      entries.emplace_back(Value::text(key), value);
    }
    if (name == "dict") {
      return dict(std::move(entries), at);
    }
    namespaces_.push_back(std::move(entries));
    return charge(8, at) ? Value::name_space(&namespaces_.back()) : Value();
  }
  const Value* const first = arguments.get(0, name == "raise_exception" ? "message" : "format");
  const std::string given = first != nullptr ? first->to_text() : "";
  if (name == "raise_exception") {
    return fail(at, "the template refuses this conversation: " + given);
  }
  // strftime_now
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  localtime_r(&now, &local);
  char buffer[256];
  const size_t length = given.empty() ? 0 : std::strftime(buffer, sizeof(buffer), given.c_str(), &local);
  return text(std::string(buffer, length), at);
}

}  // namespace jinja
}  // namespace llm
}  // namespace extension
}  // namespace executorch
