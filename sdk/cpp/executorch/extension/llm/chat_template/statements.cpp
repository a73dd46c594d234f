// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <utility>

#include "interpreter.h"

namespace executorch {
namespace extension {
namespace llm {
namespace jinja {

using Kind = Node::Kind;
using Type = Value::Type;

void Interpreter::write(const std::string& text) {
  output_->append(text);
}

void Interpreter::set(const std::string& name, Value value) {
  Scope& scope = scopes_.back();
  const auto found = std::find_if(scope.begin(), scope.end(), [&name](const auto& item) { return item.first == name; });
  if (found == scope.end()) {
    scope.emplace_back(name, std::move(value));
  } else {
    found->second = std::move(value);
  }
}

Interpreter::Flow Interpreter::run(const Node& node) {
  if (!charge(1, node.at)) {
    return Flow::kOn;
  }
  switch (node.kind) {
    case Kind::kBody:
      return run_body(node);
    case Kind::kText:
      charge(node.name.size() / 4, node.at);
      write(node.name);
      return Flow::kOn;
    case Kind::kOutput: {
      const Value value = evaluate(*node.children[0]);
      const std::string made = value.to_text();
      if (charge(made.size() / 4, node.at)) {
        write(made);
      }
      return Flow::kOn;
    }
    case Kind::kIf:
      return run_if(node);
    case Kind::kFor:
      return run_for(node);
    case Kind::kSet:
      run_set(node);
      return Flow::kOn;
    case Kind::kSetBlock:
      set(node.names[0], text(captured(*node.children[0]), node.at));
      return Flow::kOn;
    case Kind::kFilterBlock: {
      const Node& applied = *node.children[1];
      const Value input = Value::text(captured(*node.children[0]));
      write(filter(applied.name, input, arguments_of(applied), applied.at).to_text());
      return Flow::kOn;
    }
    case Kind::kMacro:
      set(node.name, Value::function(node.name, &node));
      return Flow::kOn;
    case Kind::kBreak:
      return Flow::kBreak;
    case Kind::kContinue:
      return Flow::kContinue;
    default:
      fail(node.at, "unexpected expression");
      return Flow::kOn;
  }
}

Interpreter::Flow Interpreter::run_body(const Node& node) {
  for (const NodePtr& statement : node.children) {
    const Flow flow = run(*statement);
    if (failed() || flow != Flow::kOn) {
      return flow;
    }
  }
  return Flow::kOn;
}

Interpreter::Flow Interpreter::run_if(const Node& node) {
  size_t i = 0;
  for (; i + 1 < node.children.size(); i += 2) {
    if (truthy(*node.children[i])) {
      return run(*node.children[i + 1]);
    }
    if (failed()) {
      return Flow::kOn;
    }
  }
  return i < node.children.size() ? run(*node.children[i]) : Flow::kOn;
}

void Interpreter::assign(const std::vector<std::string>& names, const Value& value, const Position& at) {
  if (names.size() == 1) {
    set(names[0], value);
    return;
  }
  const List parts = elements(value, at);
  if (!failed() && parts.size() != names.size()) {
    fail(at, std::to_string(parts.size()) + " values cannot be assigned to " + std::to_string(names.size()) + " names");
  }
  for (size_t i = 0; i < names.size() && !failed(); i++) {
    set(names[i], parts[i]);
  }
}

Interpreter::Flow Interpreter::run_for(const Node& node) {
  List items = elements(evaluate(*node.children[0]), node.at);
  if (node.children[1]) {
    List kept;
    for (const Value& item : items) {
      scopes_.emplace_back();
      assign(node.names, item, node.at);
      if (truthy(*node.children[1])) {
        kept.push_back(item);
      }
      scopes_.pop_back();
      if (failed()) {
        return Flow::kOn;
      }
    }
    items = std::move(kept);
  }
  if (items.empty() && node.children[3] && !failed()) {
    return run(*node.children[3]);
  }
  namespaces_.emplace_back();
  Dict& loop = namespaces_.back();
  const auto count = static_cast<int64_t>(items.size());
  for (int64_t i = 0; i < count && charge(32, node.at); i++) {
    const auto place = static_cast<size_t>(i);
    loop = {
        {Value::text("index"), Value::integer(i + 1)},        {Value::text("index0"), Value::integer(i)},
        {Value::text("revindex"), Value::integer(count - i)}, {Value::text("revindex0"), Value::integer(count - i - 1)},
        {Value::text("first"), Value::boolean(i == 0)},       {Value::text("last"), Value::boolean(i + 1 == count)},
        {Value::text("length"), Value::integer(count)}};
    if (i > 0) {
      loop.emplace_back(Value::text("previtem"), items[place - 1]);
    }
    if (i + 1 < count) {
      loop.emplace_back(Value::text("nextitem"), items[place + 1]);
    }
    scopes_.emplace_back();
    set("loop", Value::name_space(&loop));
    assign(node.names, items[place], node.at);
    const Flow flow = failed() ? Flow::kBreak : run(*node.children[2]);
    scopes_.pop_back();
    if (flow == Flow::kBreak) {
      break;
    }
  }
  loop.clear();
  return Flow::kOn;
}

void Interpreter::run_set(const Node& node) {
  const Value value = evaluate(*node.children[0]);
  if (failed()) {
    return;
  }
  if (node.name != ".") {
    assign(node.names, value, node.at);
    return;
  }
  Node object;
  object.kind = Kind::kName;
  object.name = node.names[0];
  object.at = node.at;
  const Value target = name(object);
  if (!target.is(Type::kNamespace)) {
    fail(node.at,
         "attributes can be set of a namespace() only; '" + node.names[0] + "' is of type " + target.type_name());
    return;
  }
  Dict& attributes = target.attributes();
  const auto found = std::find_if(attributes.begin(), attributes.end(),
                                  [&node](const Entry& entry) { return entry.first.as_text() == node.names[1]; });
  if (found == attributes.end()) {
    attributes.emplace_back(Value::text(node.names[1]), value);
  } else {
    found->second = value;
  }
}

std::string Interpreter::captured(const Node& body) {
  std::string made;
  std::string* const outer = std::exchange(output_, &made);
  scopes_.emplace_back();
  run(body);
  scopes_.pop_back();
  output_ = outer;
  return made;
}

}  // namespace jinja
}  // namespace llm
}  // namespace extension
}  // namespace executorch
