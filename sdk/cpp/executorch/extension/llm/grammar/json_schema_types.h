// SPDX-License-Identifier: BSD-3-Clause
// The types of values that a JSON schema names.
#pragma once

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include <executorch/runtime/core/error.h>
#include <yyjson.h>

namespace executorch {
namespace extension {
namespace llm {
namespace internal {
namespace json_schema {

template <typename List>
bool is_among(const List& list, std::string_view name) {
  return std::any_of(std::begin(list), std::end(list), [name](const char* known) { return name == known; });
}

template <typename List>
std::string joined(const List& list) {
  std::string text;
  for (const char* const name : list) {
    text += (text.empty() ? "" : ", ") + std::string(name);
  }
  return text;
}

/// Logs why a part of a schema cannot be used; returns `error`.
runtime::Error refuse(runtime::Error error, const std::string& path, const std::string& why);

/// The types that "type" lists; an empty list without it. InvalidArgument for anything but types.
runtime::Error read_types(yyjson_val* schema, const std::string& path, std::vector<std::string_view>& types);

/// Checks that a schema has at most one of "$ref", "const", "enum", "anyOf", "oneOf" and "allOf" (the engine reads one
/// and ignores the rest), and that constants have one of `types`. Errors: as check_json_schema().
runtime::Error check_kind(yyjson_val* schema, const std::string& path, const std::vector<std::string_view>& types);

}  // namespace json_schema
}  // namespace internal
}  // namespace llm
}  // namespace extension
}  // namespace executorch
