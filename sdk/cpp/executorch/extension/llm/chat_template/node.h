// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "problem.h"
#include "value.h"

namespace executorch {
namespace extension {
namespace llm {
namespace jinja {

class Work;
struct Node;
using NodePtr = std::unique_ptr<Node>;

/// A node of a template's syntax tree. The comments list the children; a child that is left out is null.
struct Node {
  Node() = default;
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;
  /// Frees the tree below without recursion, because the stack may be small, and without allocating memory.
  ~Node();

  enum class Kind {
    // Expressions
    kLiteral,    // value
    kName,       // id
    kList,       // elements
    kTuple,      // elements; as a target too
    kDict,       // keys and values in turn
    kUnary,      // name: "not", "-" or "+"; operand
    kAnd,        // left, right
    kOr,         // left, right
    kBinary,     // name: the operator; left, right
    kConcat,     // operands
    kCompare,    // names: the operators; operands, one more
    kTernary,    // condition, value, other value
    kAttribute,  // object; value: the name
    kNamespace,  // a target: id and value, the attribute
    kIndex,      // object, key
    kSlice,      // object, start, stop, step
    kCall,       // callee, arguments; named
    kFilter,     // input, arguments; name, named. The input of a block's filter is null
    kTest,       // input, arguments; name, named
    kSpread,     // *expression, or **expression where the name is "**": an argument
    // Statements
    kBody,         // statements
    kText,         // value
    kOutput,       // expression
    kIf,           // condition, body, condition, body, ..., body
    kFor,          // target; sequence, condition, body, body for no element
    kWith,         // target, expression, target, expression, ..., body
    kScope,        // body with a separate scope
    kSet,          // target; expression
    kSetBlock,     // target; body; filters, whose input is null
    kFilterBlock,  // body; filters, whose input is null
    kMacro,        // id, name; params: the parameters; body, defaults of the last parameters
    kCallBlock,    // a kCall; a kMacro, its caller
    kBreak,
    kContinue,
  };
  Kind kind = Kind::kBody;
  // For macros: the special names that they use. For loops: recursive.
  bool uses_caller = false;
  bool uses_kwargs = false;
  bool uses_varargs = false;
  bool recursive = false;
  Position at;
  int depth = 0;  // depth of the tree below
  int id = -1;    // id of the name
  std::string name;
  Value value;
  std::vector<NodePtr> children;
  std::vector<std::string> names;
  std::vector<int> params;
  std::vector<std::pair<std::string, NodePtr>> named;

 private:
  Node* next_freed_ = nullptr;
};

/// A template: its tree, and the names in it by their numbers.
struct Template {
  NodePtr body;
  std::vector<std::string> names;
  std::map<std::string, const Node*> blocks;  // parts of `body`, by name, for self.NAME()
};

/// Parses a template. `work` limits the cost. If the template is invalid, the result has a problem and no body.
Template parse(const std::string& source, Work& work);

}  // namespace jinja
}  // namespace llm
}  // namespace extension
}  // namespace executorch
