// SPDX-License-Identifier: BSD-3-Clause
#include "json.h"

#include <algorithm>

#include "failure.h"

namespace tokenizers::detail {
namespace {

const char* kind(yyjson_val* value) {
  return value == nullptr ? "absent" : yyjson_get_type_desc(value);
}

}  // namespace

JsonValue JsonValue::operator[](const char* name) const {
  return {yyjson_obj_get(value_, name), path_.empty() ? name : path_ + "." + name};
}

JsonValue JsonValue::at(size_t index) const {
  return {yyjson_arr_get(value_, index), path_ + "[" + std::to_string(index) + "]"};
}

Error JsonValue::expected(const char* expected) const {
  return fail(Error::ParseFailure, "%.200s is %s, expected %s", path_.empty() ? "the document" : path_.c_str(),
              kind(value_), expected);
}

Error JsonValue::read(const char* name, std::string& out, std::optional<std::string_view> otherwise) const {
  const JsonValue value = (*this)[name];
  if (!value && otherwise) {
    out = *otherwise;
    return Error::Ok;
  }
  if (!value.is_string()) {
    return value.expected("a string");
  }
  out = json_text(value.get());
  return Error::Ok;
}

Error JsonValue::read(const char* name, bool& out, std::optional<bool> otherwise) const {
  const JsonValue value = (*this)[name];
  if (!value && otherwise) {
    out = *otherwise;
    return Error::Ok;
  }
  if (!yyjson_is_bool(value.get())) {
    return value.expected("true or false");
  }
  out = yyjson_get_bool(value.get());
  return Error::Ok;
}

Error JsonValue::read(const char* name, uint64_t& out, std::optional<uint64_t> otherwise) const {
  const JsonValue value = (*this)[name];
  if (!value && otherwise) {
    out = *otherwise;
    return Error::Ok;
  }
  if (!yyjson_is_uint(value.get())) {
    return value.expected("an integer that is not negative");
  }
  out = yyjson_get_uint(value.get());
  return Error::Ok;
}

Error JsonValue::read_array(const char* name, JsonValue& out) const {
  out = (*this)[name];
  return out.is_array() ? Error::Ok : out.expected("an array");
}

Error JsonDocument::parse(std::string_view bytes, const char* name) {
  yyjson_read_err error{};
  // yyjson does not write to the text without YYJSON_READ_INSITU.
  document_.reset(yyjson_read_opts(const_cast<char*>(bytes.data()), bytes.size(), 0, nullptr, &error));
  if (document_) {
    return Error::Ok;
  }
  const std::string_view before = bytes.substr(0, std::min(error.pos, bytes.size()));
  const size_t line = static_cast<size_t>(std::count(before.begin(), before.end(), '\n')) + 1;
  const size_t start = before.rfind('\n');
  const size_t column = before.size() - (start == std::string_view::npos ? 0 : start + 1) + 1;
  return fail(Error::ParseFailure, "%s is not JSON: line %zu, column %zu: %s", name, line, column, error.msg);
}

}  // namespace tokenizers::detail
