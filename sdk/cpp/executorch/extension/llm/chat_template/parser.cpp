// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <initializer_list>
#include <utility>

#include "expression_parser.h"

namespace executorch {
namespace extension {
namespace llm {
namespace jinja {
namespace {

class Parser final : public ExpressionParser {
 public:
  using ExpressionParser::ExpressionParser;

  NodePtr run() {
    NodePtr body = statements({});
    if (!failed() && now().kind != TokenKind::kEnd) {
      fail("'" + now().text + "' closes nothing");
    }
    return failed() ? nullptr : std::move(body);
  }

 private:
  // --- Statements ---

  /// Up to a tag that begins with one of `ends`, whose name is read.
  NodePtr statements(Words ends) {
    const Nested nested(*this);
    NodePtr body = make(Kind::kBody);
    while (!failed() && now().kind != TokenKind::kEnd) {
      if (now().kind == TokenKind::kText) {
        add(*body, make(Kind::kText, now().text));
        next();
      } else if (now().kind == TokenKind::kOutputBegin) {
        next();
        NodePtr output = make(Kind::kOutput);
        add(*body, with(std::move(output), expression()));
        if (now().kind != TokenKind::kOutputEnd) {
          fail("expected the end of the output, found " + found());
        }
        next();
      } else {
        next();
        if (sees_word(ends)) {
          return body;
        }
        NodePtr made = statement();
        if (made) {
          add(*body, std::move(made));
        }
      }
    }
    if (ends.size() > 0) {
      fail(std::string("expected {% ") + *(ends.end() - 1) + " %}, found the end of the template");
    }
    return body;
  }

  NodePtr statement() {
    const Token tag = now();
    NodePtr node = make(Kind::kBody);
    const std::string name = expect_name("the name of a tag");
    if (name == "if") {
      return if_statement(std::move(node));
    }
    if (name == "for") {
      return for_statement(std::move(node));
    }
    if (name == "set") {
      return set_statement(std::move(node));
    }
    if (name == "macro") {
      return macro(std::move(node));
    }
    if (name == "filter") {
      return filter_block(std::move(node));
    }
    if (name == "generation") {  // marks the answers, for training
      end_tag();
      NodePtr body = statements({"endgeneration"});
      next();
      end_tag();
      return body;
    }
    if (name == "break" || name == "continue") {
      node->kind = name == "break" ? Kind::kBreak : Kind::kContinue;
      if (loops_ == 0) {
        fail("'" + name + "' outside of a loop");
      }
      end_tag();
      return node;
    }
    problem_ = failed() ? problem_ : Problem{tag.at, "unknown tag '" + name + "'"};
    return nullptr;
  }

  NodePtr if_statement(NodePtr node) {
    node->kind = Kind::kIf;
    while (!failed()) {
      add(*node, expression());
      end_tag();
      add(*node, statements({"elif", "else", "endif"}));
      if (!take_word("elif")) {
        break;
      }
    }
    if (take_word("else")) {
      end_tag();
      add(*node, statements({"endif"}));
    }
    next();
    end_tag();
    return node;
  }

  NodePtr for_statement(NodePtr node) {
    node->kind = Kind::kFor;
    node->names = targets();
    if (!take_word("in")) {
      fail("expected 'in', found " + found());
    }
    add(*node, or_expression());
    add(*node, take_word("if") ? expression() : nullptr);
    if (sees_word({"recursive"})) {
      fail("recursive loops are not supported");
    }
    end_tag();
    loops_++;
    add(*node, statements({"else", "endfor"}));
    loops_--;
    add(*node, nullptr);
    if (take_word("else")) {
      end_tag();
      node->children.back() = statements({"endfor"});
    }
    next();
    end_tag();
    return node;
  }

  std::vector<std::string> targets() {
    const bool parenthesis = take_symbol("(");
    std::vector<std::string> names{expect_name("a name")};
    while (!failed() && take_symbol(",")) {
      names.push_back(expect_name("a name"));
    }
    if (parenthesis) {
      expect_symbol(")");
    }
    return names;
  }

  NodePtr set_statement(NodePtr node) {
    node->kind = Kind::kSet;
    node->names = targets();
    if (take_symbol(".")) {
      node->name = ".";
      node->names.push_back(expect_name("an attribute"));
    }
    if (take_symbol("=")) {
      add(*node, tuple());
      end_tag();
      return node;
    }
    node->kind = Kind::kSetBlock;
    if (node->names.size() > 1) {
      fail("expected '=', found " + found());
    }
    if (now().kind == TokenKind::kSymbol && now().text == "|") {
      fail("filters of {% set %} blocks are not supported: use {% filter %} inside");
    }
    end_tag();
    add(*node, statements({"endset"}));
    next();
    end_tag();
    return node;
  }

  NodePtr macro(NodePtr node) {
    node->kind = Kind::kMacro;
    node->name = expect_name("the name of a macro");
    expect_symbol("(");
    while (!failed() && !sees_symbol(")")) {
      node->names.push_back(expect_name("the name of a parameter"));
      if (take_symbol("=")) {
        add_named(*node, node->names.back(), expression());
      }
      if (!take_symbol(",")) {
        break;
      }
    }
    expect_symbol(")");
    end_tag();
    const int loops = std::exchange(loops_, 0);
    add(*node, statements({"endmacro"}));
    loops_ = loops;
    next();
    if (now().kind == TokenKind::kName) {
      next();
    }
    end_tag();
    return node;
  }

  NodePtr filter_block(NodePtr node) {
    node->kind = Kind::kFilterBlock;
    NodePtr filter = make(Kind::kFilter, expect_name("the name of a filter"));
    add(*filter, nullptr);
    if (sees_symbol("(")) {
      arguments(*filter);
    }
    end_tag();
    add(*node, statements({"endfilter"}));
    add(*node, std::move(filter));
    next();
    end_tag();
    return node;
  }

  int loops_ = 0;
};

}  // namespace

NodePtr parse(std::string source, Problem& problem) {
  std::vector<Token> tokens = tokenize(std::move(source), problem);
  return problem.is_set() ? nullptr : Parser(std::move(tokens), problem).run();
}

}  // namespace jinja
}  // namespace llm
}  // namespace extension
}  // namespace executorch
