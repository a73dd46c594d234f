// SPDX-License-Identifier: BSD-3-Clause
#include "expression_parser.h"

#include <charconv>
#include <system_error>

namespace executorch {
namespace extension {
namespace llm {
namespace jinja {

std::string ExpressionParser::found() const {
  switch (now().kind) {
    case TokenKind::kEnd:
      return "the end of the template";
    case TokenKind::kBlockEnd:
    case TokenKind::kOutputEnd:
      return "the end of the tag";
    case TokenKind::kText:
      return "text";
    case TokenKind::kString:
      return "a string";
    default:
      return "'" + now().text + "'";
  }
}

std::string ExpressionParser::expect_name(const char* what) {
  std::string name = now().text;
  if (!sees(TokenKind::kName)) {
    fail(std::string("expected ") + what + ", found " + found());
  }
  next();
  return name;
}

NodePtr ExpressionParser::make(Kind kind, std::string name) {
  work_.at(now().at);
  work_.take(sizeof(Node) + 4 * sizeof(void*) + 2 * name.size());
  auto node = std::make_unique<Node>();
  node->kind = kind;
  node->at = now().at;
  node->name = std::move(name);
  return node;
}

int ExpressionParser::id_of(const std::string& name) {
  const auto [found, is_new] = ids_.try_emplace(name, static_cast<int>(names_.size()));
  if (is_new) {
    names_.push_back(name);
  }
  return found->second;
}

NodePtr ExpressionParser::make_name(const std::string& name) {
  NodePtr node = make(Kind::kName);
  node->id = id_of(name);
  for (Node* const macro : macros_) {
    macro->uses_caller |= name == "caller";
    macro->uses_kwargs |= name == "kwargs";
    macro->uses_varargs |= name == "varargs";
  }
  return node;
}

void ExpressionParser::add(Node& node, NodePtr child) {
  node.depth = std::max(node.depth, child ? child->depth + 1 : 0);
  if (node.depth > kMaxTree) {
    fail("the expression is nested deeper than " + std::to_string(kMaxTree));
  }
  node.children.push_back(std::move(child));
}

void ExpressionParser::add_named(Node& node, std::string name, NodePtr child) {
  node.depth = std::max(node.depth, child ? child->depth + 1 : 0);
  if (node.depth > kMaxTree) {
    fail("the expression is nested deeper than " + std::to_string(kMaxTree));
  }
  node.named.emplace_back(std::move(name), std::move(child));
}

NodePtr ExpressionParser::with(NodePtr node, NodePtr a, NodePtr b) {
  add(*node, std::move(a));
  if (b) {
    add(*node, std::move(b));
  }
  return node;
}

NodePtr ExpressionParser::tuple(bool with_condition, Words ends) {
  const auto one = [&] { return with_condition ? expression() : or_expression(); };
  const auto at_end = [&] {
    return sees(TokenKind::kBlockEnd) || sees(TokenKind::kOutputEnd) || sees_symbol(")") || sees_word(ends);
  };
  if (at_end()) {
    fail("expected an expression, found " + found());
  }
  NodePtr first = one();
  if (!sees_symbol(",")) {
    return first;
  }
  NodePtr node = with(make(Kind::kTuple), std::move(first));
  while (!failed() && take_symbol(",") && !at_end()) {
    add(*node, one());
  }
  return node;
}

NodePtr ExpressionParser::expression() {
  if (!work_.may_recurse()) {
    return make(Kind::kLiteral);
  }
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
  return words("or", Kind::kOr, [this] { return words("and", Kind::kAnd, [this] { return not_expression(); }); });
}

NodePtr ExpressionParser::not_expression() {
  if (!sees_word({"not"})) {
    return comparison();
  }
  NodePtr node = make(Kind::kUnary, "not");
  next();
  return work_.may_recurse() ? with(std::move(node), not_expression()) : std::move(node);
}

NodePtr ExpressionParser::comparison() {
  NodePtr left = sum();
  NodePtr node;
  while (!failed()) {
    std::string name;
    if (sees(TokenKind::kSymbol) && (now().text == "==" || now().text == "!=" || now().text == "<" ||
                                     now().text == ">" || now().text == "<=" || now().text == ">=")) {
      name = now().text;
    } else if (sees_word({"in"})) {
      name = "in";
    } else if (sees_word({"not"}) && after().kind == TokenKind::kName && after().text == "in") {
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
  return symbols({"+", "-"}, [this] { return concat(); });
}

NodePtr ExpressionParser::concat() {
  const auto product = [this] {
    return symbols({"*", "/", "//", "%"}, [this] { return symbols({"**"}, [this] { return unary(true); }); });
  };
  NodePtr first = product();
  if (!sees_symbol("~")) {
    return first;
  }
  NodePtr node = with(make(Kind::kConcat), std::move(first));
  while (!failed() && take_symbol("~")) {
    add(*node, product());
  }
  return node;
}

NodePtr ExpressionParser::unary(bool with_filters) {
  NodePtr node;
  if (!work_.may_recurse()) {
    return make(Kind::kLiteral);
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
  const Token token = now();
  switch (token.kind) {
    case TokenKind::kString: {
      NodePtr node = make(Kind::kLiteral);
      std::string text;
      for (; sees(TokenKind::kString); next()) {  // adjacent strings form one string
        text += now().text;
      }
      node->value = Value::text(std::move(text));
      return node;
    }
    case TokenKind::kFloat:
    case TokenKind::kInt:
      return number(token);
    case TokenKind::kName:
      return named(token);
    default:
      break;
  }
  if (sees_symbol("(")) {
    return parentheses();
  }
  if (sees_symbol("[")) {
    return list();
  }
  if (sees_symbol("{")) {
    return dictionary();
  }
  fail("expected an expression, found " + found());
  return make(Kind::kLiteral);
}

NodePtr ExpressionParser::number(const Token& token) {
  NodePtr node = make(Kind::kLiteral);
  next();
  if (token.kind == TokenKind::kFloat) {
    double number = 0;
    read_decimal(token.text, number);
    node->value = Value::real(number);
    return node;
  }
  int64_t number = 0;
  const char* const end = token.text.data() + token.text.size();
  const auto read = std::from_chars(token.text.data(), end, number, token.base);
  if (read.ec != std::errc() || read.ptr != end) {
    fail(token.at, "the number " + token.text.substr(0, 40) + " does not fit into 64 bits");
  }
  node->value = Value::integer(number);
  return node;
}

NodePtr ExpressionParser::named(const Token& token) {
  const std::string& text = token.text;
  NodePtr node;
  if (text == "true" || text == "True" || text == "false" || text == "False") {
    node = make(Kind::kLiteral);
    node->value = Value::boolean(text == "true" || text == "True");
  } else if (text == "none" || text == "None") {
    node = make(Kind::kLiteral);
    node->value = Value::none();
  } else {
    node = make_name(text);
  }
  next();
  return node;
}

NodePtr ExpressionParser::list() {
  NodePtr node = make(Kind::kList);
  next();
  while (!failed() && !sees_symbol("]")) {
    add(*node, expression());
    if (!take_symbol(",")) {
      break;
    }
  }
  expect_symbol("]");
  return node;
}

/// An expression in parentheses, or a tuple.
NodePtr ExpressionParser::parentheses() {
  NodePtr node = make(Kind::kTuple);
  next();
  bool comma = false;
  while (!failed() && !sees_symbol(")")) {
    add(*node, expression());
    if (!take_symbol(",")) {
      break;
    }
    comma = true;
  }
  expect_symbol(")");
  return !comma && node->children.size() == 1 ? std::move(node->children[0]) : std::move(node);
}

NodePtr ExpressionParser::dictionary() {
  NodePtr node = make(Kind::kDict);
  next();
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
    if (sees_symbol(".") || sees_symbol("[")) {
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

}  // namespace jinja
}  // namespace llm
}  // namespace extension
}  // namespace executorch
