// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <utility>

#include "interpreter.h"

namespace executorch {
namespace extension {
namespace llm {
namespace jinja {

using Kind = Node::Kind;
using Type = Value::Type;

namespace {

/// Memory of a variable in a scope.
constexpr uint64_t kVariableBytes = 2 * sizeof(std::pair<int, Value>);

}  // namespace

Interpreter::Scope::Scope(Interpreter& in, Frame* outer) : in_(in), before_(in.frame_), frame_(new Frame) {
  frame_->outer = outer;
  in.frame_ = frame_.get();
}

Interpreter::Scope::~Scope() {
  in_.frame_ = before_;
  if (frame_->kept) {
    in_.kept_.push_back(std::move(frame_));  // keep() has reserved the place
    in_.live_kept_--;
  } else {
    in_.budget().give_back(frame_->bytes);
  }
}

void Interpreter::keep(Frame* frame) {
  for (; frame != nullptr && !frame->kept && take_for_good(sizeof(Frame) + 64); frame = frame->outer) {
    const size_t needed = kept_.size() + live_kept_ + 1;
    if (needed > kept_.capacity()) {
      kept_.reserve(std::max(needed, 2 * kept_.capacity()));
    }
    live_kept_++;
    frame->kept = true;
  }
}

Interpreter::Flow Interpreter::run(const Node& node) {
  at(node.at);
  if (!step() || !may_recurse()) {
    return Flow::kBreak;
  }
  switch (node.kind) {
    case Kind::kBody:
      return run_body(node);
    case Kind::kText:
      output_->add(node.value.as_text());
      return Flow::kOn;
    case Kind::kOutput:
      output(evaluate(*node.children[0]));
      return Flow::kOn;
    case Kind::kIf:
      return run_if(node);
    case Kind::kFor: {
      const Value items = elements(evaluate(*node.children[1]));
      return failed() ? Flow::kBreak : run_loop(node, frame_, items, 0);
    }
    case Kind::kWith:
      return run_with(node);
    case Kind::kScope: {
      Scope scope(*this, frame_);
      return run(*node.children[0]);
    }
    case Kind::kSet:
      assign(*node.children[0], evaluate(*node.children[1]));
      return Flow::kOn;
    case Kind::kSetBlock:
      assign(*node.children[0], filtered(node.children[2].get(), captured(*node.children[1])));
      return Flow::kOn;
    case Kind::kFilterBlock:
      output(filtered(node.children[1].get(), captured(*node.children[0])));
      return Flow::kOn;
    case Kind::kMacro:
      set(node.id, macro_value(node));
      return Flow::kOn;
    case Kind::kCallBlock:
      run_call_block(node);
      return Flow::kOn;
    case Kind::kBreak:
      return Flow::kBreak;
    case Kind::kContinue:
      return Flow::kContinue;
    default:
      fail("unexpected expression");
      return Flow::kOn;
  }
}

Interpreter::Flow Interpreter::run_body(const Node& node) {
  for (const NodePtr& statement : node.children) {
    const Flow flow = run(*statement);
    if (failed() || flow != Flow::kOn) {
      return flow;
    }
  }
  return Flow::kOn;
}

Interpreter::Flow Interpreter::run_if(const Node& node) {
  size_t i = 0;
  for (; i + 1 < node.children.size(); i += 2) {
    const bool holds = evaluate(*node.children[i]).truthy();
    if (failed()) {
      return Flow::kBreak;
    }
    if (holds) {
      return run(*node.children[i + 1]);
    }
  }
  return i < node.children.size() ? run(*node.children[i]) : Flow::kOn;
}

Interpreter::Flow Interpreter::run_with(const Node& node) {
  List values;  // evaluated in the enclosing scope
  for (size_t i = 1; i < node.children.size(); i += 2) {
    values.push_back(evaluate(*node.children[i]));
  }
  Scope scope(*this, frame_);
  for (size_t i = 0; i < values.size() && !failed(); i++) {
    assign(*node.children[2 * i], values[i]);
  }
  return failed() ? Flow::kBreak : run(*node.children.back());
}

void Interpreter::output(const Value& value) {
  write_str(*this, *output_, value);
}

void Interpreter::set(int id, Value value) {
  auto& variables = frame_->variables;
  const auto found =
      std::find_if(variables.begin(), variables.end(), [id](const auto& item) { return item.first == id; });
  if (!step(1 + variables.size() / 16)) {
    return;
  }
  if (found != variables.end()) {
    found->second = std::move(value);
  } else if (take(kVariableBytes)) {
    frame_->bytes += kVariableBytes;
    variables.emplace_back(id, std::move(value));
  }
}

void Interpreter::assign(const Node& target, const Value& value) {
  if (failed() || !may_recurse()) {
    return;
  }
  at(target.at);
  if (target.kind == Kind::kName) {
    return set(target.id, value);
  }
  if (target.kind == Kind::kNamespace) {
    const Value object = name(target);
    if (!object.is(Type::kNamespace)) {
      fail("attributes can be set of a namespace() only; '" + parsed_.names[static_cast<size_t>(target.id)] +
           "' is of type " + object.type_name());
    } else if (target.value.as_text().substr(0, 1) == "_") {
      fail("a namespace() has no attributes that begin with an underscore");
    } else {
      auto& space = static_cast<Namespace&>(*object.object());
      Value* const found = space.find(*this, target.value.as_text());
      if (found != nullptr) {
        *found = value;
      } else if (take_for_good(4 * sizeof(Value))) {
        space.attributes.emplace_back(target.value, value);
      }
    }
    return;
  }
  const Value parts = elements(value);
  if (failed()) {
    return;
  }
  const size_t names = target.children.size();
  if (parts.as_list().size() != names) {
    fail(std::to_string(parts.as_list().size()) + " values cannot be assigned to " + std::to_string(names) + " names");
  }
  for (size_t i = 0; i < names && !failed(); i++) {
    assign(*target.children[i], parts.as_list()[i]);
  }
}

Interpreter::Flow Interpreter::run_loop(const Node& node, Frame* frame, const Value& items, int64_t depth) {
  Loop* const loop = make<Loop>();
  if (loop == nullptr) {
    return Flow::kBreak;
  }
  loop->node = &node;
  loop->frame = frame;
  loop->items = items;
  loop->depth0 = depth;
  if (node.recursive) {
    keep(frame);
  }
  bool completed = false;  // jinja2 runs `else` if no iteration reached its end
  Value value;
  while (loop_next(*loop, value)) {
    loop->index0++;
    loop->before = std::exchange(loop->current, value);
    Scope scope(*this, frame);
    set(node.id, Value::object(Type::kLoop, loop));
    assign(*node.children[0], value);
    const Flow flow = failed() ? Flow::kBreak : run(*node.children[3]);
    if (flow == Flow::kBreak) {
      break;
    }
    completed |= flow == Flow::kOn;
  }
  if (loop->length < 0) {
    loop->length = loop->index0 + 1;
  }
  loop->items = loop->current = loop->before = loop->after = loop->changed = Value();
  loop->has_after = loop->running = false;
  if (!completed && node.children[4] && !failed()) {
    Scope scope(*this, frame);
    return run(*node.children[4]);
  }
  return Flow::kOn;
}

bool Interpreter::loop_next(Loop& loop, Value& value) {
  if (loop.has_after) {
    value = std::exchange(loop.after, Value());
    loop.has_after = false;
    return !failed();
  }
  const Node* const condition = loop.filtered ? nullptr : loop.node->children[2].get();
  while (loop.running && loop.at < loop.items.as_list().size() && step(4)) {
    value = loop.items.as_list()[loop.at++];
    if (condition == nullptr) {
      return true;
    }
    Scope scope(*this, loop.frame);
    assign(*loop.node->children[0], value);
    if (!failed() && evaluate(*condition).truthy()) {
      return !failed();
    }
  }
  return false;
}

int64_t Interpreter::loop_length(Loop& loop) {
  if (loop.length < 0 && !loop.running) {
    loop.length = loop.index0 + 1;
  } else if (loop.length < 0 && loop.node->children[2] == nullptr) {
    loop.length = static_cast<int64_t>(loop.items.as_list().size());
  } else if (loop.length < 0) {
    // Applies the loop's condition to all remaining items.
    ListBuilder rest(*this);
    Value value;
    while (loop_next(loop, value) && rest.add(value)) {
    }
    const auto count = static_cast<int64_t>(rest.size());
    const Value items = rest.value();
    if (failed()) {
      return 0;
    }
    loop.length = loop.index0 + 1 + count;
    loop.items = items;
    loop.at = 0;
    loop.filtered = true;
  }
  return loop.length;
}

Value Interpreter::loop_again(const Loop& loop, const Value& items) {
  TextBuilder text(*this);
  TextBuilder* const outer = std::exchange(output_, &text);
  const Value all = elements(items);
  if (!failed() && may_recurse()) {
    run_loop(*loop.node, loop.frame, all, loop.depth0 + 1);
  }
  output_ = outer;
  return text.value();
}

Value Interpreter::captured(const Node& body) {
  TextBuilder text(*this);
  TextBuilder* const outer = std::exchange(output_, &text);
  {
    Scope scope(*this, frame_);
    run(body);
  }
  output_ = outer;
  return text.value();
}

Value Interpreter::filtered(const Node* filters, Value text) {
  if (filters == nullptr || failed()) {
    return text;
  }
  const Value* const outer = std::exchange(block_text_, &text);
  Value made = evaluate(*filters);
  block_text_ = outer;
  return made;
}

void Interpreter::run_call_block(const Node& node) {
  const Value caller = macro_value(*node.children[1]);
  if (failed()) {
    return;
  }
  at(node.at);
  if (step() && may_recurse()) {
    output(call_node(*node.children[0], &caller));
  }
}

}  // namespace jinja
}  // namespace llm
}  // namespace extension
}  // namespace executorch
