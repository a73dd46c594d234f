// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
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
  NodePtr tuple();
  NodePtr expression();
  NodePtr or_expression();
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

  NodePtr not_expression();
  NodePtr comparison();
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

  NodePtr sum();
  NodePtr unary(bool with_filters);
  NodePtr primary();
  static NodePtr name(NodePtr node, const std::string& text);
  /// A list, a tuple, or an expression in parentheses.
  NodePtr sequence(NodePtr node, const char* end);
  NodePtr dictionary(NodePtr node);
  NodePtr postfix(NodePtr node);
  NodePtr subscript(NodePtr object);
  void arguments(Node& call);
  NodePtr filters(NodePtr node);
  NodePtr test(NodePtr input);

  std::vector<Token> tokens_;
  Problem& problem_;
  size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace jinja
}  // namespace llm
}  // namespace extension
}  // namespace executorch
