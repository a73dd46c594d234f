// SPDX-License-Identifier: BSD-3-Clause
// Filters that apply a test or a filter to each element. They return generators.
#include <utility>

#include "interpreter.h"

namespace executorch {
namespace extension {
namespace llm {
namespace jinja {
namespace {

/// The arguments after the first `used` ones.
Arguments behind(const Bound& arguments, size_t used) {
  Arguments rest;
  for (size_t i = used; i < arguments.rest.size(); i++) {
    rest.positional.push_back(arguments.rest[i]);
  }
  rest.named = arguments.rest_named;
  return rest;
}

Value nothing(Interpreter& in) {
  return in.generator(ListBuilder(in).value());
}

Value select(Interpreter& in, const Value& input, const Bound& arguments, bool by_attribute, bool keeps) {
  if (!input.truthy()) {  // jinja2 does not look at the arguments then
    return nothing(in);
  }
  const Value items = in.elements(input);
  const size_t place = by_attribute ? 1 : 0;
  if (by_attribute && arguments.rest.empty()) {
    return in.fail("this filter needs the name of an attribute");
  }
  const bool has_test = arguments.rest.size() > place;
  if (has_test && !in.string(arguments.rest[place], "the name of a test")) {
    return {};
  }
  const Arguments rest = behind(arguments, place + 1);
  ListBuilder kept(in);
  for (size_t i = 0; !in.failed() && i < items.as_list().size(); i++) {
    const Value& item = items.as_list()[i];
    const Value value = by_attribute ? in.by_path(item, arguments.rest[0]) : item;
    const bool holds = has_test ? in.test(arguments.rest[place].as_text(), value, rest) : value.truthy();
    if (holds == keeps) {
      kept.add(item);
    }
  }
  return in.generator(kept.value());
}

Value select(Interpreter& in, const Value& input, const Bound& arguments) {
  return select(in, input, arguments, false, true);
}
Value reject(Interpreter& in, const Value& input, const Bound& arguments) {
  return select(in, input, arguments, false, false);
}
Value select_attribute(Interpreter& in, const Value& input, const Bound& arguments) {
  return select(in, input, arguments, true, true);
}
Value reject_attribute(Interpreter& in, const Value& input, const Bound& arguments) {
  return select(in, input, arguments, true, false);
}

/// map(attribute=..., default=...).
Value map_attribute(Interpreter& in, const Value& items, const Bound& arguments) {
  Value path;
  Value otherwise = Value::none();
  for (const auto& [name, value] : arguments.rest_named) {
    if (name != "attribute" && name != "default") {
      return in.fail("filter 'map' has no argument '" + name.substr(0, 80) + "'");
    }
    (name == "attribute" ? path : otherwise) = value;
  }
  ListBuilder made(in);
  for (size_t i = 0; !in.failed() && i < items.as_list().size(); i++) {
    made.add(in.by_path(items.as_list()[i], path, otherwise.is_none() ? nullptr : &otherwise));
  }
  return in.generator(made.value());
}

Value map(Interpreter& in, const Value& input, const Bound& arguments) {
  if (!input.truthy()) {
    return nothing(in);
  }
  const Value items = in.elements(input);
  if (in.failed()) {
    return {};
  }
  if (arguments.rest.empty()) {
    for (const auto& argument : arguments.rest_named) {
      if (argument.first == "attribute") {
        return map_attribute(in, items, arguments);
      }
    }
    return in.fail("filter 'map' needs the name of a filter, or attribute=");
  }
  if (!in.string(arguments.rest[0], "the name of a filter")) {
    return {};
  }
  const Arguments rest = behind(arguments, 1);
  ListBuilder made(in);
  for (size_t i = 0; !in.failed() && i < items.as_list().size(); i++) {
    made.add(in.filter(arguments.rest[0].as_text(), items.as_list()[i], rest));
  }
  return in.generator(made.value());
}

constexpr Filter kSelectFilters[] = {
    {"select", "* **", select, true},
    {"reject", "* **", reject, true},
    {"selectattr", "* **", select_attribute, true},
    {"rejectattr", "* **", reject_attribute, true},
    {"map", "* **", map, true},
};

}  // namespace

Table<Filter> select_filters() {
  return table(kSelectFilters);
}

Value Interpreter::filter(const std::string& name, const Value& input, const Arguments& arguments) {
  if (failed() || !step() || !may_recurse()) {
    return {};
  }
  const Filter* const found = find_filter(name);
  if (found == nullptr) {
    return fail("unknown filter '" + name.substr(0, 80) + "'");
  }
  Bound bound;
  if (!bind(*this, "filter", found->name, found->parameters, arguments, bound)) {
    return {};
  }
  Value made = found->apply(*this, input, bound);
  const std::string failure = found->is_generator ? postponed() : std::string();
  if (failure.empty()) {
    return made;
  }
  made = generator(Value());
  if (made.is(Value::Type::kIterator)) {
    static_cast<Iterator&>(*made.object()).failure = failure;
  }
  return made;
}

bool Interpreter::test(const std::string& name, const Value& value, const Arguments& arguments) {
  if (failed() || !step()) {
    return false;
  }
  const Test* const found = tests().find(name);
  if (found == nullptr) {
    fail("unknown test '" + name.substr(0, 80) + "'");
    return false;
  }
  Bound bound;
  return bind(*this, "test", found->name, found->parameters, arguments, bound) && found->apply(*this, value, bound) &&
         !failed();
}

}  // namespace jinja
}  // namespace llm
}  // namespace extension
}  // namespace executorch
