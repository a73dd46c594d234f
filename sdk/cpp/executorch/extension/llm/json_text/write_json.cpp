// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/extension/llm/json_text/write_json.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <string>

namespace executorch {
namespace extension {
namespace llm {
namespace internal {

namespace {

constexpr int kMaxJsonDepth = 200;

void write_number(yyjson_val* value, std::string& out) {
  std::array<char, 32> digits;
  if (yyjson_is_real(value)) {
    std::snprintf(digits.data(), digits.size(), "%.17g", yyjson_get_real(value));
    // The decimal point depends on the locale, and may have several characters.
    const std::string text = digits.data();
    const size_t begin = text.find_first_not_of("-0123456789");
    const size_t end = std::min(text.find_first_of("0123456789e", begin), text.size());
    const bool has_point = begin != std::string::npos && text[begin] != 'e';
    out += has_point ? text.substr(0, begin) + "." + text.substr(end) : text;
  } else {
    out += yyjson_is_uint(value) ? std::to_string(yyjson_get_uint(value)) : std::to_string(yyjson_get_sint(value));
  }
}

}  // namespace

void write_json_string(std::string_view value, std::string& out) {
  out += '"';
  for (const char c : value) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20) {
      constexpr const char* kDigits = "0123456789abcdef";
      out += std::string("\\u00") + kDigits[byte >> 4] + kDigits[byte & 15];
    } else {
      out += (c == '"' || c == '\\') ? std::string{'\\', c} : std::string(1, c);
    }
  }
  out += '"';
}

bool write_json(yyjson_val* value, std::string& out, int depth) {
  const bool is_object = yyjson_is_obj(value);
  if (is_object || yyjson_is_arr(value)) {
    if (depth >= kMaxJsonDepth) {
      return false;
    }
    out += is_object ? '{' : '[';
    yyjson_val* part = yyjson_get_len(value) > 0 ? unsafe_yyjson_get_first(value) : nullptr;
    for (size_t i = 0; i < yyjson_get_len(value); i++) {
      out += i > 0 ? ", " : "";
      if (is_object) {
        write_json_string({yyjson_get_str(part), yyjson_get_len(part)}, out);
        out += ": ";
        part = unsafe_yyjson_get_next(part);
      }
      if (!write_json(part, out, depth + 1)) {
        return false;
      }
      part = unsafe_yyjson_get_next(part);
    }
    out += is_object ? '}' : ']';
  } else if (yyjson_is_str(value)) {
    write_json_string({yyjson_get_str(value), yyjson_get_len(value)}, out);
  } else if (yyjson_is_raw(value)) {
    out.append(yyjson_get_raw(value), yyjson_get_len(value));
  } else if (yyjson_is_num(value)) {
    write_number(value, out);
  } else {
    out += yyjson_is_null(value) ? "null" : yyjson_is_true(value) ? "true" : "false";
  }
  return true;
}

}  // namespace internal
}  // namespace llm
}  // namespace extension
}  // namespace executorch
