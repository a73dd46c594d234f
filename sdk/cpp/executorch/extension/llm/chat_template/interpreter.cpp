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

/// Arguments of one call, with those that * adds.
constexpr size_t kMaxArguments = 1000;

}  // namespace

Interpreter::Interpreter(const Template& parsed, const Value& variables, Budget& budget, Problem& problem)
    : Work(budget, problem), parsed_(parsed), variables_(parsed.names.size()), has_variable_(parsed.names.size()) {
  for (size_t i = 0; i < parsed.names.size() && !failed(); i++) {
    const std::string& wanted = parsed.names[i];
    const Value* const found = find(*this, variables.as<DictStorage>(), wanted);
    const Filter* const global = globals().find(wanted);
    has_variable_[i] = found != nullptr || global != nullptr;
    variables_[i] = found != nullptr ? *found : global != nullptr ? Value::global(global->name) : Value();
  }
}

Interpreter::~Interpreter() {
  for (const std::unique_ptr<Frame>& frame : kept_) {
    budget().give_back(frame->bytes);
  }
  budget().give_back(for_good_);
}

std::string Interpreter::render() {
  TextBuilder text(*this);
  output_ = &text;
  Scope scope(*this, nullptr);
  run(*parsed_.body);
  return text.release();
}

Value Interpreter::evaluate(const Node& node) {
  at(node.at);
  return step() && may_recurse() ? evaluate_here(node) : Value();
}

Value Interpreter::evaluate_here(const Node& node) {
  switch (node.kind) {
    case Kind::kLiteral:
      return node.value;
    case Kind::kName:
      return name(node);
    case Kind::kList:
      return sequence(node, Type::kList);
    case Kind::kTuple:
      return sequence(node, Type::kTuple);
    case Kind::kDict:
      return dictionary(node);
    case Kind::kUnary:
      return unary(node);
    case Kind::kAnd:
    case Kind::kOr: {
      Value left = evaluate(*node.children[0]);
      return left.truthy() == (node.kind == Kind::kOr) ? left : evaluate(*node.children[1]);
    }
    case Kind::kBinary: {
      const Value left = evaluate(*node.children[0]);
      const Value right = evaluate(*node.children[1]);
      at(node.at);
      return binary(node.name, left, right);
    }
    case Kind::kConcat:
      return concat(node);
    case Kind::kCompare:
      return compare(node);
    case Kind::kTernary: {
      const bool condition = evaluate(*node.children[0]).truthy();
      return condition ? evaluate(*node.children[1])
                       : (node.children[2] ? evaluate(*node.children[2]) : undefined("the value without else"));
    }
    case Kind::kAttribute: {
      const Value object = evaluate(*node.children[0]);
      at(node.at);
      return attribute(object, node.value);
    }
    case Kind::kIndex: {
      const Value object = evaluate(*node.children[0]);
      const Value key = evaluate(*node.children[1]);
      at(node.at);
      return item(object, key);
    }
    case Kind::kSlice:
      return sliced(node);
    case Kind::kCall:
      return call_node(node, nullptr);
    case Kind::kFilter: {
      const Value input = node.children[0] ? evaluate(*node.children[0]) : *block_text_;
      const Arguments arguments = arguments_of(node);
      at(node.at);
      return filter(node.name, input, arguments);
    }
    case Kind::kTest: {
      const Value input = evaluate(*node.children[0]);
      const Arguments arguments = arguments_of(node);
      at(node.at);
      return Value::boolean(test(node.name, input, arguments));
    }
    default:
      return fail("unexpected statement");
  }
}

Value Interpreter::name(const Node& node) {
  for (const Frame* frame = frame_; frame != nullptr && step(); frame = frame->outer) {
    for (const auto& [id, value] : frame->variables) {
      if (id == node.id) {
        return value;
      }
    }
    step(frame->variables.size() / 16);
  }
  const auto id = static_cast<size_t>(node.id);
  return has_variable_[id] ? variables_[id] : undefined("'" + parsed_.names[id].substr(0, 80) + "'");
}

Value Interpreter::sequence(const Node& node, Type type) {
  ListBuilder items(*this);
  for (const NodePtr& child : node.children) {
    if (!items.add(evaluate(*child))) {
      return {};
    }
  }
  at(node.at);
  return items.value(type);
}

Value Interpreter::dictionary(const Node& node) {
  DictBuilder entries(*this);
  for (size_t i = 0; i + 1 < node.children.size(); i += 2) {
    Value key = evaluate(*node.children[i]);
    Value value = evaluate(*node.children[i + 1]);
    at(node.at);
    if (!entries.set(std::move(key), std::move(value))) {
      return {};
    }
  }
  return entries.value();
}

Value Interpreter::concat(const Node& node) {
  TextBuilder text(*this);
  for (const NodePtr& child : node.children) {
    const Value part = evaluate(*child);
    at(node.at);
    write_str(*this, text, part);
  }
  return text.value();
}

Value Interpreter::unary(const Node& node) {
  const Value operand = evaluate(*node.children[0]);
  at(node.at);
  if (node.name == "not") {
    return Value::boolean(!operand.truthy());
  }
  if (!operand.is_number()) {
    return fail("expected a number after '" + node.name + "', found " +
                (operand.is_undefined() ? operand.hint() + ", which is undefined"
                                        : std::string("a value of type ") + operand.type_name()));
  }
  if (operand.is(Type::kFloat)) {
    return Value::real(node.name == "-" ? -operand.as_real() : operand.as_real());
  }
  return node.name == "-" ? binary("-", Value::integer(0), operand) : Value::integer(operand.as_int());
}

Value Interpreter::compare(const Node& node) {
  Value left = evaluate(*node.children[0]);
  for (size_t i = 0; i < node.names.size(); i++) {
    Value right = evaluate(*node.children[i + 1]);
    if (failed()) {
      return {};
    }
    at(node.at);
    const std::string& sign = node.names[i];
    const bool holds = sign == "=="       ? equal(*this, left, right)
                       : sign == "!="     ? !equal(*this, left, right)
                       : sign == "in"     ? contains(right, left)
                       : sign == "not in" ? !contains(right, left)
                                          : ordered(*this, sign, left, right);
    if (!holds) {
      return Value::boolean(false);
    }
    left = std::move(right);
  }
  return Value::boolean(true);
}

Value Interpreter::sliced(const Node& node) {
  const Value object = evaluate(*node.children[0]);
  Value bounds[3];
  for (size_t i = 0; i < 3; i++) {
    bounds[i] = node.children[i + 1] ? evaluate(*node.children[i + 1]) : Value::none();
  }
  at(node.at);
  return failed() ? Value() : slice(object, bounds[0], bounds[1], bounds[2]);
}

Arguments Interpreter::arguments_of(const Node& node) {
  Arguments arguments;
  for (size_t i = 1; i < node.children.size(); i++) {
    arguments.positional.push_back(evaluate(*node.children[i]));
  }
  for (const auto& [name, value] : node.named) {
    if (name == "*" || name == "**") {
      spread(*value, name, arguments);
    } else {
      arguments.named.emplace_back(name, evaluate(*value));
    }
  }
  return arguments;
}

void Interpreter::spread(const Node& node, const std::string& name, Arguments& arguments) {
  const Value more = evaluate(node);
  if (failed()) {
    return;
  }
  if (name == "**" && !more.is_dict()) {
    fail(std::string("expected a dictionary after **, found a value of type ") + more.type_name());
    return;
  }
  const Value items = elements(more);
  if (failed() || arguments.positional.size() + items.as_list().size() > kMaxArguments) {
    fail("a call has more than " + std::to_string(kMaxArguments) + " arguments");
    return;
  }
  for (const Value& item : items.as_list()) {
    if (name == "*") {
      arguments.positional.push_back(item);
    } else if (string(item, "the name of an argument") && read(item.as_text().size())) {
      arguments.named.emplace_back(item.as_text(), *find(*this, more.as<DictStorage>(), item));
    }
  }
}

Value Interpreter::call_node(const Node& node, const Value* caller) {
  const Value function = evaluate(*node.children[0]);
  Arguments arguments = arguments_of(node);
  if (caller != nullptr) {
    arguments.named.emplace_back("caller", *caller);
  }
  at(node.at);
  return failed() ? Value() : call(function, arguments);
}

}  // namespace jinja
}  // namespace llm
}  // namespace extension
}  // namespace executorch
