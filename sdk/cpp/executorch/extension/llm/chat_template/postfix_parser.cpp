// SPDX-License-Identifier: BSD-3-Clause
// Postfix operators: subscripts, arguments, filters and tests; and the targets of statements.
#include "expression_parser.h"

namespace executorch {
namespace extension {
namespace llm {
namespace jinja {

NodePtr ExpressionParser::subscript(NodePtr object) {
  if (sees_symbol("[")) {
    return one_subscript(std::move(object));
  }
  NodePtr node = with(make(Kind::kAttribute), std::move(object));
  next();
  if (sees(TokenKind::kInt)) {
    node->kind = Kind::kIndex;
    add(*node, number(now()));
  } else {
    node->value = Value::text(expect_name("an attribute"));
  }
  return node;
}

NodePtr ExpressionParser::one_subscript(NodePtr object) {
  NodePtr node = with(make(Kind::kIndex), std::move(object));
  next();
  const auto part = [this]() -> NodePtr {
    return sees_symbol(":") || sees_symbol("]") || sees_symbol(",") ? nullptr : expression();
  };
  NodePtr first = part();
  if (!first && !sees_symbol(":")) {
    fail("expected an index, found " + found());
  }
  if (sees_symbol(",")) {
    NodePtr keys = with(make(Kind::kTuple), std::move(first));
    while (!failed() && take_symbol(",")) {
      add(*keys, expression());
    }
    first = std::move(keys);
  }
  add(*node, std::move(first));
  if (take_symbol(":")) {
    node->kind = Kind::kSlice;
    add(*node, part());
    add(*node, take_symbol(":") ? part() : nullptr);
  }
  expect_symbol("]");
  return node;
}

void ExpressionParser::arguments(Node& call) {
  expect_symbol("(");
  Spreads spreads;
  while (!failed() && !sees_symbol(")")) {
    one_argument(call, spreads);
    if (!take_symbol(",")) {
      break;
    }
  }
  expect_symbol(")");
}

void ExpressionParser::one_argument(Node& call, Spreads& before) {
  if (sees_symbol("*") || sees_symbol("**")) {
    const std::string name = now().text;
    if (before.of_names || (name == "*" && before.of_values)) {
      fail("only one argument with " + name + " is possible, and * comes before **");
    }
    (name == "*" ? before.of_values : before.of_names) = true;
    next();
    add_named(call, name, expression());
  } else if (sees(TokenKind::kName) && after().kind == TokenKind::kSymbol && after().text == "=") {
    if (before.of_names) {
      fail("an argument with a name comes before **");
    }
    std::string name = now().text;
    next();
    next();
    add_named(call, std::move(name), expression());
  } else {
    if (!call.named.empty()) {
      fail("an argument without a name comes before those with one");
    }
    add(call, expression());
  }
}

NodePtr ExpressionParser::filters(NodePtr node) {
  while (!failed()) {
    if (take_symbol("|")) {
      node = filter(std::move(node));
    } else if (sees_word({"is"})) {
      node = test(std::move(node));
    } else if (sees_symbol("(")) {
      NodePtr call = with(make(Kind::kCall), std::move(node));
      arguments(*call);
      node = std::move(call);
    } else {
      break;
    }
  }
  return node;
}

NodePtr ExpressionParser::filter(NodePtr input) {
  NodePtr node = make(Kind::kFilter);
  add(*node, std::move(input));
  node->name = expect_name("the name of a filter");
  while (!failed() && take_symbol(".")) {
    node->name += "." + expect_name("the name of a filter");
  }
  if (sees_symbol("(")) {
    arguments(*node);
  }
  return node;
}

NodePtr ExpressionParser::test(NodePtr input) {
  next();
  NodePtr negation = sees_word({"not"}) ? make(Kind::kUnary, "not") : nullptr;
  if (negation) {
    next();
  }
  NodePtr node = with(make(Kind::kTest), std::move(input));
  node->name = expect_name("the name of a test");
  while (!failed() && take_symbol(".")) {
    node->name += "." + expect_name("the name of a test");
  }
  if (sees_symbol("(")) {
    arguments(*node);
  } else if ((sees(TokenKind::kName) && !sees_word({"else", "or", "and"})) || sees(TokenKind::kString) ||
             sees(TokenKind::kInt) || sees(TokenKind::kFloat) || sees_symbol("[") || sees_symbol("{")) {
    if (sees_word({"is"})) {
      fail("a test cannot follow another one without 'and'");
    }
    add(*node, postfix(primary()));
  }
  return negation ? with(std::move(negation), std::move(node)) : std::move(node);
}

NodePtr ExpressionParser::one_target(bool with_namespace) {
  if (!work_.may_recurse()) {
    return make(Kind::kLiteral);
  }
  if (sees_symbol("(")) {
    next();
    NodePtr inside = target(with_namespace, {});
    expect_symbol(")");
    return inside;
  }
  const Token token = now();
  if (!sees(TokenKind::kName)) {
    fail("expected a name, found " + found());
    return make(Kind::kLiteral);
  }
  for (const char* const constant : {"true", "True", "false", "False", "none", "None"}) {
    if (token.text == constant) {
      fail("'" + token.text + "' cannot be assigned to");
    }
  }
  NodePtr node = make_name(token.text);
  next();
  if (with_namespace && take_symbol(".")) {
    node->kind = Kind::kNamespace;
    node->value = Value::text(expect_name("an attribute"));
  }
  return node;
}

NodePtr ExpressionParser::target(bool with_namespace, Words ends) {
  NodePtr first = one_target(with_namespace);
  if (!sees_symbol(",")) {
    return first;
  }
  NodePtr node = with(make(Kind::kTuple), std::move(first));
  while (!failed() && take_symbol(",") && !sees_symbol("=") && !sees_symbol(")") && !sees_word(ends) &&
         !sees(TokenKind::kBlockEnd)) {
    add(*node, one_target(with_namespace));
  }
  return node;
}

}  // namespace jinja
}  // namespace llm
}  // namespace extension
}  // namespace executorch
