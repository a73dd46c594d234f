// SPDX-License-Identifier: BSD-3-Clause
#include "value.h"

#include "characters.h"

namespace executorch {
namespace extension {
namespace llm {
namespace jinja {

TextStorage::TextStorage(std::string all) : text(std::move(all)), length(count_characters(text)) {}

Value Value::none() {
  Value made;
  made.type_ = Type::kNone;
  return made;
}
Value Value::boolean(bool value) {
  Value made;
  made.type_ = Type::kBool;
  made.int_ = value ? 1 : 0;
  return made;
}
Value Value::integer(int64_t value) {
  Value made;
  made.type_ = Type::kInt;
  made.int_ = value;
  return made;
}
Value Value::real(double value) {
  Value made;
  made.type_ = Type::kFloat;
  made.real_ = value;
  return made;
}
Value Value::text(std::string value) {
  return stored(Type::kString, std::make_shared<TextStorage>(std::move(value)));
}
Value Value::object(Type type, Object* object) {
  Value made;
  made.type_ = type;
  made.object_ = object;
  return made;
}
Value Value::global(const char* name) {
  Value made;
  made.type_ = Type::kGlobal;
  made.name_ = name;
  return made;
}
Value Value::stored(Type type, std::shared_ptr<const Storage> storage) {
  Value made;
  made.type_ = type;
  made.storage_ = std::move(storage);
  return made;
}
Value Value::undefined(std::string what) {
  return stored(Type::kUndefined, std::make_shared<TextStorage>(std::move(what)));
}

Value Value::as_markup(bool markup) const {
  Value made = *this;
  made.markup_ = markup;
  return made;
}

const std::string& Value::as_text() const {
  static const std::string empty;
  return storage_ ? as<TextStorage>().text : empty;
}

size_t Value::length() const {
  return storage_ ? as<TextStorage>().length : 0;
}

const List& Value::as_list() const {
  return as<ListStorage>().items;
}

bool Value::truthy() const {
  switch (type_) {
    case Type::kUndefined:
    case Type::kNone:
      return false;
    case Type::kBool:
    case Type::kInt:
      return int_ != 0;
    case Type::kFloat:
      return real_ != 0;
    case Type::kString:
      return !as_text().empty();
    case Type::kList:
    case Type::kTuple:
    case Type::kRange:
    case Type::kView:
      return !as_list().empty();
    case Type::kDict:
      return !as<DictStorage>().entries.empty();
    default:
      return true;
  }
}

const char* Value::type_name() const {
  switch (type_) {
    case Type::kUndefined:
      return "undefined";
    case Type::kNone:
      return "none";
    case Type::kBool:
      return "boolean";
    case Type::kInt:
      return "integer";
    case Type::kFloat:
      return "float";
    case Type::kString:
      return "string";
    case Type::kList:
      return "list";
    case Type::kTuple:
      return "tuple";
    case Type::kRange:
      return "range";
    case Type::kView:
      return as<ViewStorage>().kind;
    case Type::kDict:
      return "dictionary";
    case Type::kIterator:
      return "generator";
    case Type::kNamespace:
      return "namespace";
    case Type::kLoop:
      return "loop";
    case Type::kMacro:
      return "macro";
    case Type::kCycler:
      return "cycler";
    case Type::kJoiner:
      return "joiner";
    default:
      return "function";
  }
}

}  // namespace jinja
}  // namespace llm
}  // namespace extension
}  // namespace executorch
