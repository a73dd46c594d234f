// SPDX-License-Identifier: BSD-3-Clause
#include "expression_parser.h"

#include <charconv>
#include <cstdlib>
#include <system_error>

namespace executorch {
namespace extension {
namespace llm {
namespace jinja {

NodePtr ExpressionParser::tuple() {
  NodePtr first = expression();
  if (!sees_symbol(",")) {
    return first;
  }
  NodePtr list = with(make(Kind::kList), std::move(first));
  while (!failed() && take_symbol(",") && now().kind != TokenKind::kBlockEnd) {
    add(*list, expression());
  }
  return list;
}

NodePtr ExpressionParser::expression() {
  const Nested nested(*this);
  NodePtr value = or_expression();
  while (!failed() && sees_word({"if"})) {
    NodePtr node = make(Kind::kTernary);
    next();
    NodePtr condition = or_expression();
    node = with(std::move(node), std::move(condition), std::move(value));
    add(*node, take_word("else") ? expression() : nullptr);
    value = std::move(node);
  }
  return value;
}

NodePtr ExpressionParser::or_expression() {
  return words("or", [this] { return words("and", [this] { return not_expression(); }); });
}

NodePtr ExpressionParser::not_expression() {
  const Nested nested(*this);
  if (sees_word({"not"})) {
    NodePtr node = make(Kind::kUnary, "not");
    next();
    return failed() ? nullptr : with(std::move(node), not_expression());
  }
  return comparison();
}

NodePtr ExpressionParser::comparison() {
  NodePtr left = sum();
  NodePtr node;
  while (!failed()) {
    std::string name;
    if (now().kind == TokenKind::kSymbol && (now().text == "==" || now().text == "!=" || now().text == "<" ||
                                             now().text == ">" || now().text == "<=" || now().text == ">=")) {
      name = now().text;
    } else if (sees_word({"in"})) {
      name = "in";
    } else if (sees_word({"not"}) && tokens_[std::min(at_ + 1, tokens_.size() - 1)].text == "in") {
      name = "not in";
      next();
    } else {
      break;
    }
    if (!node) {
      node = with(make(Kind::kCompare), std::move(left));
    }
    next();
    node->names.push_back(name);
    add(*node, sum());
  }
  return node ? std::move(node) : std::move(left);
}

NodePtr ExpressionParser::sum() {
  return symbols({"+", "-"}, [this] {
    return symbols({"~"}, [this] {
      return symbols({"*", "/", "//", "%"}, [this] { return symbols({"**"}, [this] { return unary(true); }); });
    });
  });
}

NodePtr ExpressionParser::unary(bool with_filters) {
  const Nested nested(*this);
  NodePtr node;
  if (failed()) {
    return nullptr;
  }
  if (sees_symbol("-") || sees_symbol("+")) {
    node = make(Kind::kUnary, now().text);
    next();
    node = with(std::move(node), unary(false));
  } else {
    node = postfix(primary());
  }
  return with_filters ? filters(std::move(node)) : std::move(node);
}

NodePtr ExpressionParser::primary() {
  NodePtr node = make(Kind::kLiteral);
  const Token token = now();
  next();
  switch (token.kind) {
    case TokenKind::kString: {
      std::string text = token.text;
      for (; now().kind == TokenKind::kString; next()) {  // strings in a row are one
        text += now().text;
      }
      node->value = Value::text(std::move(text));
      return node;
    }
    case TokenKind::kFloat:
      node->value = Value::real(std::strtod(token.text.c_str(), nullptr));
      return node;
    case TokenKind::kInt: {
      int64_t number = 0;
      if (std::from_chars(token.text.data(), token.text.data() + token.text.size(), number).ec != std::errc()) {
        fail("the number " + token.text + " is too large");
      }
      node->value = Value::integer(number);
      return node;
    }
    case TokenKind::kName:
      return name(std::move(node), token.text);
    default:
      break;
  }
  if (token.kind == TokenKind::kSymbol && (token.text == "(" || token.text == "[")) {
    return sequence(std::move(node), token.text == "(" ? ")" : "]");
  }
  if (token.kind == TokenKind::kSymbol && token.text == "{") {
    return dictionary(std::move(node));
  }
  at_ -= at_ > 0 && token.kind != TokenKind::kEnd ? 1 : 0;
  fail("expected an expression, found " + found());
  return node;
}

NodePtr ExpressionParser::name(NodePtr node, const std::string& text) {
  if (text == "true" || text == "True" || text == "false" || text == "False") {
    node->value = Value::boolean(text == "true" || text == "True");
  } else if (text == "none" || text == "None") {
    node->value = Value::none();
  } else {
    node->kind = Kind::kName;
    node->name = text;
  }
  return node;
}

NodePtr ExpressionParser::sequence(NodePtr node, const char* end) {
  node->kind = Kind::kList;
  bool comma = false;
  while (!failed() && !sees_symbol(end)) {
    add(*node, expression());
    if (!take_symbol(",")) {
      break;
    }
    comma = true;
  }
  expect_symbol(end);
  const bool is_parenthesis = *end == ')' && !comma && node->children.size() == 1;
  return is_parenthesis ? std::move(node->children[0]) : std::move(node);
}

NodePtr ExpressionParser::dictionary(NodePtr node) {
  node->kind = Kind::kDict;
  while (!failed() && !sees_symbol("}")) {
    add(*node, expression());
    expect_symbol(":");
    add(*node, expression());
    if (!take_symbol(",")) {
      break;
    }
  }
  expect_symbol("}");
  return node;
}

NodePtr ExpressionParser::postfix(NodePtr node) {
  while (!failed()) {
    if (sees_symbol(".")) {
      NodePtr attribute = make(Kind::kAttribute);
      next();
      if (now().kind == TokenKind::kInt) {
        attribute->kind = Kind::kIndex;
        node = with(std::move(attribute), std::move(node), primary());
      } else {
        attribute->name = expect_name("an attribute");
        node = with(std::move(attribute), std::move(node));
      }
    } else if (sees_symbol("[")) {
      node = subscript(std::move(node));
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

NodePtr ExpressionParser::subscript(NodePtr object) {
  NodePtr node = with(make(Kind::kIndex), std::move(object));
  next();
  const auto part = [this]() -> NodePtr { return sees_symbol(":") || sees_symbol("]") ? nullptr : expression(); };
  NodePtr first = part();
  if (!first && sees_symbol("]")) {
    fail("expected an index, found ']'");
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
  while (!failed() && !sees_symbol(")")) {
    const Token& after = tokens_[std::min(at_ + 1, tokens_.size() - 1)];
    if (now().kind == TokenKind::kName && after.kind == TokenKind::kSymbol && after.text == "=") {
      std::string name = now().text;
      next();
      next();
      add_named(call, std::move(name), expression());
    } else if (sees_symbol("*") || sees_symbol("**")) {
      fail("arguments with * are not supported");
    } else {
      add(call, expression());
    }
    if (!take_symbol(",")) {
      break;
    }
  }
  expect_symbol(")");
}

NodePtr ExpressionParser::filters(NodePtr node) {
  while (!failed()) {
    if (sees_symbol("|")) {
      NodePtr filter = make(Kind::kFilter);
      next();
      filter->name = expect_name("the name of a filter");
      filter = with(std::move(filter), std::move(node));
      if (sees_symbol("(")) {
        arguments(*filter);
      }
      node = std::move(filter);
    } else if (sees_word({"is"})) {
      node = test(std::move(node));
    } else {
      break;
    }
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
  if (sees_symbol("(")) {
    arguments(*node);
  } else if (now().kind == TokenKind::kString || now().kind == TokenKind::kInt || now().kind == TokenKind::kFloat ||
             sees_symbol("[") || sees_symbol("{") ||
             (now().kind == TokenKind::kName && !sees_word({"else", "or", "and", "if", "in", "is", "not"}))) {
    add(*node, postfix(primary()));
  }
  return negation ? with(std::move(negation), std::move(node)) : std::move(node);
}

}  // namespace jinja
}  // namespace llm
}  // namespace extension
}  // namespace executorch
