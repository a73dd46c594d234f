// SPDX-License-Identifier: BSD-3-Clause
// The elements of values.
#include <algorithm>
#include <array>
#include <numeric>

#include "characters.h"
#include "interpreter.h"

namespace executorch {
namespace extension {
namespace llm {
namespace jinja {

using Type = Value::Type;

namespace {

/// Returns the shared text of an ASCII character.
const Value& ascii_character(char c) {
  static const std::array<Value, 128> all = [] {
    std::array<Value, 128> made;
    for (size_t i = 0; i < made.size(); i++) {
      made[i] = Value::text(std::string(1, static_cast<char>(i)));
    }
    return made;
  }();
  return all[static_cast<unsigned char>(c)];
}

Value character(Work& work, std::string_view text) {
  return text.size() == 1 ? ascii_character(text[0]) : work.text(text);
}

}  // namespace

Value Interpreter::elements(const Value& value) {
  if (failed() || value.has_list()) {
    return value;
  }
  ListBuilder items(*this);
  switch (value.type()) {
    case Type::kUndefined:
      break;
    case Type::kDict:
      for (const Entry& entry : value.as<DictStorage>().entries) {
        if (!items.add(entry.key)) {
          break;
        }
      }
      break;
    case Type::kString: {
      const std::string_view all = value.as_text();
      for (size_t at = 0; at < all.size() && !failed();) {
        const size_t begin = at;
        next_character(all, at);
        items.add(character(*this, all.substr(begin, at - begin)));
      }
      break;
    }
    case Type::kIterator: {
      auto& iterator = static_cast<Iterator&>(*value.object());
      if (!iterator.failure.empty()) {
        return fail(iterator.failure);
      }
      const Value rest = std::exchange(iterator.items, Value());
      if (rest.is_undefined() || iterator.at == 0) {
        return rest.is_undefined() ? items.value() : rest;
      }
      for (size_t i = iterator.at; i < rest.as_list().size() && items.add(rest.as_list()[i]); i++) {
      }
      break;
    }
    default:
      return fail(std::string("a value of type ") + value.type_name() + " has no elements");
  }
  return items.value();
}

int64_t Interpreter::size_of(const Value& value) {
  switch (value.type()) {
    case Type::kUndefined:
      return 0;
    case Type::kString:
      return static_cast<int64_t>(value.length());
    case Type::kList:
    case Type::kTuple:
    case Type::kRange:
    case Type::kView:
      return static_cast<int64_t>(value.as_list().size());
    case Type::kDict:
      return static_cast<int64_t>(value.as<DictStorage>().entries.size());
    case Type::kLoop:
      return loop_length(static_cast<Loop&>(*value.object()));
    default:
      fail(std::string("a value of type ") + value.type_name() + " has no length");
      return 0;
  }
}

Value Interpreter::item(const Value& object, const Value& key) {
  if (failed()) {
    return {};
  }
  if (object.is_undefined()) {
    return fail(object.hint() + " is undefined, and has no elements");
  }
  if (object.is_dict() && is_hashable(*this, key)) {
    if (const Value* const found = find(*this, object.as<DictStorage>(), key)) {
      return *found;
    }
  }
  const bool has_places = object.is_string() || (object.has_list() && !object.is(Type::kView));
  if (has_places && key.is_integral()) {
    const int64_t count = size_of(object);
    const int64_t place = key.as_int() < 0 ? key.as_int() + count : key.as_int();
    if (place >= 0 && place < count) {
      if (!object.is_string()) {
        return object.as_list()[static_cast<size_t>(place)];
      }
      const std::string_view all = object.as_text();
      const bool ascii = static_cast<size_t>(count) == all.size();
      ascii ? step() : read(all.size());
      const size_t begin = ascii ? static_cast<size_t>(place) : offset_of(all, static_cast<size_t>(place));
      size_t end = begin;
      next_character(all, end);
      return character(*this, all.substr(begin, end - begin)).as_markup(object.is_markup());
    }
  }
  if (key.is_string() && !failed()) {
    bool found = false;
    Value made = object_attribute(object, key.as_text(), found);
    if (found) {
      return made;
    }
  }
  TextBuilder hint(*this);
  hint.add("element ");
  key.is_string() && key.as_text().size() > 80 ? (void)hint.add("of a long name") : write_repr(*this, hint, key);
  return undefined(hint.seen());
}

Value Interpreter::by_path(Value value, const Value& path, const Value* otherwise) {
  const auto replaced = [otherwise](Value found) {
    return otherwise != nullptr && found.is_undefined() ? *otherwise : found;
  };
  if (!path.is_string()) {
    return path.is_none() ? value : replaced(item(value, path));
  }
  const std::string_view names = path.as_text();
  for (size_t start = 0; start <= names.size() && read(names.size());) {
    const size_t end = std::min(names.find('.', start), names.size());
    const std::string_view part = names.substr(start, end - start);
    const bool is_number = !part.empty() && part.size() < 18 &&
                           std::all_of(part.begin(), part.end(), [](char c) { return c >= '0' && c <= '9'; });
    value = replaced(item(value, is_number ? Value::integer(std::stoll(std::string(part))) : text(part)));
    start = end + 1;
  }
  return value;
}

Value Interpreter::generator(const Value& items, const char* what) {
  auto* const made = make<Iterator>();
  if (made == nullptr) {
    return {};
  }
  made->items = items;
  made->what = what;
  return Value::object(Type::kIterator, made);
}

Value Interpreter::sorted(const List& items, const List& keys, bool descends) {
  std::vector<size_t> places;
  const uint64_t bytes = items.size() * sizeof(size_t) * 2;  // sorting needs the same memory again
  if (!take(bytes)) {
    return {};
  }
  places.resize(items.size());
  std::iota(places.begin(), places.end(), size_t{0});
  // After a failure every comparison returns false: this order is inconsistent, but a merge sort tolerates it.
  std::stable_sort(places.begin(), places.end(), [&](size_t a, size_t b) {
    return !failed() && ordered(*this, "<", keys[descends ? b : a], keys[descends ? a : b]) && !failed();
  });
  budget().give_back(bytes);
  ListBuilder made(*this);
  for (const size_t place : places) {
    if (!made.add(items[place])) {
      break;
    }
  }
  return made.value();
}

bool Interpreter::integer(const Value& value, const char* what, int64_t& number) {
  if (!value.is_integral()) {
    fail(std::string("expected an integer for ") + what + ", found " +
         (value.is_undefined() ? value.hint() + ", which is undefined"
                               : std::string("a value of type ") + value.type_name()));
    return false;
  }
  number = value.as_int();
  return !failed();
}

bool Interpreter::string(const Value& value, const char* what) {
  if (!value.is_string()) {
    fail(std::string("expected a string for ") + what + ", found " +
         (value.is_undefined() ? value.hint() + ", which is undefined"
                               : std::string("a value of type ") + value.type_name()));
    return false;
  }
  return !failed();
}

}  // namespace jinja
}  // namespace llm
}  // namespace extension
}  // namespace executorch
