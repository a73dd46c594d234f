// SPDX-License-Identifier: BSD-3-Clause
// The keywords of JSON schemas, and how a schema is read.
#pragma once

#include <algorithm>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>

#include <yyjson.h>

namespace executorch {
namespace extension {
namespace llm {
namespace internal {
namespace json_schema {

struct FreeDocument {
  void operator()(yyjson_doc* document) const { yyjson_doc_free(document); }
};
using Document = std::unique_ptr<yyjson_doc, FreeDocument>;

/// The kind of value that a keyword requires.
enum class Value { kAnything, kSchema, kSchemas, kNamedSchemas, kCount, kNumber, kText, kTexts, kFalse, kFormat };

struct Keyword {
  const char* name;
  const char* type;  // the type of JSON to which it applies; "" for all
  Value value;
};

// Besides "type", "enum" and "const", which check_kind() reads.
inline constexpr Keyword kKeywords[] = {
    {"$ref", "", Value::kText},
    {"$defs", "", Value::kNamedSchemas},
    {"definitions", "", Value::kNamedSchemas},
    {"anyOf", "", Value::kSchemas},
    {"oneOf", "", Value::kSchemas},
    {"allOf", "", Value::kSchemas},
    {"properties", "object", Value::kNamedSchemas},
    {"patternProperties", "object", Value::kNamedSchemas},
    {"additionalProperties", "object", Value::kSchema},
    {"unevaluatedProperties", "object", Value::kSchema},
    {"propertyNames", "object", Value::kSchema},
    {"required", "object", Value::kTexts},
    {"minProperties", "object", Value::kCount},
    {"maxProperties", "object", Value::kCount},
    {"items", "array", Value::kSchema},
    {"prefixItems", "array", Value::kSchemas},
    {"unevaluatedItems", "array", Value::kSchema},
    {"minItems", "array", Value::kCount},
    {"maxItems", "array", Value::kCount},
    {"uniqueItems", "array", Value::kFalse},
    {"minLength", "string", Value::kCount},
    {"maxLength", "string", Value::kCount},
    {"pattern", "string", Value::kText},
    {"format", "string", Value::kFormat},
    {"minimum", "number", Value::kNumber},
    {"maximum", "number", Value::kNumber},
    {"exclusiveMinimum", "number", Value::kNumber},
    {"exclusiveMaximum", "number", Value::kNumber},
    {"multipleOf", "number", Value::kNumber},
};

/// Null for an unknown one.
inline const Keyword* keyword_of(std::string_view name) {
  const auto* const known = std::find_if(std::begin(kKeywords), std::end(kKeywords),
                                         [name](const Keyword& keyword) { return name == keyword.name; });
  return known == std::end(kKeywords) ? nullptr : known;
}

inline std::string_view text_of(yyjson_val* value) {
  return {yyjson_get_str(value), yyjson_get_len(value)};
}

/// "name" of a path: `.name`, or `["any name"]`.
inline std::string member(std::string_view name) {
  const bool is_plain = !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '$';
  });
  return is_plain ? "." + std::string(name) : "[\"" + std::string(name) + "\"]";
}

inline std::string element(size_t index) {
  return "[" + std::to_string(index) + "]";
}

/// Null, and `error`, for text that is not JSON.
inline Document parse(const std::string& text, yyjson_read_err& error) {
  return Document(yyjson_read_opts(const_cast<char*>(text.data()), text.size(), YYJSON_READ_NOFLAG, nullptr, &error));
}

}  // namespace json_schema
}  // namespace internal
}  // namespace llm
}  // namespace extension
}  // namespace executorch
