// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <iterator>
#include <vector>

#include "text_methods.h"

namespace executorch {
namespace extension {
namespace llm {
namespace jinja {
namespace {

using Type = Value::Type;

/// Lays out values like pprint.pformat() of Python, with 80 columns.
class PrettyPrinter {
 public:
  PrettyPrinter(Interpreter& in, TextBuilder& out) : in_(in), out_(out) {}

  void write(const Value& value, size_t indent, size_t allowance, int level) {
    if (!in_.step() || !in_.may_recurse()) {
      return;
    }
    const Value line = on_one_line(value);
    const bool fits = line.length() + indent + allowance <= kWidth;
    if (fits || !(value.is_dict() || is_list(value) || (value.is_string() && !value.is_markup()))) {
      out_.add(line.as_text());
    } else if (value.is_dict()) {
      write_entries(value, indent + 1, allowance + 1, level + 1);
    } else if (value.is_string()) {
      write_text(value, indent, allowance, level + 1);
    } else {
      write_items(value, indent + 1, allowance, level + 1);
    }
  }

 private:
  static constexpr size_t kWidth = 80;

  /// Python's pprint lays out tuples, but not those with named parts.
  static bool is_list(const Value& value) {
    return value.is(Type::kList) || (value.is(Type::kTuple) && !value.as<ListStorage>().is_group);
  }
  static const char* closing(const Value& list) {
    return list.is(Type::kList) ? "]" : list.as_list().size() == 1 ? ",)" : ")";
  }

  void new_line(size_t indent) {
    out_.add('\n');
    out_.repeat(" ", indent);
  }

  /// The entries of a dictionary in the order of their keys. Keys without an order have that of their types' names.
  std::vector<const Entry*> sorted(const Value& dict) {
    std::vector<const Entry*> entries;
    const std::vector<Entry>& all = dict.as<DictStorage>().entries;
    const uint64_t bytes = all.size() * sizeof(void*) * 2;  // sorting needs as much again
    if (in_.take(bytes)) {
      std::transform(all.begin(), all.end(), std::back_inserter(entries), [](const Entry& entry) { return &entry; });
      std::stable_sort(entries.begin(), entries.end(), [this](const Entry* a, const Entry* b) {
        return have_order(a->key, b->key) ? ordered(in_, "<", a->key, b->key)
                                          : in_.step() && std::string_view(python_name(a->key)) < python_name(b->key);
      });
      in_.budget().give_back(bytes);
    }
    return entries;
  }
  /// Whether Python can compare two keys. It compares tuples at the first parts that differ.
  bool have_order(const Value& a, const Value& b) {
    if ((a.is_number() && b.is_number()) || (a.is_string() && b.is_string())) {
      return true;
    }
    if (a.type() != b.type() || !is_list(a) || !in_.step() || !in_.may_recurse()) {
      return false;
    }
    const List &left = a.as_list(), &right = b.as_list();
    for (size_t i = 0; i < std::min(left.size(), right.size()); i++) {
      if (!equal(in_, left[i], right[i])) {
        return have_order(left[i], right[i]);
      }
    }
    return true;
  }
  static const char* python_name(const Value& key) {
    switch (key.type()) {
      case Type::kNone:
        return "NoneType";
      case Type::kBool:
        return "bool";
      case Type::kInt:
        return "int";
      case Type::kFloat:
        return "float";
      case Type::kString:
        return "str";
      default:
        return key.type_name();
    }
  }

  Value on_one_line(const Value& value) {
    TextBuilder made(in_);
    add_on_one_line(made, value);
    return made.value();
  }
  /// repr() with the entries of dictionaries in the order of their keys.
  void add_on_one_line(TextBuilder& made, const Value& value) {
    if (!in_.step() || !in_.may_recurse()) {
      return;
    }
    const char* between = "";
    if (value.is_dict()) {
      made.add('{');
      for (const Entry* const entry : sorted(value)) {
        made.add(between);
        add_on_one_line(made, entry->key);
        made.add(": ");
        add_on_one_line(made, entry->value);
        between = ", ";
      }
      made.add('}');
    } else if (is_list(value)) {
      made.add(value.is(Type::kList) ? '[' : '(');
      for (const Value& item : value.as_list()) {
        if (!made.add(between)) {
          return;
        }
        add_on_one_line(made, item);
        between = ", ";
      }
      made.add(closing(value));
    } else {
      write_repr(in_, made, value);
    }
  }

  void write_entries(const Value& dict, size_t indent, size_t allowance, int level) {
    out_.add('{');
    const std::vector<const Entry*> entries = sorted(dict);
    for (size_t i = 0; i < entries.size() && !in_.failed(); i++) {
      if (i > 0) {
        out_.add(',');
        new_line(indent);
      }
      const Value key = on_one_line(entries[i]->key);
      out_.add(key.as_text());
      out_.add(": ");
      write(entries[i]->value, indent + key.length() + 2, i + 1 == entries.size() ? allowance : 1, level);
    }
    out_.add('}');
  }

  void write_items(const Value& list, size_t indent, size_t allowance, int level) {
    const std::string_view end = closing(list);
    const List& items = list.as_list();
    out_.add(list.is(Type::kList) ? '[' : '(');
    for (size_t i = 0; i < items.size() && !in_.failed(); i++) {
      if (i > 0) {
        out_.add(',');
        new_line(indent);
      }
      write(items[i], indent, i + 1 == items.size() ? allowance + end.size() : 1, level);
    }
    out_.add(end);
  }

  /// Appends the words of a line, each with the white space behind it, to quoted parts of at most `width` characters.
  void add_parts(ListBuilder& parts, std::string_view line, int64_t width, int64_t last_width) {
    size_t begin = 0;  // of the part
    for (size_t at = 0; at < line.size() && in_.step();) {
      const size_t word = at;
      for (bool space = false; at < line.size();) {
        size_t next = at;
        const bool is = is_space(next_character(line, next));
        if (space && !is) {
          break;
        }
        space = is;
        at = next;
      }
      const Value candidate = quoted(line.substr(begin, at - begin));
      if (static_cast<int64_t>(candidate.length()) > (at == line.size() ? last_width : width)) {
        if (word > begin) {
          parts.add(quoted(line.substr(begin, word - begin)));
        }
        begin = word;
      }
    }
    if (begin < line.size()) {
      parts.add(quoted(line.substr(begin)));
    }
  }

  Value quoted(std::string_view text) {
    TextBuilder made(in_);
    write_repr(in_, made, in_.text(text));
    return made.value();
  }

  /// A string as adjacent literals, one for each of its lines, or of their parts.
  void write_text(const Value& value, size_t indent, size_t allowance, int level) {
    const bool outermost = level == 1;
    indent += outermost ? 1 : 0;
    allowance += outermost ? 1 : 0;
    const auto width = static_cast<int64_t>(kWidth) - static_cast<int64_t>(indent);
    const std::string_view all = value.as_text();
    ListBuilder parts(in_);
    all.empty() ? (void)parts.add(quoted(all)) : void();
    each_line(all, [&](std::string_view line, std::string_view end) {
      const std::string_view whole(line.data(), line.size() + end.size());
      const bool last = whole.data() + whole.size() == all.data() + all.size();
      const int64_t last_width = width - (last ? static_cast<int64_t>(allowance) : 0);
      const Value literal = quoted(whole);
      static_cast<int64_t>(literal.length()) <= last_width ? (void)parts.add(literal)
                                                           : add_parts(parts, whole, width, last_width);
      return !in_.failed();
    });
    const bool brackets = outermost && parts.size() > 1;
    out_.add(brackets ? "(" : "");
    for (size_t i = 0; i < parts.size() && !in_.failed(); i++) {
      i > 0 ? new_line(indent) : void();
      out_.add(parts.items()[i].as_text());
    }
    out_.add(brackets ? ")" : "");
  }

  Interpreter& in_;
  TextBuilder& out_;
};

}  // namespace

Value pretty_print(Interpreter& in, const Value& input, const Bound&) {
  TextBuilder made(in);
  PrettyPrinter(in, made).write(input, 0, 0, 0);
  return made.value();
}

}  // namespace jinja
}  // namespace llm
}  // namespace extension
}  // namespace executorch
