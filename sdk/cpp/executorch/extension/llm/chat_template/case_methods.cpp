// SPDX-License-Identifier: BSD-3-Clause
// Methods of strings about their characters.
#include "text_methods.h"

namespace executorch {
namespace extension {
namespace llm {
namespace jinja {
namespace {

/// Converts each character to the case that `choose` returns for its position and kind.
template <typename Choose>
Value each(Work& work, const Value& text, Choose choose) {
  const std::string_view all = text.as_text();
  TextBuilder made(work);
  std::string some;  // a buffer, so that characters are not charged one by one
  for (size_t at = 0; at < all.size() && !work.failed();) {
    const size_t begin = at;
    const uint32_t c = next_character(all, at);
    const Case target = choose(begin, c);
    c == 0x3A3 && target == Case::kLower&& is_final_sigma(all, begin) ? append_utf8(some, 0x3C2)
                                                                      : append_case(some, c, target);
    if (some.size() > 256) {
      made.add(some);
      some.clear();
    }
  }
  made.add(some);
  return made.value();
}

template <Case kCase>
Value in_case(Interpreter& in, const Value& self, const Bound&) {
  return each(in, self, [](size_t, uint32_t) { return kCase; });
}
Value capitalize(Interpreter& in, const Value& self, const Bound&) {
  return to_capitalized(in, self);
}
Value title(Interpreter& in, const Value& self, const Bound&) {
  bool inside = false;
  return each(in, self, [&inside](size_t, uint32_t c) {
    const Case target = inside ? Case::kLower : Case::kTitle;
    inside = is_lower(c) || is_upper(c) || is_title(c);
    return target;
  });
}
Value swap_case(Interpreter& in, const Value& self, const Bound&) {
  return each(in, self, [](size_t, uint32_t c) { return is_upper(c) ? Case::kLower : Case::kUpper; });
}

template <bool (*kIs)(uint32_t)>
Value all_are(Interpreter& in, const Value& self, const Bound&) {
  const std::string_view all = self.as_text();
  bool are = !all.empty();
  for (size_t at = 0; at < all.size() && are;) {
    are = kIs(next_character(all, at));
  }
  in.read(4 * all.size());
  return Value::boolean(are);
}

bool is_ascii(uint32_t c) {
  return c < 0x80;
}

Value is_ascii_text(Interpreter& in, const Value& self, const Bound& arguments) {
  return self.as_text().empty() ? Value::boolean(true) : all_are<is_ascii>(in, self, arguments);
}
Value is_printable_text(Interpreter& in, const Value& self, const Bound& arguments) {
  return self.as_text().empty() ? Value::boolean(true) : all_are<is_printable>(in, self, arguments);
}
Value is_upper_text(Interpreter& in, const Value& self, const Bound&) {
  in.read(4 * self.as_text().size());
  return Value::boolean(all_upper(self.as_text()));
}
Value is_lower_text(Interpreter& in, const Value& self, const Bound&) {
  in.read(4 * self.as_text().size());
  return Value::boolean(all_lower(self.as_text()));
}

Value is_title_text(Interpreter& in, const Value& self, const Bound&) {
  const std::string_view all = self.as_text();
  bool inside = false;
  bool any = false;
  in.read(4 * all.size());
  for (size_t at = 0; at < all.size();) {
    const uint32_t c = next_character(all, at);
    const bool begins = is_upper(c) || is_title(c);
    if ((begins && inside) || (is_lower(c) && !inside)) {
      return Value::boolean(false);
    }
    inside = begins || is_lower(c);
    any |= inside;
  }
  return Value::boolean(any);
}

Value is_identifier_text(Interpreter& in, const Value& self, const Bound&) {
  const std::string_view all = self.as_text();
  bool is = !all.empty();
  in.read(4 * all.size());
  for (size_t at = 0; at < all.size() && is;) {
    const bool begins = at == 0;
    is = is_identifier(next_character(all, at), begins);
  }
  return Value::boolean(is);
}

constexpr Method kCaseMethods[] = {
    {{"upper", "", in_case<Case::kUpper>}, true},
    {{"lower", "", in_case<Case::kLower>}, true},
    {{"casefold", "", in_case<Case::kFold>}, true},
    {{"capitalize", "", capitalize}, true},
    {{"title", "", title}, true},
    {{"swapcase", "", swap_case}, true},
    {{"isalpha", "", all_are<is_alpha>}},
    {{"isalnum", "", all_are<is_alnum>}},
    {{"isdigit", "", all_are<is_digit>}},
    {{"isdecimal", "", all_are<is_decimal>}},
    {{"isnumeric", "", all_are<is_numeric>}},
    {{"isspace", "", all_are<is_space>}},
    {{"isascii", "", is_ascii_text}},
    {{"isprintable", "", is_printable_text}},
    {{"isupper", "", is_upper_text}},
    {{"islower", "", is_lower_text}},
    {{"istitle", "", is_title_text}},
    {{"isidentifier", "", is_identifier_text}},
};

}  // namespace

Value to_upper(Work& work, const Value& text) {
  return each(work, text, [](size_t, uint32_t) { return Case::kUpper; });
}
Value to_lower(Work& work, const Value& text) {
  return each(work, text, [](size_t, uint32_t) { return Case::kLower; });
}
Value to_capitalized(Work& work, const Value& text) {
  return each(work, text, [](size_t place, uint32_t) { return place == 0 ? Case::kTitle : Case::kLower; });
}

bool all_upper(std::string_view text) {
  bool any = false;
  for (size_t at = 0; at < text.size();) {
    const uint32_t c = next_character(text, at);
    if (is_lower(c) || is_title(c)) {
      return false;
    }
    any |= is_upper(c);
  }
  return any;
}
bool all_lower(std::string_view text) {
  bool any = false;
  for (size_t at = 0; at < text.size();) {
    const uint32_t c = next_character(text, at);
    if (is_upper(c) || is_title(c)) {
      return false;
    }
    any |= is_lower(c);
  }
  return any;
}

Table<Method> case_methods() {
  return table(kCaseMethods);
}

}  // namespace jinja
}  // namespace llm
}  // namespace extension
}  // namespace executorch
