// SPDX-License-Identifier: BSD-3-Clause
// Attributes and callable values.
#include <algorithm>
#include <utility>

#include "interpreter.h"

namespace executorch {
namespace extension {
namespace llm {
namespace jinja {

using Type = Value::Type;

namespace {

template <typename Kind>
Kind& as(const Value& value) {
  return static_cast<Kind&>(*value.object());
}

Value list_of_names(Work& work, const std::vector<std::string>& names) {
  ListBuilder made(work);
  for (const std::string& name : names) {
    made.add(work.text(name));
  }
  return made.value(Type::kTuple);
}

/// The attributes of a macro.
bool macro_attribute(Work& work, const Node& node, std::string_view name, Value& value) {
  if (name == "name") {
    value = work.text(node.name);
  } else if (name == "arguments") {
    value = list_of_names(work, node.names);
  } else if (name == "catch_kwargs" || name == "catch_varargs" || name == "caller") {
    value = Value::boolean(name == "caller"         ? node.uses_caller
                           : name == "catch_kwargs" ? node.uses_kwargs
                                                    : node.uses_varargs);
  } else {
    return false;
  }
  return true;
}

/// The attributes of a number.
Value number_attribute(const Value& number, std::string_view name) {
  const bool is_float = number.is(Type::kFloat);
  if (name == "real" || (name == "numerator" && !is_float)) {
    return is_float ? number : Value::integer(number.as_int());
  }
  if (name == "imag") {
    return is_float ? Value::real(0) : Value::integer(0);
  }
  return name == "denominator" && !is_float ? Value::integer(1) : Value();
}

}  // namespace

void write_namespace(Work& work, TextBuilder& out, const Value& value) {
  out.add("<Namespace {");
  bool first = true;
  for (const auto& [key, attribute] : as<Namespace>(value).attributes) {
    if (!out.add(first ? "" : ", ")) {
      return;
    }
    write_repr(work, out, key);
    out.add(": ");
    write_repr(work, out, attribute);
    first = false;
  }
  out.add("}>");
}

void write_macro_name(Work& work, TextBuilder& out, const Value& value) {
  const Macro& macro = as<Macro>(value);
  out.add("<Macro ");
  macro.node->id < 0 ? (void)out.add("anonymous") : write_repr(work, out, work.text(macro.node->name));
  out.add(">");
}

Value Interpreter::attribute(const Value& object, const Value& name) {
  if (failed()) {
    return {};
  }
  if (object.is_undefined()) {
    return fail(object.hint() + " is undefined, and has no attribute '" + name.as_text().substr(0, 80) + "'");
  }
  bool found = false;
  Value made = object_attribute(object, name.as_text(), found);
  if (found) {
    return made;
  }
  if (object.is_dict()) {
    if (const Value* const entry = find(*this, object.as<DictStorage>(), name)) {
      return *entry;
    }
  }
  return undefined("attribute '" + name.as_text().substr(0, 80) + "'");
}

/// Attributes other than the entries of a dictionary: methods, and the attributes of jinja's own objects.
Value Interpreter::object_attribute(const Value& object, const std::string& name, bool& found) {
  found = true;
  if (const Method* const method = find_method(object, name)) {
    return this->method(object, method);
  }
  if (changes(object, name)) {
    return undefined("'" + name + "', which would change a " + object.type_name() + " (templates may not),");
  }
  if (name.size() > 4 && name.compare(0, 2, "__") == 0 && name.compare(name.size() - 2, 2, "__") == 0) {
    return undefined("'" + name.substr(0, 40) + "', which is not safe,");
  }
  if (is_missing(object, name)) {
    return fail("'" + name + "' of a " + object.type_name() + " is not available in chat templates");
  }
  Value value;
  switch (object.type()) {
    case Type::kBool:
    case Type::kInt:
    case Type::kFloat:
      value = number_attribute(object, name);
      break;
    case Type::kRange: {
      const auto& range = object.as<RangeStorage>();
      if (name == "start" || name == "stop" || name == "step") {
        return Value::integer(name == "start" ? range.start : name == "stop" ? range.stop : range.step);
      }
      break;
    }
    case Type::kTuple: {
      const auto& tuple = object.as<ListStorage>();
      if (tuple.is_group && (name == "grouper" || name == "list")) {
        return tuple.items[name == "list" ? 1 : 0];
      }
      break;
    }
    case Type::kNamespace: {
      const Value* const entry = as<Namespace>(object).find(*this, name);
      if (entry != nullptr) {
        return *entry;
      }
      break;
    }
    case Type::kGlobal:
      value = is_self(object) ? block_value(name) : Value();
      break;
    case Type::kLoop:
      value = loop_attribute(as<Loop>(object), name);
      break;
    case Type::kMacro:
      if (macro_attribute(*this, *as<Macro>(object).node, name, value)) {
        return value;
      }
      break;
    case Type::kCycler: {
      const Cycler& cycler = as<Cycler>(object);
      if (name == "current") {
        return cycler.items.as_list()[cycler.at];
      }
      if (name == "pos" || name == "items") {
        return name == "pos" ? Value::integer(static_cast<int64_t>(cycler.at)) : cycler.items;
      }
      break;
    }
    case Type::kJoiner:
      if (name == "sep" || name == "used") {
        return name == "sep" ? as<Joiner>(object).separator : Value::boolean(as<Joiner>(object).used);
      }
      break;
    default:
      break;
  }
  found = !value.is_undefined() || value.storage() != nullptr;
  return value;
}

/// An attribute of `loop`; undefined, without a hint, for other names.
Value Interpreter::loop_attribute(Loop& loop, std::string_view name) {
  if (name == "index" || name == "index0") {
    return Value::integer(loop.index0 + (name == "index" ? 1 : 0));
  }
  if (name == "first") {
    return Value::boolean(loop.index0 == 0);
  }
  if (name == "depth" || name == "depth0") {
    return Value::integer(loop.depth0 + (name == "depth" ? 1 : 0));
  }
  if (name == "length") {
    return Value::integer(loop_length(loop));
  }
  if (name == "revindex" || name == "revindex0") {
    return Value::integer(loop_length(loop) - loop.index0 - (name == "revindex0" ? 1 : 0));
  }
  if (name == "last" || name == "nextitem") {
    if (!loop.has_after) {
      Value next;
      loop.has_after = loop_next(loop, next);
      loop.after = next;
    }
    return name == "last"   ? Value::boolean(!loop.has_after)
           : loop.has_after ? loop.after
                            : undefined("the next element of a loop's last one");
  }
  if (name == "previtem") {
    return loop.index0 > 0 ? loop.before : undefined("the element before the first one of a loop");
  }
  return {};
}

Value Interpreter::call(const Value& function, const Arguments& arguments) {
  if (failed() || !may_recurse()) {
    return {};
  }
  Bound bound;
  switch (function.type()) {
    case Type::kMethod: {
      const auto& stored = function.as<MethodStorage>();
      const Method& method = *stored.method;
      if (!bind(*this, "method", method.name, method.parameters, arguments, bound)) {
        return {};
      }
      Value made = method.apply(*this, stored.self, bound);
      return method.keeps_markup && stored.self.is_markup() ? marked(made) : made;
    }
    case Type::kGlobal: {
      const Filter& global = *globals().find(function.name());
      return bind(*this, "function", global.name, global.parameters, arguments, bound)
                 ? global.apply(*this, function, bound)
                 : Value();
    }
    case Type::kMacro:
      return call_macro(as<Macro>(function), arguments);
    case Type::kLoop: {
      const Loop& loop = as<Loop>(function);
      if (!loop.node->recursive) {
        return fail("only the loop of {% for ... recursive %} can be called");
      }
      return bind(*this, "function", "loop", "iterable", arguments, bound) ? loop_again(loop, *bound.get(0)) : Value();
    }
    case Type::kJoiner: {
      Joiner& joiner = as<Joiner>(function);
      const bool used = std::exchange(joiner.used, true);
      return bind(*this, "function", "joiner", "", arguments, bound) ? (used ? joiner.separator : text("")) : Value();
    }
    default:
      return fail(function.is_undefined()
                      ? function.hint() + " is undefined, and cannot be called"
                      : std::string("a value of type ") + function.type_name() + " cannot be called");
  }
}

/// A text, or the texts of a list, as markup.
Value Interpreter::marked(const Value& value) {
  if (value.is_string()) {
    return value.as_markup();
  }
  if (!value.is(Type::kList) && !value.is(Type::kTuple)) {
    return value;
  }
  ListBuilder made(*this);
  for (const Value& item : value.as_list()) {
    made.add(item.is_string() ? item.as_markup() : item);
  }
  return made.value(value.type());
}

Value Interpreter::macro_value(const Node& node) {
  auto* const made = make<Macro>();
  if (made == nullptr) {
    return {};
  }
  keep(frame_);
  made->node = &node;
  made->frame = frame_;
  return Value::object(Type::kMacro, made);
}

/// A block, which sees the variables outside of all loops and macros; undefined, without a hint, for other names.
Value Interpreter::block_value(const std::string& name) {
  const auto found = parsed_.blocks.find(name);
  auto* const made = found != parsed_.blocks.end() ? make<Macro>() : nullptr;
  if (made == nullptr) {
    return {};
  }
  Frame* outermost = frame_;
  while (outermost != nullptr && outermost->outer != nullptr && step()) {
    outermost = outermost->outer;
  }
  keep(outermost);
  made->node = found->second;
  made->frame = outermost;
  return Value::object(Type::kMacro, made);
}

Value Interpreter::call_macro(const Macro& macro, const Arguments& arguments) {
  Scope scope(*this, macro.frame);
  return bind_macro(macro, arguments) ? captured(*macro.node->children[0]) : Value();
}

/// Sets the parameters of a macro; jinja's special names too, where the macro uses them.
bool Interpreter::bind_macro(const Macro& macro, const Arguments& arguments) {
  const Node& node = *macro.node;
  const Position place = at();
  const size_t count = node.params.size();
  std::vector<bool> used(arguments.named.size());
  const auto named = [&](std::string_view name) -> const Value* {
    for (size_t i = 0; i < used.size() && step(); i++) {
      if (!used[i] && arguments.named[i].first == name) {
        used[i] = true;
        return &arguments.named[i].second;
      }
    }
    return nullptr;
  };
  const bool own_caller = std::find(node.names.begin(), node.names.end(), "caller") != node.names.end();
  std::vector<const Value*> given(count);
  for (size_t i = 0; i < count; i++) {
    given[i] = i < arguments.positional.size() ? &arguments.positional[i] : named(node.names[i]);
  }
  const Value* const caller = node.uses_caller && !own_caller ? named("caller") : nullptr;
  if (node.uses_caller && !own_caller) {
    set(parsed_id("caller"), caller != nullptr ? *caller : undefined("'caller'"));
  }
  if (node.uses_kwargs) {
    DictBuilder rest(*this);
    for (size_t i = 0; i < used.size(); i++) {
      if (!used[i]) {
        rest.set(text(arguments.named[i].first), arguments.named[i].second);
      }
    }
    set(parsed_id("kwargs"), rest.value());
  } else if (const auto unknown = std::find(used.begin(), used.end(), false); unknown != used.end()) {
    const auto& name = arguments.named[static_cast<size_t>(unknown - used.begin())].first;
    fail("macro '" + node.name + "' has no parameter '" + name + "'");
  }
  if (node.uses_varargs) {
    ListBuilder rest(*this);
    for (size_t i = count; i < arguments.positional.size(); i++) {
      rest.add(arguments.positional[i]);
    }
    set(parsed_id("varargs"), rest.value(Type::kTuple));
  } else if (arguments.positional.size() > count) {
    fail("macro '" + node.name + "' takes " + std::to_string(count) + " arguments, found " +
         std::to_string(arguments.positional.size()));
  }
  const size_t first_default = count + 1 - node.children.size();  // children[0] is the body
  for (size_t i = 0; i < count && !failed(); i++) {
    set(node.params[i], given[i] != nullptr  ? *given[i]
                        : i >= first_default ? evaluate(*node.children[1 + i - first_default])
                                             : undefined("'" + node.names[i] + "'"));
  }
  at(place);
  return !failed();
}

int Interpreter::parsed_id(std::string_view name) const {
  const auto found = std::find(parsed_.names.begin(), parsed_.names.end(), name);
  return static_cast<int>(found - parsed_.names.begin());
}

}  // namespace jinja
}  // namespace llm
}  // namespace extension
}  // namespace executorch
