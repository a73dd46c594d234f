// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "characters.h"
#include "interpreter.h"

namespace executorch {
namespace extension {
namespace llm {
namespace jinja {

using Type = Value::Type;

namespace {

/// Calls `escape` for each character that must be escaped, and copies the text between such characters.
template <typename Stays, typename Escape>
void write_with_escapes(TextBuilder& out, std::string_view text, Stays stays, Escape escape) {
  size_t copied = 0;
  for (size_t at = 0; at < text.size();) {
    const size_t begin = at;
    const uint32_t c = next_character(text, at);
    if (!stays(c)) {
      if (!out.add(text.substr(copied, begin - copied))) {
        return;
      }
      escape(c);
      copied = at;
    }
  }
  out.add(text.substr(copied));
}

void write_hex(TextBuilder& out, const char* format, uint32_t number) {
  char escape[16];
  std::snprintf(escape, sizeof(escape), format, static_cast<unsigned>(number));
  out.add(escape);
}

void write_quoted(Work& work, TextBuilder& out, std::string_view text) {
  work.read(text.size());
  const bool has_single = text.find('\'') != std::string_view::npos;
  const char quote = has_single && text.find('"') == std::string_view::npos ? '"' : '\'';
  out.add(quote);
  write_with_escapes(
      out, text, [quote](uint32_t c) { return c != '\\' && c != static_cast<uint32_t>(quote) && is_printable(c); },
      [&](uint32_t c) {
        if (c == '\\' || c == static_cast<uint32_t>(quote)) {
          const char escape[] = {'\\', static_cast<char>(c)};
          out.add(std::string_view(escape, 2));
        } else if (c == '\n' || c == '\r' || c == '\t') {
          out.add(c == '\n' ? "\\n" : c == '\r' ? "\\r" : "\\t");
        } else {
          write_hex(out, c < 0x100 ? "\\x%02x" : c < 0x10000 ? "\\u%04x" : "\\U%08x", c);
        }
      });
  out.add(quote);
}

void write_items(Work& work, TextBuilder& out, const List& items) {
  bool first = true;
  for (const Value& item : items) {
    if (!out.add(first ? "" : ", ")) {
      return;
    }
    write_repr(work, out, item);
    first = false;
  }
}

void write_range(TextBuilder& out, const RangeStorage& range) {
  out.add("range(" + std::to_string(range.start) + ", " + std::to_string(range.stop));
  out.add(range.step != 1 ? ", " + std::to_string(range.step) + ")" : ")");
}

void write_entries(Work& work, TextBuilder& out, const std::vector<Entry>& entries) {
  bool first = true;
  out.add("{");
  for (const Entry& entry : entries) {
    if (!out.add(first ? "" : ", ")) {
      return;
    }
    write_repr(work, out, entry.key);
    out.add(": ");
    write_repr(work, out, entry.value);
    first = false;
  }
  out.add("}");
}

void write_loop(Work& work, TextBuilder& out, Loop& loop) {
  const int64_t length = static_cast<Interpreter&>(work).loop_length(loop);  // only interpreters have loops
  out.add("<LoopContext " + std::to_string(loop.index0 + 1) + "/" + std::to_string(length) + ">");
}

}  // namespace

void write_repr(Work& work, TextBuilder& out, const Value& value) {
  if (!work.step() || !work.may_recurse()) {
    return;
  }
  switch (value.type()) {
    case Type::kUndefined:
      out.add("Undefined");
      break;
    case Type::kNone:
      out.add("None");
      break;
    case Type::kBool:
      out.add(value.as_int() != 0 ? "True" : "False");
      break;
    case Type::kInt:
      out.add(std::to_string(value.as_int()));
      break;
    case Type::kFloat:
      out.add(real_text(value.as_real()));
      break;
    case Type::kString:
      out.add(value.is_markup() ? "Markup(" : "");
      write_quoted(work, out, value.as_text());
      out.add(value.is_markup() ? ")" : "");
      break;
    case Type::kList:
      out.add("[");
      write_items(work, out, value.as_list());
      out.add("]");
      break;
    case Type::kTuple:
      out.add("(");
      write_items(work, out, value.as_list());
      out.add(value.as_list().size() == 1 ? ",)" : ")");
      break;
    case Type::kRange:
      write_range(out, value.as<RangeStorage>());
      break;
    case Type::kView:
      out.add(value.as<ViewStorage>().kind);
      out.add("([");
      write_items(work, out, value.as_list());
      out.add("])");
      break;
    case Type::kDict:
      write_entries(work, out, value.as<DictStorage>().entries);
      break;
    case Type::kNamespace:
      write_namespace(work, out, value);
      break;
    case Type::kLoop:
      write_loop(work, out, static_cast<Loop&>(*value.object()));
      break;
    case Type::kIterator: {  // Python writes an address
      const std::string what = static_cast<const Iterator&>(*value.object()).what;
      out.add("<" + what + (what == "generator" ? " object filter" : " object") + " at 0x000000000000>");
      break;
    }
    case Type::kMacro:
      write_macro_name(work, out, value);
      break;
    case Type::kGlobal:
      out.add(is_self(value) ? std::string("<TemplateReference None>") : std::string("<function>"));
      break;
    default:
      out.add(std::string("<") + value.type_name() + ">");
  }
}

void write_str(Work& work, TextBuilder& out, const Value& value) {
  if (value.is_string()) {
    out.add(value.as_text());
  } else if (!value.is_undefined()) {
    write_repr(work, out, value);
  }
}

Value soft_str(Work& work, const Value& value) {
  if (value.is_string()) {
    return value;
  }
  TextBuilder made(work);
  write_str(work, made, value);
  return made.value();
}

void write_escaped(TextBuilder& out, std::string_view text) {
  write_with_escapes(
      out, text, [](uint32_t c) { return c != '&' && c != '<' && c != '>' && c != '"' && c != '\''; },
      [&out](uint32_t c) {
        out.add(c == '&' ? "&amp;" : c == '<' ? "&lt;" : c == '>' ? "&gt;" : c == '"' ? "&#34;" : "&#39;");
      });
}

Value escaped(Work& work, const Value& value) {
  if (value.is_markup()) {
    return value;
  }
  const Value text = soft_str(work, value);
  TextBuilder made(work);
  write_escaped(made, text.as_text());
  return made.value(true);
}

namespace {

void write_json_string(TextBuilder& out, std::string_view text, bool ascii) {
  out.add('"');
  write_with_escapes(
      out, text, [ascii](uint32_t c) { return c >= 0x20 && c != '"' && c != '\\' && (!ascii || c < 0x7F); },
      [&out](uint32_t c) {
        static constexpr std::string_view kNamed = "\"\\\n\r\t\b\f";
        const size_t found = c < 0x80 ? kNamed.find(static_cast<char>(c)) : std::string_view::npos;
        if (found != std::string_view::npos) {
          const char escape[] = {'\\', "\"\\nrtbf"[found]};
          out.add(std::string_view(escape, 2));
        } else if (c >= 0x10000) {
          write_hex(out, "\\u%04x", 0xD800 + ((c - 0x10000) >> 10U));
          write_hex(out, "\\u%04x", 0xDC00 + ((c - 0x10000) & 0x3FFU));
        } else {
          write_hex(out, "\\u%04x", c);
        }
      });
  out.add('"');
}

std::string json_number(const Value& value) {
  if (value.is(Type::kBool)) {
    return value.as_int() != 0 ? "true" : "false";
  }
  if (value.is(Type::kInt)) {
    return std::to_string(value.as_int());
  }
  const double number = value.as_real();
  return std::isnan(number) ? "NaN" : std::isinf(number) ? (number < 0 ? "-Infinity" : "Infinity") : real_text(number);
}

void write_key(Work& work, TextBuilder& out, const Value& key, bool ascii) {
  if (key.is_string()) {
    write_json_string(out, key.as_text(), ascii);
  } else if (key.is_number() || key.is_none()) {
    out.add('"');
    out.add(key.is_none() ? "null" : json_number(key));
    out.add('"');
  } else {
    work.fail(std::string("a value of type ") + key.type_name() + " cannot be a key in JSON");
  }
}

void write_line(TextBuilder& out, const JsonStyle& style, size_t level) {
  if (style.lines) {
    out.add('\n');
    out.repeat(style.indent, level);
  }
}

/// The entries of a dictionary in the order in which they are written.
std::vector<const Entry*> order(Work& work, const DictStorage& dict, bool sort) {
  std::vector<const Entry*> entries;
  if (!work.take(dict.entries.size() * sizeof(void*) * 2)) {  // sorting needs the same memory again
    return entries;
  }
  for (const Entry& entry : dict.entries) {
    entries.push_back(&entry);
  }
  if (sort) {
    std::stable_sort(entries.begin(), entries.end(),
                     [&work](const Entry* a, const Entry* b) { return ordered(work, "<", a->key, b->key); });
  }
  work.budget().give_back(dict.entries.size() * sizeof(void*) * 2);
  return entries;
}

}  // namespace

void write_json(Work& work, TextBuilder& out, const Value& value, const JsonStyle& style, size_t level) {
  if (!work.step() || !work.may_recurse()) {
    return;
  }
  if (value.is_none()) {
    out.add("null");
  } else if (value.is_number()) {
    out.add(json_number(value));
  } else if (value.is_string()) {
    write_json_string(out, value.as_text(), style.ascii);
  } else if (value.is(Type::kList) || value.is(Type::kTuple)) {
    out.add('[');
    bool first = true;
    for (const Value& item : value.as_list()) {
      if (!out.add(first ? std::string_view() : style.item_separator)) {
        return;
      }
      write_line(out, style, level + 1);
      write_json(work, out, item, style, level + 1);
      first = false;
    }
    first ? void() : write_line(out, style, level);
    out.add(']');
  } else if (value.is_dict()) {
    out.add('{');
    bool first = true;
    for (const Entry* const entry : order(work, value.as<DictStorage>(), style.sort)) {
      if (!out.add(first ? std::string_view() : style.item_separator)) {
        return;
      }
      write_line(out, style, level + 1);
      write_key(work, out, entry->key, style.ascii);
      out.add(style.key_separator);
      write_json(work, out, entry->value, style, level + 1);
      first = false;
    }
    first ? void() : write_line(out, style, level);
    out.add('}');
  } else {
    work.fail(std::string("a value of type ") + value.type_name() + " cannot be written as JSON");
  }
}

}  // namespace jinja
}  // namespace llm
}  // namespace extension
}  // namespace executorch
