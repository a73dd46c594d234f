// SPDX-License-Identifier: BSD-3-Clause
#include "value.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>

namespace executorch {
namespace extension {
namespace llm {
namespace jinja {
namespace {

/// As Python writes a float: the shortest text that gives the number again.
std::string real_text(double number) {
  if (std::isnan(number)) {
    return "nan";
  }
  if (std::isinf(number)) {
    return number < 0 ? "-inf" : "inf";
  }
  char buffer[40];
  const double size = std::fabs(number);
  const bool scientific = size != 0 && (size < 1e-4 || size >= 1e16);
  const auto end = std::to_chars(buffer, buffer + sizeof(buffer), number,
                                 scientific ? std::chars_format::scientific : std::chars_format::fixed)
                       .ptr;
  std::string text(buffer, end);
  return scientific || text.find('.') != std::string::npos ? text : text + ".0";
}

std::string quoted(const std::string& text) {
  const bool has_single = text.find('\'') != std::string::npos;
  const char quote = has_single && text.find('"') == std::string::npos ? '"' : '\'';
  std::string result(1, quote);
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\\' || c == quote) {
      result += '\\';
      result += c;
    } else if (c == '\n' || c == '\r' || c == '\t') {
      result += c == '\n' ? "\\n" : c == '\r' ? "\\r" : "\\t";
    } else if (byte < 0x20 || byte == 0x7F) {
      char escape[8];
      std::snprintf(escape, sizeof(escape), "\\x%02x", byte);
      result += escape;
    } else {
      result += c;
    }
  }
  return result + quote;
}

std::string json_string(const std::string& text) {
  std::string result = "\"";
  for (const char c : text) {
    switch (c) {
      case '"':
      case '\\':
        result += '\\';
        result += c;
        break;
      case '\n':
        result += "\\n";
        break;
      case '\r':
        result += "\\r";
        break;
      case '\t':
        result += "\\t";
        break;
      case '\b':
        result += "\\b";
        break;
      case '\f':
        result += "\\f";
        break;
      default:
        if (static_cast<unsigned char>(c) < 0x20) {
          char escape[8];
          std::snprintf(escape, sizeof(escape), "\\u%04x", static_cast<unsigned>(c));
          result += escape;
        } else {
          result += c;
        }
    }
  }
  return result + '"';
}

}  // namespace

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
  Value made;
  made.type_ = Type::kString;
  made.text_ = std::make_shared<const std::string>(std::move(value));
  return made;
}
Value Value::list(List items) {
  Value made;
  made.type_ = Type::kList;
  made.depth_ = 1;
  for (const Value& item : items) {
    made.depth_ = std::max(made.depth_, item.depth_ + 1);
  }
  made.list_ = std::make_shared<const List>(std::move(items));
  return made;
}
Value Value::dict(Dict entries) {
  Value made;
  made.type_ = Type::kDict;
  made.depth_ = 1;
  for (const auto& [key, value] : entries) {
    made.depth_ = std::max({made.depth_, key.depth_ + 1, value.depth_ + 1});
  }
  made.dict_ = std::make_shared<const Dict>(std::move(entries));
  return made;
}
Value Value::name_space(Dict* attributes) {
  Value made;
  made.type_ = Type::kNamespace;
  made.attributes_ = attributes;
  return made;
}
Value Value::function(std::string name, const Node* node) {
  Value made = text(std::move(name));
  made.type_ = Type::kFunction;
  made.node_ = node;
  return made;
}
Value Value::undefined(std::string what) {
  Value made = text(std::move(what));
  made.type_ = Type::kUndefined;
  return made;
}

const std::string& Value::as_text() const {
  static const std::string empty;
  return text_ ? *text_ : empty;
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
      return !text_->empty();
    case Type::kList:
      return !list_->empty();
    case Type::kDict:
      return !dict_->empty();
    default:
      return true;
  }
}

bool Value::equals(const Value& other) const {
  if (is_number() && other.is_number()) {
    return is_integral() && other.is_integral() ? int_ == other.int_ : as_real() == other.as_real();
  }
  if (type_ != other.type_) {
    return false;
  }
  switch (type_) {
    case Type::kString:
      return *text_ == *other.text_;
    case Type::kList:
      return list_ == other.list_ || std::equal(list_->begin(), list_->end(), other.list_->begin(), other.list_->end(),
                                                [](const Value& a, const Value& b) { return a.equals(b); });
    case Type::kDict:
      return dict_ == other.dict_ || (dict_->size() == other.dict_->size() &&
                                      std::all_of(dict_->begin(), dict_->end(), [&](const Entry& entry) {
                                        const Value* const found = other.find(entry.first);
                                        return found != nullptr && found->equals(entry.second);
                                      }));
    case Type::kNamespace:
      return attributes_ == other.attributes_;
    case Type::kFunction:
      return node_ == other.node_ && *text_ == *other.text_;
    default:
      return true;
  }
}

const Value* Value::find(const Value& key) const {
  const Dict* const entries = is(Type::kDict) ? dict_.get() : is(Type::kNamespace) ? attributes_ : nullptr;
  if (entries == nullptr) {
    return nullptr;
  }
  const auto found =
      std::find_if(entries->rbegin(), entries->rend(), [&key](const Entry& entry) { return entry.first.equals(key); });
  return found == entries->rend() ? nullptr : &found->second;
}

const Value* Value::find(std::string_view key) const {
  const Dict* const entries = is(Type::kDict) ? dict_.get() : is(Type::kNamespace) ? attributes_ : nullptr;
  if (entries == nullptr) {
    return nullptr;
  }
  const auto found = std::find_if(entries->rbegin(), entries->rend(), [key](const Entry& entry) {
    return entry.first.is_string() && entry.first.as_text() == key;
  });
  return found == entries->rend() ? nullptr : &found->second;
}

std::string Value::to_text() const {
  return is_string() ? *text_ : is_undefined() ? "" : repr();
}

std::string Value::repr() const {
  switch (type_) {
    case Type::kUndefined:
      return "Undefined";
    case Type::kNone:
      return "None";
    case Type::kBool:
      return int_ != 0 ? "True" : "False";
    case Type::kInt:
      return std::to_string(int_);
    case Type::kFloat:
      return real_text(real_);
    case Type::kString:
      return quoted(*text_);
    case Type::kList: {
      std::string text = "[";
      for (const Value& item : *list_) {
        text += (text.size() > 1 ? ", " : "") + item.repr();
      }
      return text + "]";
    }
    case Type::kDict: {
      std::string text = "{";
      for (const auto& [key, value] : *dict_) {
        text += (text.size() > 1 ? ", " : "") + key.repr() + ": " + value.repr();
      }
      return text + "}";
    }
    default:
      return std::string("<") + type_name() + ">";
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
    case Type::kDict:
      return "dictionary";
    case Type::kNamespace:
      return "namespace";
    default:
      return "function";
  }
}

std::string to_json(const Value& value, int indent, int level) {
  const auto line = [indent](int at) {
    return indent < 0 ? std::string() : "\n" + std::string(static_cast<size_t>(indent) * static_cast<size_t>(at), ' ');
  };
  const char* const separator = indent < 0 ? ", " : ",";
  switch (value.type()) {
    case Value::Type::kBool:
      return value.as_int() != 0 ? "true" : "false";
    case Value::Type::kInt:
      return value.repr();
    case Value::Type::kFloat:
      return std::isnan(value.as_real())   ? "NaN"
             : std::isinf(value.as_real()) ? (value.as_real() < 0 ? "-Infinity" : "Infinity")
                                           : value.repr();
    case Value::Type::kString:
      return json_string(value.as_text());
    case Value::Type::kList: {
      std::string text;
      for (const Value& item : value.as_list()) {
        text += (text.empty() ? "" : separator) + line(level + 1) + to_json(item, indent, level + 1);
      }
      return "[" + text + (text.empty() ? "" : line(level)) + "]";
    }
    case Value::Type::kDict: {
      std::string text;
      for (const auto& [key, item] : value.as_dict()) {
        const std::string name = key.is_string() ? key.as_text() : to_json(key, -1);
        text += (text.empty() ? "" : separator) + line(level + 1) + json_string(name) + ": " +
                to_json(item, indent, level + 1);
      }
      return "{" + text + (text.empty() ? "" : line(level)) + "}";
    }
    default:
      return "null";
  }
}

std::vector<size_t> code_points(std::string_view text) {
  std::vector<size_t> starts;
  for (size_t i = 0; i < text.size(); i++) {
    if ((static_cast<unsigned char>(text[i]) & 0xC0U) != 0x80U) {
      starts.push_back(i);
    }
  }
  starts.push_back(text.size());
  return starts;
}

}  // namespace jinja
}  // namespace llm
}  // namespace extension
}  // namespace executorch
