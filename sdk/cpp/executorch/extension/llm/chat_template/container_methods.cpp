// SPDX-License-Identifier: BSD-3-Clause
// Methods of dictionaries, lists and jinja's own objects.
#include <algorithm>

#include "interpreter.h"
#include "text_methods.h"

namespace executorch {
namespace extension {
namespace llm {
namespace jinja {

using Type = Value::Type;

namespace {

Value view(Work& work, const Value& dict, const char* kind) {
  ListBuilder made(work);
  const bool keys = std::string_view(kind) == "dict_keys";
  const bool values = std::string_view(kind) == "dict_values";
  for (const Entry& entry : dict.as<DictStorage>().entries) {
    if (!made.add(keys ? entry.key : values ? entry.value : work.pair(entry.key, entry.value))) {
      break;
    }
  }
  auto storage = std::make_shared<ViewStorage>();
  storage->kind = kind;
  return made.into(Type::kView, std::move(storage));
}

Value items(Interpreter& in, const Value& self, const Bound&) {
  return view(in, self, "dict_items");
}
Value keys(Interpreter& in, const Value& self, const Bound&) {
  return view(in, self, "dict_keys");
}
Value values(Interpreter& in, const Value& self, const Bound&) {
  return view(in, self, "dict_values");
}

Value get(Interpreter& in, const Value& self, const Bound& arguments) {
  const Value* const found = find(in, self.as<DictStorage>(), *arguments.get(0));
  return found != nullptr ? *found : arguments.has(1) ? *arguments.get(1) : Value::none();
}

Value copy(Interpreter& in, const Value& self, const Bound&) {
  if (self.is_dict()) {
    DictBuilder made(in);
    made.set_all(self);
    return made.value();
  }
  ListBuilder made(in);
  made.add_all(self.as_list());
  return made.value();
}

Value index(Interpreter& in, const Value& self, const Bound& arguments) {
  const auto size = static_cast<int64_t>(self.as_list().size());
  int64_t bounds[2] = {0, size};
  for (size_t i = 0; i < 2; i++) {
    if (arguments.has(i + 1) && !in.integer(*arguments.get(i + 1), "a bound of method 'index'", bounds[i])) {
      return {};
    }
    bounds[i] = std::clamp<int64_t>(bounds[i] < 0 ? std::max(bounds[i], -size) + size : bounds[i], 0, size);
  }
  for (int64_t i = bounds[0]; i < bounds[1] && !in.failed(); i++) {
    if (equal(in, self.as_list()[static_cast<size_t>(i)], *arguments.get(0))) {
      return Value::integer(i);
    }
  }
  TextBuilder wanted(in);
  write_repr(in, wanted, *arguments.get(0));
  return in.fail("the list does not contain " + wanted.seen().substr(0, 200));
}

Value count(Interpreter& in, const Value& self, const Bound& arguments) {
  return Value::integer(std::count_if(self.as_list().begin(), self.as_list().end(),
                                      [&](const Value& item) { return equal(in, item, *arguments.get(0)); }));
}

Value cycle(Interpreter& in, const Value& self, const Bound& arguments) {
  const auto& loop = static_cast<const Loop&>(*self.object());
  if (arguments.rest.empty()) {
    return in.fail("method 'cycle' needs at least one argument");
  }
  return arguments.rest[static_cast<size_t>(std::max<int64_t>(loop.index0, 0)) % arguments.rest.size()];
}

Value changed(Interpreter& in, const Value& self, const Bound& arguments) {
  auto& loop = static_cast<Loop&>(*self.object());
  ListBuilder made(in);
  made.add_all(arguments.rest);
  const Value now = made.value(Type::kTuple);
  if (in.failed() || (loop.has_changed && equal(in, loop.changed, now))) {
    return Value::boolean(false);
  }
  loop.has_changed = true;
  loop.changed = now;
  return Value::boolean(true);
}

Value next(Interpreter&, const Value& self, const Bound&) {
  auto& cycler = static_cast<Cycler&>(*self.object());
  const List& items = cycler.items.as_list();
  const Value now = items[cycler.at];
  cycler.at = (cycler.at + 1) % items.size();
  return now;
}

Value reset(Interpreter&, const Value& self, const Bound&) {
  static_cast<Cycler&>(*self.object()).at = 0;
  return Value::none();
}

Value is_integer(Interpreter&, const Value& self, const Bound&) {
  const double number = self.as_real();
  return Value::boolean(number == static_cast<double>(static_cast<int64_t>(std::clamp(number, -9e18, 9e18))) ||
                        number >= 9e18 || number <= -9e18);
}

Value from_keys(Interpreter& in, const Value&, const Bound& arguments) {
  const Value all = in.elements(*arguments.get(0));
  DictBuilder made(in);
  for (size_t i = 0; !in.failed() && i < all.as_list().size(); i++) {
    made.set(all.as_list()[i], arguments.has(1) ? *arguments.get(1) : Value::none());
  }
  return made.value();
}

constexpr Method kContainerMethods[] = {
    {{"items", "", items}},
    {{"keys", "", keys}},
    {{"values", "", values}},
    {{"get", "key default? /", get}},
    {{"copy", "", copy}},
    {{"fromkeys", "iterable value? /", from_keys}},
    {{"index", "value start? stop? /", index}},
    {{"count", "value /", count}},
    {{"cycle", "*", cycle}},
    {{"changed", "*", changed}},
    {{"next", "", next}},
    {{"reset", "", reset}},
    {{"is_integer", "", is_integer}},
};

}  // namespace

Value dict_items(Work& work, const Value& dict) {
  return view(work, dict, "dict_items");
}

Table<Method> container_methods() {
  return table(kContainerMethods);
}

bool applies(const Value& self, std::string_view method) {
  switch (self.type()) {
    case Type::kDict:
      return method == "items" || method == "keys" || method == "values" || method == "get" || method == "copy" ||
             method == "fromkeys";
    case Type::kList:
      return method == "index" || method == "count" || method == "copy";
    case Type::kTuple:
    case Type::kRange:
      return method == "index" || method == "count";
    case Type::kLoop:
      return method == "cycle" || method == "changed";
    case Type::kCycler:
      return method == "next" || method == "reset";
    case Type::kFloat:
      return method == "is_integer";
    case Type::kGlobal:
      return method == "fromkeys" && std::string_view(self.name()) == "dict";
    default:
      return false;
  }
}

}  // namespace jinja
}  // namespace llm
}  // namespace extension
}  // namespace executorch
