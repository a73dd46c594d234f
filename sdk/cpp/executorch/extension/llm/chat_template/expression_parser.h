// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "node.h"

namespace executorch {
namespace extension {
namespace llm {
namespace jinja {

using Kind = Node::Kind;
using TokenKind = Token::Kind;

/// Of tags and expressions: what is nested deeper could overflow the stack.
inline constexpr int kMaxNesting = 100;
/// Of operators too: a chain of them makes the tree as deep.
inline constexpr int kMaxTree = 300;

/// Reads tokens, and makes trees of expressions.
class ExpressionParser {
 public:
  ExpressionParser(std::vector<Token> tokens, Problem& problem) : tokens_(std::move(tokens)), problem_(problem) {}

 protected:
  using Words = std::initializer_list<const char*>;

  const Token& now() const { return tokens_[at_]; }
  bool failed() const { return problem_.is_set(); }
  void fail(std::string message) {
    if (!failed()) {
      problem_ = {now().at, std::move(message)};
    }
  }
  void next() { at_ += at_ + 1 < tokens_.size() ? 1 : 0; }
  bool sees(TokenKind kind, std::string_view text) const { return now().kind == kind && now().text == text; }
  bool sees_symbol(std::string_view text) const { return sees(TokenKind::kSymbol, text); }
  bool sees_word(Words words) const {
    return now().kind == TokenKind::kName &&
           std::any_of(words.begin(), words.end(), [this](const char* word) { return now().text == word; });
  }
  bool take_symbol(std::string_view text) {
    const bool found = sees_symbol(text);
    found ? next() : void();
    return found;
  }
  bool take_word(const char* word) {
    const bool found = sees_word({word});
    found ? next() : void();
    return found;
  }
  void expect_symbol(const std::string& text) {
    if (!take_symbol(text)) {
      fail("expected '" + text + "', found " + found());
    }
  }
  std::string found() const {
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
  std::string expect_name(const char* what) {
    std::string name = now().text;
    if (now().kind != TokenKind::kName) {
      fail(std::string("expected ") + what + ", found " + found());
    }
    next();
    return name;
  }
  void end_tag() {
    if (now().kind != TokenKind::kBlockEnd) {
      fail("expected the end of the tag, found " + found());
    }
    next();
  }

  NodePtr make(Kind kind, std::string name = {}) const {
    auto node = std::make_unique<Node>();
    node->kind = kind;
    node->at = now().at;
    node->name = std::move(name);
    return node;
  }
  /// Makes `child`, which may be null, a part of `node`.
  void add(Node& node, NodePtr child) {
    note_depth(node, child);
    node.children.push_back(std::move(child));
  }
  void add_named(Node& node, std::string name, NodePtr child) {
    note_depth(node, child);
    node.named.emplace_back(std::move(name), std::move(child));
  }
  void note_depth(Node& node, const NodePtr& child) {
    node.depth = std::max(node.depth, child ? child->depth + 1 : 0);
    if (node.depth > kMaxTree) {
      fail("the expression is nested deeper than " + std::to_string(kMaxTree));
    }
  }
  NodePtr with(NodePtr node, NodePtr a, NodePtr b = nullptr) {
    add(*node, std::move(a));
    if (b) {
      add(*node, std::move(b));
    }
    return node;
  }

  /// Counts how deep the parser is; fails beyond the limit.
  class Nested final {
   public:
    explicit Nested(ExpressionParser& parser) : depth_(parser.depth_) {
      if (++depth_ > kMaxNesting) {
        parser.fail("the template is nested deeper than " + std::to_string(kMaxNesting));
      }
    }
    ~Nested() { depth_--; }
    Nested(const Nested&) = delete;
    Nested& operator=(const Nested&) = delete;

   private:
    int& depth_;
  };

  // --- Expressions, from the weakest operator to the strongest ---

  NodePtr tuple() {
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

  NodePtr expression() {
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

  NodePtr or_expression() {
    return words("or", [this] { return words("and", [this] { return not_expression(); }); });
  }

  template <typename Operand>
  NodePtr words(const char* word, Operand operand) {
    NodePtr left = operand();
    while (!failed() && sees_word({word})) {
      NodePtr node = make(Kind::kBinary, word);
      next();
      left = with(std::move(node), std::move(left), operand());
    }
    return left;
  }

  NodePtr not_expression() {
    const Nested nested(*this);
    if (sees_word({"not"})) {
      NodePtr node = make(Kind::kUnary, "not");
      next();
      return failed() ? nullptr : with(std::move(node), not_expression());
    }
    return comparison();
  }

  NodePtr comparison() {
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

  template <typename Operand>
  NodePtr symbols(std::initializer_list<const char*> list, Operand operand) {
    NodePtr left = operand();
    while (!failed() && std::any_of(list.begin(), list.end(), [this](const char* s) { return sees_symbol(s); })) {
      NodePtr node = make(Kind::kBinary, now().text);
      next();
      left = with(std::move(node), std::move(left), operand());
    }
    return left;
  }

  NodePtr sum() {
    return symbols({"+", "-"}, [this] {
      return symbols({"~"}, [this] {
        return symbols({"*", "/", "//", "%"}, [this] { return symbols({"**"}, [this] { return unary(true); }); });
      });
    });
  }

  NodePtr unary(bool with_filters) {
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

  NodePtr primary() {
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

  static NodePtr name(NodePtr node, const std::string& text) {
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

  /// A list, a tuple, or an expression in parentheses.
  NodePtr sequence(NodePtr node, const char* end) {
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

  NodePtr dictionary(NodePtr node) {
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

  NodePtr postfix(NodePtr node) {
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

  NodePtr subscript(NodePtr object) {
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

  void arguments(Node& call) {
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

  NodePtr filters(NodePtr node) {
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

  NodePtr test(NodePtr input) {
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

  std::vector<Token> tokens_;
  Problem& problem_;
  size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace jinja
}  // namespace llm
}  // namespace extension
}  // namespace executorch
