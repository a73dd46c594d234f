// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "lexer.h"
#include "value.h"

namespace executorch {
namespace extension {
namespace llm {
namespace jinja {

struct Node;
using NodePtr = std::unique_ptr<Node>;

/// A part of a template. The comments say what the children are; one that is left out is null.
struct Node {
  enum class Kind {
    // Expressions
    kLiteral,    // value
    kName,       // name
    kList,       // elements
    kDict,       // keys and values in turn
    kUnary,      // name: "not", "-" or "+"; operand
    kBinary,     // name: the operator; left, right
    kCompare,    // names: the operators; operands, one more
    kTernary,    // condition, value, other value
    kAttribute,  // object; name
    kIndex,      // object, key
    kSlice,      // object, start, stop, step
    kCall,       // callee, arguments; named
    kFilter,     // input, arguments; name, named
    kTest,       // input, arguments; name
    // Statements
    kBody,         // statements
    kText,         // name: the text
    kOutput,       // expression
    kIf,           // condition, body, condition, body, ..., body
    kFor,          // names: the targets; sequence, condition, body, body for no element
    kSet,          // names: the targets, or object and attribute where `name` is "."; expression
    kSetBlock,     // names: the target; body
    kFilterBlock,  // body; a filter in children[1] whose input is null
    kMacro,        // name; names: the parameters; body; named: defaults
    kBreak,
    kContinue,
  };
  Kind kind;
  Position at;
  int depth = 0;  // of the tree below
  std::string name;
  Value value;
  std::vector<NodePtr> children;
  std::vector<std::string> names;
  std::vector<std::pair<std::string, NodePtr>> named;
};

/// The template, a kBody. Null, with a problem, if it is not one.
NodePtr parse(std::string source, Problem& problem);

}  // namespace jinja
}  // namespace llm
}  // namespace extension
}  // namespace executorch
