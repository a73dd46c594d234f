// SPDX-License-Identifier: BSD-3-Clause
// Objects that change while a template runs. The interpreter owns all of them.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "node.h"
#include "work.h"

namespace executorch {
namespace extension {
namespace llm {
namespace jinja {

struct Frame;

/// namespace(): attributes that a template may set.
struct Namespace final : Object {
  std::vector<std::pair<Value, Value>> attributes;  // names are strings
  Value* find(Work& work, std::string_view name) {
    for (auto& [key, value] : attributes) {
      if (work.step() && key.as_text().size() == name.size() && work.read(name.size()) && key.as_text() == name) {
        return &value;
      }
    }
    return nullptr;
  }
};

/// The variable `loop` of a for statement. It reads the next element only if the template asks for it.
struct Loop final : Object {
  const Node* node = nullptr;
  Frame* frame = nullptr;  // frame of the statement
  Value items;             // a list
  size_t at = 0;           // index of the element that is read next
  int64_t index0 = -1;
  int64_t depth0 = 0;
  int64_t length = -1;  // -1 if unknown
  bool has_after = false;
  Value after;
  Value current;
  Value before;
  bool has_changed = false;
  Value changed;
  bool running = true;
  bool filtered = false;  // the condition has been evaluated for all items
};

/// A macro, or the body of a call block, with the variables that it sees.
struct Macro final : Object {
  const Node* node = nullptr;
  Frame* frame = nullptr;
};

struct Cycler final : Object {
  Value items;
  size_t at = 0;
};

struct Joiner final : Object {
  Value separator;
  bool used = false;
};

/// The variables of a part of the template, indexed by the ids of their names.
struct Frame {
  Frame* outer = nullptr;
  std::vector<std::pair<int, Value>> variables;
  uint64_t bytes = 0;  // charged for the variables
  bool kept = false;   // used by a macro, so it lives as long as the interpreter
};

void write_namespace(Work& work, TextBuilder& out, const Value& value);
void write_macro_name(Work& work, TextBuilder& out, const Value& value);

}  // namespace jinja
}  // namespace llm
}  // namespace extension
}  // namespace executorch
