// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "lexer.h"
#include "node.h"
#include "work.h"

namespace executorch {
namespace extension {
namespace llm {
namespace jinja {

using Kind = Node::Kind;
using TokenKind = Token::Kind;

/// The maximal depth of an expression tree; a chain of operators makes a tree as deep as it is long.
inline constexpr int kMaxTree = 300;

/// Reads tokens, and makes trees of expressions.
class ExpressionParser {
 public:
  ExpressionParser(std::vector<Token> tokens, Work& work) : tokens_(std::move(tokens)), work_(work) {}

 protected:
  using Words = std::initializer_list<const char*>;

  const Token& now() const { return tokens_[at_]; }
  const Token& after() const { return tokens_[std::min(at_ + 1, tokens_.size() - 1)]; }
  bool failed() const { return work_.failed(); }
  void fail(std::string message) { fail(now().at, std::move(message)); }
  void fail(const Position& at, std::string message) {
    work_.at(at);
    work_.fail(std::move(message));
  }
  void next() { at_ += at_ + 1 < tokens_.size() ? 1 : 0; }
  bool sees(TokenKind kind) const { return now().kind == kind; }
  bool sees_symbol(std::string_view text) const { return sees(TokenKind::kSymbol) && now().text == text; }
  bool sees_word(Words words) const {
    return sees(TokenKind::kName) &&
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
  std::string found() const;
  std::string expect_name(const char* what);

  NodePtr make(Kind kind, std::string name = {});
  NodePtr make_name(const std::string& name);
  /// The index of a name.
  int id_of(const std::string& name);
  /// Makes `child`, which may be null, a part of `node`.
  void add(Node& node, NodePtr child);
  void add_named(Node& node, std::string name, NodePtr child);
  NodePtr with(NodePtr node, NodePtr a, NodePtr b = nullptr);

  // --- Expressions, from the weakest operator to the strongest ---
  /// One expression, or a tuple without parentheses that ends before one of `ends`.
  NodePtr tuple(bool with_condition = true, Words ends = {});
  NodePtr expression();
  NodePtr or_expression();
  template <typename Operand>
  NodePtr words(const char* word, Kind kind, Operand operand) {
    NodePtr left = operand();
    while (!failed() && sees_word({word})) {
      NodePtr node = make(kind);
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
  NodePtr concat();
  NodePtr unary(bool with_filters);
  NodePtr primary();
  NodePtr named(const Token& token);
  NodePtr number(const Token& token);
  NodePtr list();
  NodePtr parentheses();
  NodePtr dictionary();
  NodePtr postfix(NodePtr node);
  NodePtr subscript(NodePtr object);
  NodePtr one_subscript(NodePtr object);
  void arguments(Node& call);
  /// Which of `*values` and `**names` have occurred in a call so far.
  struct Spreads {
    bool of_values = false;
    bool of_names = false;
  };
  void one_argument(Node& call, Spreads& before);
  /// Parses filters and tests after an expression.
  NodePtr filters(NodePtr node);
  /// Parses the filter whose name comes next, and applies it to `input`, which is null for a filter block.
  NodePtr filter(NodePtr input);
  NodePtr test(NodePtr input);
  /// The target of an assignment: a name, a tuple of targets, with `with_namespace` also an attribute.
  NodePtr target(bool with_namespace, Words ends);
  NodePtr one_target(bool with_namespace);

  std::vector<Token> tokens_;
  Work& work_;
  size_t at_ = 0;
  std::unordered_map<std::string, int> ids_;
  std::vector<std::string> names_;
  std::vector<Node*> macros_;  // the enclosing macros and call blocks
};

}  // namespace jinja
}  // namespace llm
}  // namespace extension
}  // namespace executorch
