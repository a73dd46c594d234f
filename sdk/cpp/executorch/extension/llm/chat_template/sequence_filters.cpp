// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>

#include "interpreter.h"
#include "text_methods.h"

namespace executorch {
namespace extension {
namespace llm {
namespace jinja {

Value folded(Work& work, const Value& value) {
  return value.is_string() ? to_lower(work, value) : value;
}

namespace {

using Type = Value::Type;

Value otherwise(Interpreter& in, const Value& input, const Bound& arguments) {
  const bool replaces = input.is_undefined() || (arguments.truthy(1) && !input.truthy());
  return !replaces ? input : arguments.has(0) ? *arguments.get(0) : in.text("");
}

Value length(Interpreter& in, const Value& input, const Bound&) {
  return Value::integer(in.size_of(input));
}

Value first(Interpreter& in, const Value& input, const Bound&) {
  if (input.is(Type::kIterator)) {  // consumes only the first element
    auto& iterator = static_cast<Iterator&>(*input.object());
    if (!iterator.failure.empty()) {
      return in.fail(iterator.failure);
    }
    if (!iterator.items.is_undefined() && iterator.at < iterator.items.as_list().size()) {
      return iterator.items.as_list()[iterator.at++];
    }
    return in.undefined("the first element of an empty sequence");
  }
  const Value items = in.elements(input);
  return in.failed()               ? Value()
         : items.as_list().empty() ? in.undefined("the first element of an empty sequence")
                                   : items.as_list().front();
}

Value last(Interpreter& in, const Value& input, const Bound&) {
  if (input.is(Type::kIterator)) {
    return in.fail("filter 'last' needs a sequence, found a generator: use filter 'list' before it");
  }
  const Value items = in.elements(input);
  return in.failed()               ? Value()
         : items.as_list().empty() ? in.undefined("the last element of an empty sequence")
                                   : items.as_list().back();
}

Value list(Interpreter& in, const Value& input, const Bound&) {
  const Value items = in.elements(input);
  if (in.failed()) {
    return {};
  }
  ListBuilder made(in);  // always a new list: `sameas` distinguishes it
  made.add_all(items.as_list());
  return made.value();
}

Value reverse(Interpreter& in, const Value& input, const Bound&) {
  const Value items = in.elements(input);
  if (in.failed()) {
    return {};
  }
  if (input.is_string()) {
    TextBuilder text(in);
    for (size_t i = items.as_list().size(); i-- > 0 && text.add(items.as_list()[i].as_text());) {
    }
    return text.value(input.is_markup());
  }
  ListBuilder made(in);
  for (size_t i = items.as_list().size(); i-- > 0 && made.add(items.as_list()[i]);) {
  }
  const Value all = made.value();
  return input.is(Type::kIterator) ? all : in.generator(all, "list_reverseiterator");
}

Value join(Interpreter& in, const Value& input, const Bound& arguments) {
  const Value items = in.elements(input);
  const Value between = arguments.has(0) ? soft_str(in, *arguments.get(0)) : Value();
  TextBuilder text(in);
  for (size_t i = 0; !in.failed() && i < items.as_list().size(); i++) {
    const Value& item = items.as_list()[i];
    text.add(i > 0 ? std::string_view(between.as_text()) : std::string_view());
    write_str(in, text, arguments.has_value(1) ? in.by_path(item, *arguments.get(1)) : item);
  }
  return text.value();
}

/// The key of sort: a list of one attribute, or of several with commas between them. It is a list because comparing
/// lists skips equal elements, even None.
Value sort_key(Interpreter& in, const Value& item, const Value& paths, bool folds) {
  const auto one = [&](const Value& path) {
    const Value key = in.by_path(item, path);
    return folds ? folded(in, key) : key;
  };
  ListBuilder keys(in);
  if (!paths.is_string()) {
    keys.add(one(paths));
    return keys.value();
  }
  const std::string_view all = paths.as_text();
  for (size_t start = 0; start <= all.size() && in.read(all.size());) {
    const size_t end = std::min(all.find(',', start), all.size());
    keys.add(one(in.text(all.substr(start, end - start))));
    start = end + 1;
  }
  return keys.value();
}

/// Whether an argument reverses the order: as in Python, true, false or an integer.
bool is_reversed(Interpreter& in, const Value* argument) {
  int64_t reverse = 0;
  return argument != nullptr && in.integer(*argument, "the argument 'reverse'", reverse) && reverse != 0;
}

Value sort(Interpreter& in, const Value& input, const Bound& arguments) {
  const bool reverse = is_reversed(in, arguments.get(0));
  const Value items = in.elements(input);
  ListBuilder keys(in);
  const Value paths = arguments.has(2) ? *arguments.get(2) : Value::none();
  for (size_t i = 0; !in.failed() && i < items.as_list().size(); i++) {
    keys.add(sort_key(in, items.as_list()[i], paths, !arguments.truthy(1)));
  }
  return in.failed() ? Value() : in.sorted(items.as_list(), keys.items(), reverse);
}

Value dict_sort(Interpreter& in, const Value& input, const Bound& arguments) {
  const std::string by = arguments.has(1) ? soft_str(in, *arguments.get(1)).as_text() : "key";
  if (by != "key" && by != "value") {
    return in.fail("filter 'dictsort' sorts by 'key' or by 'value', not by '" + by.substr(0, 40) + "'");
  }
  if (!input.is_dict()) {
    return in.fail(std::string("filter 'dictsort' needs a dictionary, found a value of type ") + input.type_name());
  }
  const bool reverse = is_reversed(in, arguments.get(2));
  const Value pairs = dict_items(in, input);
  ListBuilder keys(in);
  for (size_t i = 0; !in.failed() && i < pairs.as_list().size(); i++) {
    const Value& key = pairs.as_list()[i].as_list()[by == "key" ? 0 : 1];
    keys.add(arguments.truthy(0) ? key : folded(in, key));
  }
  return in.failed() ? Value() : in.sorted(pairs.as_list(), keys.items(), reverse);
}

Value items(Interpreter& in, const Value& input, const Bound&) {
  if (input.is_undefined()) {
    return in.generator(ListBuilder(in).value());
  }
  if (!input.is_dict()) {
    return in.fail(std::string("filter 'items' needs a dictionary, found a value of type ") + input.type_name());
  }
  return in.generator(dict_items(in, input));
}

Value unique(Interpreter& in, const Value& input, const Bound& arguments) {
  const Value all = in.elements(input);
  DictBuilder seen(in);
  ListBuilder kept(in);
  for (size_t i = 0; !in.failed() && i < all.as_list().size(); i++) {
    const Value& item = all.as_list()[i];
    const Value key = arguments.has_value(1) ? in.by_path(item, *arguments.get(1)) : item;
    const size_t before = seen.size();
    if (seen.set(arguments.truthy(0) ? key : folded(in, key), Value::none()) && seen.size() > before) {
      kept.add(item);
    }
  }
  return in.generator(kept.value());
}

Value batch(Interpreter& in, const Value& input, const Bound& arguments) {
  int64_t count = 0;
  const Value all = in.elements(input);
  if (in.failed() || !in.integer(*arguments.get(0), "the count of filter 'batch'", count)) {
    return {};
  }
  ListBuilder batches(in);
  const auto size = all.as_list().size();
  // A count that no batch reaches makes one batch; 0 makes an empty one first.
  const size_t most = count < 0 ? size : static_cast<size_t>(count);
  count == 0 && size > 0 ? (void)batches.add(ListBuilder(in).value()) : (void)0;
  for (size_t i = 0; i < size && !in.failed();) {
    ListBuilder one(in);
    const size_t end = most == 0 ? size : i + std::min(most, size - i);
    for (; i < end; i++) {
      one.add(all.as_list()[i]);
    }
    while (arguments.has_value(1) && one.size() < static_cast<size_t>(std::max<int64_t>(count, 0)) &&
           one.add(*arguments.get(1))) {
    }
    batches.add(one.value());
  }
  return in.generator(batches.value());
}

Value slices(Interpreter& in, const Value& input, const Bound& arguments) {
  int64_t count = 0;
  const Value all = in.elements(input);
  if (in.failed() || !in.integer(*arguments.get(0), "the count of filter 'slice'", count)) {
    return {};
  }
  if (count == 0) {
    return in.fail("filter 'slice' needs a count that is not 0");
  }
  ListBuilder made(in);
  const auto size = static_cast<int64_t>(all.as_list().size());
  int64_t next = 0;
  for (int64_t i = 0; i < count && in.step(); i++) {
    ListBuilder one(in);
    const bool longer = i < size % count;
    for (int64_t end = next + size / count + (longer ? 1 : 0); next < end; next++) {
      one.add(all.as_list()[static_cast<size_t>(next)]);
    }
    if (arguments.has_value(1) && !longer) {
      one.add(*arguments.get(1));
    }
    made.add(one.value());
  }
  return in.generator(made.value());
}

Value group_by(Interpreter& in, const Value& input, const Bound& arguments) {
  const Value all = in.elements(input);
  const bool folds = !arguments.truthy(2);
  const auto key_of = [&](const Value& item) {
    return in.by_path(item, *arguments.get(0), arguments.has_value(1) ? arguments.get(1) : nullptr);
  };
  ListBuilder keys(in);
  for (size_t i = 0; !in.failed() && i < all.as_list().size(); i++) {
    const Value key = key_of(all.as_list()[i]);
    keys.add(folds ? folded(in, key) : key);
  }
  const Value ordered_items = in.failed() ? Value() : in.sorted(all.as_list(), keys.items(), false);
  ListBuilder groups(in);
  for (size_t i = 0; !in.failed() && i < ordered_items.as_list().size();) {
    const List& sorted = ordered_items.as_list();
    const Value grouper = key_of(sorted[i]);
    const Value key = folds ? folded(in, grouper) : grouper;
    ListBuilder group(in);
    for (; i < sorted.size() && !in.failed(); i++) {
      const Value other = key_of(sorted[i]);
      if (!equal(in, folds ? folded(in, other) : other, key)) {
        break;
      }
      group.add(sorted[i]);
    }
    ListBuilder pair(in);
    pair.add(grouper);
    pair.add(group.value());
    auto storage = std::make_shared<ListStorage>();
    storage->is_group = true;
    groups.add(pair.into(Type::kTuple, std::move(storage)));
  }
  return groups.value();
}

/// The attribute of a name, but no entry of a dictionary.
Value attribute(Interpreter& in, const Value& input, const Bound& arguments) {
  const Value& name = *arguments.get(0);
  if (!in.string(name, "the name of filter 'attr'")) {
    return {};
  }
  return input.is_dict() && find_method(input, name.as_text()) == nullptr
             ? in.undefined("attribute '" + name.as_text().substr(0, 80) + "'")
             : in.attribute(input, name);
}

constexpr Filter kSequenceFilters[] = {
    {"default", "default_value? boolean?", otherwise},
    {"d", "default_value? boolean?", otherwise},
    {"length", "", length},
    {"count", "", length},
    {"first", "", first},
    {"last", "", last},
    {"list", "", list},
    {"reverse", "", reverse},
    {"join", "d? attribute?", join},
    {"sort", "reverse? case_sensitive? attribute?", sort},
    {"dictsort", "case_sensitive? by? reverse?", dict_sort},
    {"items", "", items, true},
    {"unique", "case_sensitive? attribute?", unique, true},
    {"batch", "linecount fill_with?", batch, true},
    {"slice", "slices fill_with?", slices, true},
    {"groupby", "attribute default? case_sensitive?", group_by},
    {"attr", "name", attribute},
};

}  // namespace

Table<Filter> sequence_filters() {
  return table(kSequenceFilters);
}

}  // namespace jinja
}  // namespace llm
}  // namespace extension
}  // namespace executorch
