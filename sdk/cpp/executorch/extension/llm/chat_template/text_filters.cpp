// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>

#include "characters.h"
#include "format.h"
#include "interpreter.h"
#include "search.h"
#include "text_methods.h"

namespace executorch {
namespace extension {
namespace llm {
namespace jinja {
namespace {

using Type = Value::Type;

Value trim(Interpreter& in, const Value& input, const Bound& arguments) {
  return strip(in, soft_str(in, input), arguments, true, true).as_markup(input.is_markup());
}

Value in_case(Interpreter& in, const Value& input, Value (*change)(Work&, const Value&)) {
  return change(in, soft_str(in, input)).as_markup(input.is_markup());
}
Value upper(Interpreter& in, const Value& input, const Bound&) {
  return in_case(in, input, to_upper);
}
Value lower(Interpreter& in, const Value& input, const Bound&) {
  return in_case(in, input, to_lower);
}
Value capitalize(Interpreter& in, const Value& input, const Bound&) {
  return in_case(in, input, to_capitalized);
}

/// Converts the beginning of each word to upper case. Words begin after white space and after - ( { [ <.
Value title(Interpreter& in, const Value& input, const Bound&) {
  const Value text = soft_str(in, input);
  const std::string_view all = text.as_text();
  TextBuilder made(in);
  bool begins = true;
  std::string one;
  for (size_t at = 0; at < all.size() && !in.failed();) {
    const size_t begin = at;
    const uint32_t c = next_character(all, at);
    const bool separates = is_space(c) || c == '-' || c == '(' || c == '{' || c == '[' || c == '<';
    one.clear();
    const bool last_sigma = !begins && c == 0x3A3 && is_final_sigma(all, begin);
    separates    ? append_utf8(one, c)
    : last_sigma ? append_utf8(one, 0x3C2)
                 : append_case(one, c, begins ? Case::kUpper : Case::kLower);
    made.add(one);
    begins = separates;
  }
  return made.value();
}

Value string(Interpreter& in, const Value& input, const Bound&) {
  return soft_str(in, input);
}

Value safe(Interpreter& in, const Value& input, const Bound&) {
  return soft_str(in, input).as_markup();
}

Value escape(Interpreter& in, const Value& input, const Bound&) {
  return escaped(in, input);
}

Value force_escape(Interpreter& in, const Value& input, const Bound&) {
  return escaped(in, soft_str(in, input).as_markup(false));
}

Value replace(Interpreter& in, const Value& input, const Bound& arguments) {
  int64_t count = -1;
  if (arguments.has_value(2) && !in.integer(*arguments.get(2), "the count of filter 'replace'", count)) {
    return {};
  }
  const Value from = soft_str(in, *arguments.get(0));
  const Value to = soft_str(in, *arguments.get(1));
  return replaced(in, soft_str(in, input).as_text(), from.as_text(), to.as_text(), count);
}

bool json_separators(Interpreter& in, const Value& given, JsonStyle& style) {
  const Value parts = in.elements(given);
  if (in.failed() || parts.as_list().size() != 2) {
    in.fail("the separators of filter 'tojson' are two strings: between items, and behind keys");
    return false;
  }
  if (!in.string(parts.as_list()[0], "a separator") || !in.string(parts.as_list()[1], "a separator")) {
    return false;
  }
  style.item_separator = parts.as_list()[0].as_text();
  style.key_separator = parts.as_list()[1].as_text();
  return true;
}

/// The filter `tojson` as in transformers: it never escapes HTML's special characters, and by default writes one line
/// and keeps characters outside ASCII as they are.
Value to_json(Interpreter& in, const Value& input, const Bound& arguments) {
  JsonStyle style;
  style.ascii = arguments.truthy(0);
  style.sort = arguments.truthy(3);
  if (arguments.has_value(1)) {
    const Value& indent = *arguments.get(1);
    int64_t width = 0;
    style.lines = true;
    style.item_separator = ",";
    if (!indent.is_string() && !in.integer(indent, "the indentation of filter 'tojson'", width)) {
      return {};
    }
    if (width > 1000 || indent.as_text().size() > 1000) {
      return in.fail("the indentation of filter 'tojson' is more than 1000 characters");
    }
    style.indent =
        indent.is_string() ? indent.as_text() : std::string(static_cast<size_t>(std::max<int64_t>(width, 0)), ' ');
  }
  if (arguments.has_value(2) && !json_separators(in, *arguments.get(2), style)) {
    return {};
  }
  TextBuilder made(in);
  write_json(in, made, input, style);
  return made.value();
}

Value indent(Interpreter& in, const Value& input, const Bound& arguments) {
  int64_t width = 4;
  const bool given = arguments.has(0) && arguments.get(0)->is_string();
  if (!in.string(input, "filter 'indent'") ||
      (arguments.has(0) && !given && !in.integer(*arguments.get(0), "the width of filter 'indent'", width))) {
    return {};
  }
  TextBuilder by(in);
  given ? (void)by.add(arguments.get(0)->as_text())
        : (void)by.repeat(" ", static_cast<uint64_t>(std::max<int64_t>(width, 0)));
  TextBuilder made(in);
  bool first = true;
  const bool all = arguments.truthy(2);
  each_line(input.as_text(), [&](std::string_view line, std::string_view) {
    const bool indents = first ? arguments.truthy(1) : all || !line.empty();
    return (first || made.add('\n')) && (!indents || made.add(by.seen())) && made.add(line) && !(first = false);
  });
  const std::string_view text = input.as_text();
  // Jinja's filter appends a newline before it splits the text: an empty last line counts as a line here.
  size_t last = text.size();
  const uint32_t end = last > 0 ? previous_character(text, last) : 0;
  if (first || (is_line_end(end) && end != '\r')) {
    first ? (void)(arguments.truthy(1) && made.add(by.seen())) : (void)(made.add('\n') && all && made.add(by.seen()));
  }
  return made.value(input.is_markup());
}

Value center(Interpreter& in, const Value& input, const Bound& arguments) {
  int64_t width = 80;
  if (arguments.has(0) && !in.integer(*arguments.get(0), "the width of filter 'center'", width)) {
    return {};
  }
  return justified(in, soft_str(in, input), width, " ", Side::kBoth);
}

Value format(Interpreter& in, const Value& input, const Bound& arguments) {
  if (!arguments.rest.empty() && !arguments.rest_named.empty()) {
    return in.fail("filter 'format' takes arguments with names, or without, not both");
  }
  const Value text = soft_str(in, input);
  if (!arguments.rest_named.empty()) {
    DictBuilder values(in);
    for (const auto& [name, value] : arguments.rest_named) {
      values.set(in.text(name), value);
    }
    return format_percent(in, text, values.value());
  }
  ListBuilder values(in);
  values.add_all(arguments.rest);
  return format_percent(in, text, values.value(Type::kTuple));
}

Value truncate(Interpreter& in, const Value& input, const Bound& arguments) {
  int64_t length = 255;
  int64_t leeway = 5;
  const Value end = arguments.has(2) ? *arguments.get(2) : in.text("...");
  if ((arguments.has(0) && !in.integer(*arguments.get(0), "the length of filter 'truncate'", length)) ||
      (arguments.has_value(3) && !in.integer(*arguments.get(3), "the leeway of filter 'truncate'", leeway))) {
    return {};
  }
  const auto ending = static_cast<int64_t>(in.size_of(end));
  if (in.failed()) {
    return {};
  }
  if (length < ending || leeway < 0) {
    return in.fail("filter 'truncate' needs a length of at least " + std::to_string(ending) +
                   " characters, and a leeway of at least 0");
  }
  if (in.size_of(input) - leeway <= length) {
    return in.failed() ? Value() : input;
  }
  if (!in.string(input, "filter 'truncate'") || !in.string(end, "the end of filter 'truncate'")) {
    return {};
  }
  const std::string_view all = input.as_text();
  std::string_view kept = all.substr(0, offset_of(all, static_cast<size_t>(length - ending)));
  const size_t space = arguments.truthy(1) ? std::string_view::npos : kept.rfind(' ');
  TextBuilder made(in);
  made.add(kept.substr(0, space));
  made.add(end.as_text());
  return made.value(input.is_markup());
}

Value word_count(Interpreter& in, const Value& input, const Bound&) {
  const Value text = soft_str(in, input);
  const std::string_view all = text.as_text();
  int64_t words = 0;
  bool inside = false;
  for (size_t at = 0; at < all.size();) {
    const uint32_t c = next_character(all, at);
    const bool is_word = is_alnum(c) || c == '_';
    words += is_word && !inside ? 1 : 0;
    inside = is_word;
  }
  in.read(4 * all.size());
  return Value::integer(words);
}

void write_quoted(TextBuilder& out, std::string_view text, bool slash) {
  static constexpr std::string_view kSafe = "_.-~";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool stays = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       kSafe.find(c) != std::string_view::npos || (c == '/' && slash);
    const char escape[] = {'%', "0123456789ABCDEF"[byte >> 4U], "0123456789ABCDEF"[byte & 15U]};
    if (!(stays ? out.add(c) : !slash && c == ' ' ? out.add('+') : out.add(std::string_view(escape, 3)))) {
      return;
    }
  }
}

Value url_encode(Interpreter& in, const Value& input, const Bound&) {
  TextBuilder made(in);
  if (input.is_string() || input.is_number() || input.is_none()) {
    write_quoted(made, soft_str(in, input).as_text(), true);
    return made.value();
  }
  const Value pairs = input.is_dict() ? dict_items(in, input) : in.elements(input);
  for (size_t i = 0; !in.failed() && i < pairs.as_list().size(); i++) {
    const Value pair = in.elements(pairs.as_list()[i]);
    if (in.failed() || pair.as_list().size() != 2) {
      return in.fail("filter 'urlencode' needs pairs of names and values");
    }
    made.add(i > 0 ? "&" : "");
    write_quoted(made, soft_str(in, pair.as_list()[0]).as_text(), false);
    made.add('=');
    write_quoted(made, soft_str(in, pair.as_list()[1]).as_text(), false);
  }
  return made.value();
}

Value xml_attributes(Interpreter& in, const Value& input, const Bound& arguments) {
  if (!input.is_dict()) {
    return in.fail(std::string("filter 'xmlattr' needs a dictionary, found a value of type ") + input.type_name());
  }
  TextBuilder made(in);
  bool spaces = !arguments.has(0) || arguments.truthy(0);
  for (const Entry& entry : input.as<DictStorage>().entries) {
    if (!in.step()) {
      return {};
    }
    if (entry.value.is_none() || entry.value.is_undefined()) {
      continue;
    }
    if (!in.string(entry.key, "the name of an attribute")) {
      return {};
    }
    if (entry.key.as_text().find_first_of("\t\n\v\f\r />=") != std::string::npos) {
      return in.fail("the name of an attribute has white space, '/', '>' or '='");
    }
    made.add(spaces ? " " : "");
    made.add(escaped(in, entry.key).as_text());
    made.add("=\"");
    made.add(escaped(in, entry.value).as_text());
    made.add('"');
    spaces = true;
  }
  return made.value();
}

Value unavailable(Interpreter& in, const char* name, const char* why) {
  return in.fail(std::string("filter '") + name + "' is not available: " + why);
}
Value random(Interpreter& in, const Value&, const Bound&) {
  return unavailable(in, "random", "the text of a conversation must not be random");
}
Value strip_tags(Interpreter& in, const Value&, const Bound&) {
  return unavailable(in, "striptags", "it needs the names of all characters in HTML");
}
Value url_ize(Interpreter& in, const Value&, const Bound&) {
  return unavailable(in, "urlize", "it makes links for HTML pages");
}

constexpr Filter kTextFilters[] = {
    {"trim", "chars?", trim},
    {"upper", "", upper},
    {"lower", "", lower},
    {"capitalize", "", capitalize},
    {"title", "", title},
    {"string", "", string},
    {"safe", "", safe},
    {"e", "", escape},
    {"escape", "", escape},
    {"forceescape", "", force_escape},
    {"replace", "old new count?", replace},
    {"tojson", "ensure_ascii? indent? separators? sort_keys?", to_json},
    {"indent", "width? first? blank?", indent},
    {"center", "width?", center},
    {"format", "* **", format},
    {"truncate", "length? killwords? end? leeway?", truncate},
    {"wordcount", "", word_count},
    {"urlencode", "", url_encode},
    {"xmlattr", "autospace?", xml_attributes},
    {"wordwrap", "width? break_long_words? wrapstring? break_on_hyphens?", word_wrap},
    {"pprint", "", pretty_print},
    {"random", "", random},
    {"striptags", "", strip_tags},
    {"urlize", "* **", url_ize},
};

}  // namespace

Table<Filter> text_filters() {
  return table(kTextFilters);
}

}  // namespace jinja
}  // namespace llm
}  // namespace extension
}  // namespace executorch
