// SPDX-License-Identifier: BSD-3-Clause
#include <initializer_list>
#include <map>
#include <string>
#include <utility>

#include "builtins.h"
#include "characters.h"
#include "expression_parser.h"

namespace executorch {
namespace extension {
namespace llm {
namespace jinja {
namespace {

class Parser final : public ExpressionParser {
 public:
  using ExpressionParser::ExpressionParser;

  Template run() {
    Template made;
    made.body = statements({});
    if (!failed() && !sees(TokenKind::kEnd)) {
      fail("'" + now().text + "' closes nothing");
    }
    made.names = std::move(names_);
    made.blocks = std::move(blocks_);
    return made;
  }

 private:
  /// Parses up to a tag that begins with one of `ends`, which is not read.
  NodePtr statements(Words ends) {
    NodePtr body = make(Kind::kBody);
    if (!work_.may_recurse()) {
      return body;
    }
    while (!failed() && !sees(TokenKind::kEnd)) {
      if (sees(TokenKind::kText)) {
        NodePtr text = make(Kind::kText);
        text->value = Value::text(now().text);
        add(*body, std::move(text));
        next();
      } else if (sees(TokenKind::kOutputBegin)) {
        next();
        NodePtr output = make(Kind::kOutput);
        add(*body, with(std::move(output), tuple()));
        if (!sees(TokenKind::kOutputEnd)) {
          fail("expected the end of the output, found " + found());
        }
        next();
      } else {
        next();
        if (sees_word(ends)) {
          return body;
        }
        add(*body, statement());
        end_tag();
      }
    }
    if (ends.size() > 0) {
      fail(std::string("expected {% ") + *(ends.end() - 1) + " %}, found the end of the template");
    }
    return body;
  }

  void end_tag() {
    if (!sees(TokenKind::kBlockEnd)) {
      fail("expected the end of the tag, found " + found());
    }
    next();
  }

  /// Parses the end of the tag, then statements up to a tag that begins with one of `ends`.
  NodePtr body(Words ends) {
    take_symbol(":");
    end_tag();
    return statements(ends);
  }
  NodePtr body_and_end(const char* end) {
    NodePtr node = body({end});
    next();
    return node;
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
    if (name == "with") {
      return with_statement(std::move(node));
    }
    if (name == "macro") {
      return macro(std::move(node));
    }
    if (name == "call") {
      return call_block(std::move(node));
    }
    if (name == "filter") {
      return filter_block(std::move(node));
    }
    if (name == "print") {
      return print(std::move(node));
    }
    if (name == "block") {
      return block(std::move(node));
    }
    if (name == "generation") {  // marks the answers, for training
      node->kind = Kind::kScope;
      return scope(std::move(node), "endgeneration");
    }
    if (name == "break" || name == "continue") {
      node->kind = name == "break" ? Kind::kBreak : Kind::kContinue;
      if (loops_ == 0) {
        fail("'" + name + "' outside of a loop");
      }
      return node;
    }
    if (name == "extends" || name == "include" || name == "import" || name == "from" || name == "autoescape") {
      fail(tag.at, "'" + name + "' is not available: a chat template is one file, and its text is not HTML");
    }
    fail(tag.at, "unknown tag '" + name + "'");
    return node;
  }

  NodePtr if_statement(NodePtr node) {
    node->kind = Kind::kIf;
    while (!failed()) {
      add(*node, tuple(false));
      add(*node, body({"elif", "else", "endif"}));
      if (!take_word("elif")) {
        break;
      }
    }
    if (take_word("else")) {
      add(*node, body({"endif"}));
    }
    next();
    return node;
  }

  NodePtr for_statement(NodePtr node) {
    node->kind = Kind::kFor;
    node->id = id_of("loop");
    if (sees_word({"loop"})) {
      fail("'loop' cannot be assigned to");
    }
    add(*node, target(false, {"in"}));
    if (!take_word("in")) {
      fail("expected 'in', found " + found());
    }
    add(*node, tuple(false, {"recursive"}));
    add(*node, take_word("if") ? expression() : nullptr);
    node->recursive = take_word("recursive");
    loops_++;
    add(*node, body({"else", "endfor"}));
    loops_--;
    add(*node, take_word("else") ? body({"endfor"}) : nullptr);
    next();
    return node;
  }

  NodePtr set_statement(NodePtr node) {
    node->kind = Kind::kSet;
    add(*node, target(true, {}));
    if (take_symbol("=")) {
      add(*node, tuple());
      return node;
    }
    node->kind = Kind::kSetBlock;
    NodePtr applied = filter_chain(nullptr);
    const int loops = std::exchange(loops_, 0);
    add(*node, body_and_end("endset"));
    loops_ = loops;
    add(*node, std::move(applied));
    return node;
  }

  /// A chain of filters for an input that is not known yet; null without filters.
  NodePtr filter_chain(NodePtr node) {
    while (!failed() && take_symbol("|")) {
      node = filter(std::move(node));
    }
    return node;
  }

  NodePtr with_statement(NodePtr node) {
    node->kind = Kind::kWith;
    while (!failed() && !sees(TokenKind::kBlockEnd) && !sees_symbol(":")) {
      if (!node->children.empty()) {
        expect_symbol(",");
      }
      add(*node, target(false, {}));
      expect_symbol("=");
      add(*node, expression());
    }
    add(*node, body_and_end("endwith"));
    return node;
  }

  NodePtr scope(NodePtr node, const char* end) {
    const int loops = std::exchange(loops_, 0);
    add(*node, body_and_end(end));
    loops_ = loops;
    return node;
  }

  NodePtr print(NodePtr node) {
    while (!failed() && !sees(TokenKind::kBlockEnd)) {
      NodePtr output = make(Kind::kOutput);
      add(*node, with(std::move(output), expression()));
      if (!take_symbol(",")) {
        break;
      }
    }
    return node;
  }

  /// Templates cannot inherit from each other, so a block is replaced by its content.
  NodePtr block(NodePtr node) {
    node->kind = Kind::kScope;
    const Position at = now().at;
    const std::string name = expect_name("the name of a block");
    node->name = name;
    if (!failed() && !blocks_.emplace(name, node.get()).second) {
      fail(at, "there is another block '" + name + "'");
    }
    if (take_word("scoped"); take_word("required")) {
      fail("required blocks are for templates that others inherit from, which chat templates are not");
    }
    node = scope(std::move(node), "endblock");
    take_word(name.c_str());
    return node;
  }

  /// Parameters in parentheses; defaults of the last ones are children.
  void signature(Node& node) {
    expect_symbol("(");
    bool has_default = false;
    while (!failed() && !sees_symbol(")")) {
      node.names.push_back(expect_name("the name of a parameter"));
      node.params.push_back(id_of(node.names.back()));
      if (take_symbol("=")) {
        has_default = true;
        add(node, expression());
      } else if (has_default) {
        fail("a parameter without default follows one that has a default");
      }
      if (!take_symbol(",")) {
        break;
      }
    }
    expect_symbol(")");
  }

  NodePtr macro(NodePtr node) {
    node->kind = Kind::kMacro;
    node->name = expect_name("the name of a macro");
    node->id = id_of(node->name);
    add(*node, nullptr);
    signature(*node);
    return macro_body(std::move(node), "endmacro");
  }

  NodePtr macro_body(NodePtr node, const char* end) {
    const int loops = std::exchange(loops_, 0);
    macros_.push_back(node.get());
    NodePtr content = body_and_end(end);
    macros_.pop_back();
    loops_ = loops;
    node->depth = std::max(node->depth, content->depth + 1);
    node->children[0] = std::move(content);
    return node;
  }

  NodePtr call_block(NodePtr node) {
    node->kind = Kind::kCallBlock;
    NodePtr caller = make(Kind::kMacro, "caller");
    add(*caller, nullptr);
    if (sees_symbol("(")) {
      signature(*caller);
    }
    const Token call = now();
    add(*node, expression());
    if (!failed() && node->children[0]->kind != Kind::kCall) {
      fail(call.at, "expected a call of a macro");
    }
    add(*node, macro_body(std::move(caller), "endcall"));
    return node;
  }

  NodePtr filter_block(NodePtr node) {
    node->kind = Kind::kFilterBlock;
    NodePtr applied = filter_chain(filter(nullptr));
    const int loops = std::exchange(loops_, 0);
    add(*node, body_and_end("endfilter"));
    loops_ = loops;
    add(*node, std::move(applied));
    return node;
  }

  std::map<std::string, const Node*> blocks_;
  int loops_ = 0;
};

/// Checks the names of filters and tests. Like in jinja2, an unknown one is an error when the template is parsed,
/// unless it is inside an `if`.
void check_names(const Node& node, bool in_if, Work& work) {
  if (!work.may_recurse()) {
    return;
  }
  if (!in_if &&
      ((node.kind == Kind::kFilter && !is_filter(node.name)) || (node.kind == Kind::kTest && !is_test(node.name)))) {
    work.at(node.at);
    work.fail((node.kind == Kind::kFilter ? "unknown filter '" : "unknown test '") + node.name + "'");
    return;
  }
  const bool own = node.kind == Kind::kMacro || node.kind == Kind::kSetBlock || node.kind == Kind::kFilterBlock ||
                   node.kind == Kind::kWith || node.kind == Kind::kScope;
  in_if = !own && (in_if || node.kind == Kind::kIf || node.kind == Kind::kTernary);
  for (size_t i = 0; i < node.children.size(); i++) {
    if (node.children[i]) {
      check_names(*node.children[i], in_if && !(node.kind == Kind::kFor && i >= 2), work);
    }
  }
  for (const auto& argument : node.named) {
    check_names(*argument.second, in_if, work);
  }
}

}  // namespace

Template parse(const std::string& source, Work& work) {
  if (!is_utf8(source)) {
    work.fail("the template is not UTF-8");
    return {};
  }
  std::vector<Token> tokens = tokenize(source, work);
  if (work.failed()) {
    return {};
  }
  Template made = Parser(std::move(tokens), work).run();
  if (!work.failed()) {
    check_names(*made.body, false, work);
  }
  if (work.failed()) {
    made.body = nullptr;
  }
  return made;
}

}  // namespace jinja
}  // namespace llm
}  // namespace extension
}  // namespace executorch
