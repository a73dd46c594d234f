// SPDX-License-Identifier: BSD-3-Clause
#include "interpreter.h"

#include <algorithm>

namespace executorch {
namespace extension {
namespace llm {
namespace jinja {

using Kind = Node::Kind;
using Type = Value::Type;

namespace {

/// Of evaluations inside one another, through macros too: the stack is finite.
constexpr int kMaxCalls = 800;

bool is_global(std::string_view name) {
  return name == "range" || name == "namespace" || name == "dict" || name == "raise_exception" ||
         name == "strftime_now";
}

}  // namespace

const Value* Arguments::get(size_t place, std::string_view name) const {
  if (place < positional.size()) {
    return &positional[place];
  }
  const auto found = std::find_if(named.begin(), named.end(), [name](const auto& item) { return item.first == name; });
  return found == named.end() ? nullptr : &found->second;
}

Interpreter::Interpreter(Dict globals, Problem& problem, int64_t max_work)
    : problem_(problem), globals_(std::move(globals)), max_work_(max_work) {}

std::string Interpreter::render(const Node& body) {
  std::string text;
  output_ = &text;
  scopes_.emplace_back();
  run(body);
  return text;
}

Value Interpreter::fail(const Position& at, std::string message) {
  if (!failed()) {
    problem_ = {at, std::move(message)};
  }
  return {};
}

bool Interpreter::charge(size_t units, const Position& at) {
  work_ += static_cast<int64_t>(std::min<size_t>(units, kMaxWork));
  if (work_ > max_work_) {
    fail(at, "the template takes more than " + std::to_string(max_work_) + " steps");
  }
  return !failed();
}

Value Interpreter::text(std::string made, const Position& at) {
  return charge(made.size() / 4, at) ? Value::text(std::move(made)) : Value();
}

Value Interpreter::list(List items, const Position& at) {
  Value made = Value::list(std::move(items));
  if (made.depth() > kMaxDepth) {
    return fail(at, "lists are nested deeper than " + std::to_string(kMaxDepth));
  }
  return charge(made.as_list().size() * 16, at) ? made : Value();
}

Value Interpreter::dict(Dict entries, const Position& at) {
  Value made = Value::dict(std::move(entries));
  if (made.depth() > kMaxDepth) {
    return fail(at, "dictionaries are nested deeper than " + std::to_string(kMaxDepth));
  }
  return charge(made.as_dict().size() * 32, at) ? made : Value();
}

List Interpreter::elements(const Value& value, const Position& at) {
  List items;
  switch (value.type()) {
    case Type::kUndefined:
      break;
    case Type::kList:
      items = value.as_list();
      break;
    case Type::kDict:
      for (const Entry& entry : value.as_dict()) {
        items.push_back(entry.first);
      }
      break;
    case Type::kString: {
      const std::string& all = value.as_text();
      const std::vector<size_t> starts = code_points(all);
      for (size_t i = 0; i + 1 < starts.size(); i++) {
        items.push_back(Value::text(all.substr(starts[i], starts[i + 1] - starts[i])));
      }
      break;
    }
    default:
      fail(at, std::string("a value of type ") + value.type_name() + " has no elements");
  }
  charge(items.size() * 16, at);
  return items;
}

Value Interpreter::evaluate(const Node& node) {
  if (failed() || !charge(1, node.at)) {
    return {};
  }
  if (depth_ >= kMaxCalls) {
    return fail(node.at, "macros and expressions are nested deeper than " + std::to_string(kMaxCalls));
  }
  depth_++;
  Value value = evaluate_here(node);
  depth_--;
  return value;
}

Value Interpreter::evaluate_here(const Node& node) {
  switch (node.kind) {
    case Kind::kLiteral:
      return node.value;
    case Kind::kName:
      return name(node);
    case Kind::kList: {
      List items;
      for (const NodePtr& child : node.children) {
        items.push_back(evaluate(*child));
      }
      return list(std::move(items), node.at);
    }
    case Kind::kDict: {
      Dict entries;
      for (size_t i = 0; i + 1 < node.children.size(); i += 2) {
        Value key = evaluate(*node.children[i]);
        entries.emplace_back(std::move(key), evaluate(*node.children[i + 1]));
      }
      return dict(std::move(entries), node.at);
    }
    case Kind::kUnary:
      return unary(node);
    case Kind::kBinary: {
      Value left = evaluate(*node.children[0]);
      if (node.name == "and" || node.name == "or") {
        return left.truthy() == (node.name == "or") ? left : evaluate(*node.children[1]);
      }
      return binary(node.name, left, evaluate(*node.children[1]), node.at);
    }
    case Kind::kCompare:
      return compare(node);
    case Kind::kTernary: {
      const bool condition = truthy(*node.children[0]);
      return condition ? evaluate(*node.children[1])
                       : (node.children[2] ? evaluate(*node.children[2]) : Value::undefined("the value without else"));
    }
    case Kind::kAttribute:
      return attribute(evaluate(*node.children[0]), node.name, node.at);
    case Kind::kIndex:
      return index(node);
    case Kind::kSlice:
      return slice(node);
    case Kind::kCall:
      return call(node);
    case Kind::kFilter: {
      const Value input = evaluate(*node.children[0]);
      const Arguments arguments = arguments_of(node);
      return failed() ? Value() : filter(node.name, input, arguments, node.at);
    }
    case Kind::kTest: {
      const Value input = evaluate(*node.children[0]);
      const Arguments arguments = arguments_of(node);
      return Value::boolean(!failed() && test(node.name, input, arguments, node.at));
    }
    default:
      return fail(node.at, "unexpected statement");
  }
}

Value Interpreter::name(const Node& node) {
  const auto in = [&node](const Scope& scope) -> const Value* {
    for (const auto& [key, value] : scope) {
      if (key == node.name) {
        return &value;
      }
    }
    return nullptr;
  };
  for (size_t i = scopes_.size(); i-- > first_scope_;) {
    if (const Value* const found = in(scopes_[i])) {
      return *found;
    }
  }
  if (const Value* const found = in(scopes_[0])) {
    return *found;
  }
  for (const Entry& entry : globals_) {
    if (entry.first.as_text() == node.name) {
      return entry.second;
    }
  }
  return is_global(node.name) ? Value::function(node.name, nullptr) : Value::undefined("'" + node.name + "'");
}

Value Interpreter::unary(const Node& node) {
  const Value operand = evaluate(*node.children[0]);
  if (node.name == "not") {
    return Value::boolean(!operand.truthy());
  }
  if (!operand.is_number()) {
    return fail(node.at, "expected a number after '" + node.name + "', found a value of type " + operand.type_name());
  }
  if (node.name == "+") {
    return operand;
  }
  return binary("-", Value::integer(0), operand, node.at);
}

Value Interpreter::compare(const Node& node) {
  Value left = evaluate(*node.children[0]);
  for (size_t i = 0; i < node.names.size(); i++) {
    Value right = evaluate(*node.children[i + 1]);
    if (failed()) {
      return {};
    }
    const std::string& name = node.names[i];
    const bool holds = name == "=="       ? left.equals(right)
                       : name == "!="     ? !left.equals(right)
                       : name == "in"     ? contains(right, left, node.at)
                       : name == "not in" ? !contains(right, left, node.at)
                                          : ordered(name, left, right, node.at);
    if (!holds) {
      return Value::boolean(false);
    }
    left = std::move(right);
  }
  return Value::boolean(true);
}

Value Interpreter::attribute(const Value& object, const std::string& name, const Position& at) {
  if (object.is_undefined()) {
    return fail(at, object.as_text() + " is undefined, and has no attribute '" + name + "'");
  }
  const Value* const found = object.find(std::string_view(name));
  return found != nullptr ? *found : Value::undefined("attribute '" + name + "'");
}

Value Interpreter::index(const Node& node) {
  const Value object = evaluate(*node.children[0]);
  const Value key = evaluate(*node.children[1]);
  if (object.is_undefined()) {
    return fail(node.at, object.as_text() + " is undefined, and has no elements");
  }
  if (object.is(Type::kDict) || object.is(Type::kNamespace)) {
    charge(object.is(Type::kDict) ? object.as_dict().size() : 1, node.at);
    const Value* const found = object.find(key);
    return found != nullptr ? *found : Value::undefined("element " + key.repr());
  }
  if (!key.is_integral() || !(object.is(Type::kList) || object.is_string())) {
    return Value::undefined("element " + key.repr());
  }
  const bool is_list = object.is(Type::kList);
  const std::vector<size_t> starts = is_list ? std::vector<size_t>() : code_points(object.as_text());
  const auto count = static_cast<int64_t>(is_list ? object.as_list().size() : starts.size() - 1);
  charge(is_list ? 1 : starts.size(), node.at);
  const int64_t place = key.as_int() < 0 ? key.as_int() + count : key.as_int();
  if (place < 0 || place >= count) {
    return Value::undefined("element " + key.repr());
  }
  const auto i = static_cast<size_t>(place);
  return is_list ? object.as_list()[i] : Value::text(object.as_text().substr(starts[i], starts[i + 1] - starts[i]));
}

Value Interpreter::slice(const Node& node) {
  const Value object = evaluate(*node.children[0]);
  const List items = elements(object, node.at);
  Value bounds[3];
  for (size_t i = 0; i < 3; i++) {
    bounds[i] = node.children[i + 1] ? evaluate(*node.children[i + 1]) : Value::none();
    if (!failed() && !bounds[i].is_integral() && !bounds[i].is(Type::kNone)) {
      return fail(node.at, std::string("a slice needs integers, found a value of type ") + bounds[i].type_name());
    }
  }
  const int64_t step = bounds[2].is(Type::kNone) ? 1 : bounds[2].as_int();
  if (step == 0) {
    return fail(node.at, "the step of a slice is 0");
  }
  const auto count = static_cast<int64_t>(items.size());
  // As Python: ends beyond the sequence are its ends.
  const auto place = [&](const Value& bound, int64_t otherwise) {
    if (bound.is(Type::kNone)) {
      return otherwise;
    }
    const int64_t at = bound.as_int() < 0 ? std::max<int64_t>(bound.as_int(), -count - 1) + count : bound.as_int();
    return std::clamp<int64_t>(at, step > 0 ? 0 : -1, step > 0 ? count : count - 1);
  };
  const int64_t start = place(bounds[0], step > 0 ? 0 : count - 1);
  const int64_t stop = place(bounds[1], step > 0 ? count : -1);
  List kept;
  for (int64_t i = start; !failed() && (step > 0 ? i < stop : i > stop); i += step) {
    kept.push_back(items[static_cast<size_t>(i)]);
    if (step > count || step < -count) {
      break;
    }
  }
  if (!object.is_string()) {
    return list(std::move(kept), node.at);
  }
  std::string joined;
  for (const Value& item : kept) {
    joined += item.as_text();
  }
  return text(std::move(joined), node.at);
}

Arguments Interpreter::arguments_of(const Node& node) {
  Arguments arguments;
  for (size_t i = 1; i < node.children.size(); i++) {
    arguments.positional.push_back(evaluate(*node.children[i]));
  }
  for (const auto& [name, value] : node.named) {
    arguments.named.emplace_back(name, evaluate(*value));
  }
  return arguments;
}

Value Interpreter::call(const Node& node) {
  const Node& callee = *node.children[0];
  Value function;
  if (callee.kind == Kind::kAttribute) {
    const Value object = evaluate(*callee.children[0]);
    const Arguments arguments = arguments_of(node);
    Value result;
    if (failed() || method(object, callee.name, arguments, node.at, result)) {
      return result;
    }
    function = attribute(object, callee.name, callee.at);
    if (!failed() && !function.is(Type::kFunction)) {
      return fail(callee.at,
                  std::string("a value of type ") + object.type_name() + " has no method '" + callee.name + "'");
    }
  } else {
    function = evaluate(callee);
  }
  const Arguments arguments = arguments_of(node);
  if (failed()) {
    return {};
  }
  if (!function.is(Type::kFunction)) {
    return fail(node.at, function.is_undefined()
                             ? function.as_text() + " is undefined, and cannot be called"
                             : std::string("a value of type ") + function.type_name() + " cannot be called");
  }
  return function.node() != nullptr ? call_macro(*function.node(), arguments, node.at)
                                    : call_function(function.as_text(), arguments, node.at);
}

Value Interpreter::call_macro(const Node& macro, const Arguments& arguments, const Position& at) {
  if (arguments.positional.size() > macro.names.size()) {
    return fail(at, "macro '" + macro.name + "' takes " + std::to_string(macro.names.size()) + " arguments, found " +
                        std::to_string(arguments.positional.size()));
  }
  for (const auto& [name, value] : arguments.named) {
    if (std::find(macro.names.begin(), macro.names.end(), name) == macro.names.end()) {
      return fail(at, "macro '" + macro.name + "' has no parameter '" + name + "'");
    }
  }
  const size_t outer = std::exchange(first_scope_, scopes_.size());
  scopes_.emplace_back();
  for (size_t i = 0; i < macro.names.size(); i++) {
    const std::string& name = macro.names[i];
    const Value* const given = arguments.get(i, name);
    const auto otherwise =
        std::find_if(macro.named.begin(), macro.named.end(), [&name](const auto& item) { return item.first == name; });
    set(name, given != nullptr                 ? *given
              : otherwise != macro.named.end() ? evaluate(*otherwise->second)
                                               : Value::undefined("'" + name + "'"));
  }
  Value made = failed() ? Value() : text(captured(*macro.children[0]), at);
  scopes_.pop_back();
  first_scope_ = outer;
  return made;
}

}  // namespace jinja
}  // namespace llm
}  // namespace extension
}  // namespace executorch
