// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/extension/llm/grammar/json_schema_types.h>

#include <cmath>
#include <cstring>

#include <executorch/extension/llm/grammar/json_schema_keywords.h>
#include <executorch/runtime/platform/log.h>

namespace executorch {
namespace extension {
namespace llm {
namespace internal {
namespace json_schema {

using runtime::Error;

namespace {

constexpr const char* kJsonTypes[] = {"string", "number", "integer", "boolean", "null", "array", "object"};
constexpr const char* kKinds[] = {"$ref", "const", "enum", "anyOf", "oneOf", "allOf"};

/// Whether a value is of a type that a schema names.
bool is_of_type(yyjson_val* value, std::string_view type) {
  switch (yyjson_get_type(value)) {
    case YYJSON_TYPE_NULL:
      return type == "null";
    case YYJSON_TYPE_BOOL:
      return type == "boolean";
    case YYJSON_TYPE_STR:
      return type == "string";
    case YYJSON_TYPE_ARR:
      return type == "array";
    case YYJSON_TYPE_OBJ:
      return type == "object";
    default:
      return type == "number" || (type == "integer" && (!yyjson_is_real(value) ||
                                                        yyjson_get_real(value) == std::floor(yyjson_get_real(value))));
  }
}

Error check_value(yyjson_val* value, const std::string& path, const std::vector<std::string_view>& types) {
  const bool fits = types.empty() || std::any_of(types.begin(), types.end(),
                                                 [value](std::string_view type) { return is_of_type(value, type); });
  return fits ? Error::Ok : refuse(Error::InvalidArgument, path, "the value is not of the schema's type");
}

}  // namespace

Error refuse(Error error, const std::string& path, const std::string& why) {
  ET_LOG(Error, "the JSON schema cannot be used at %s: %s", path.c_str(), why.c_str());
  return error;
}

Error read_types(yyjson_val* schema, const std::string& path, std::vector<std::string_view>& types) {
  yyjson_val* const type = yyjson_obj_get(schema, "type");
  if (type == nullptr) {
    return Error::Ok;
  }
  std::vector<yyjson_val*> values{type};
  if (yyjson_is_arr(type)) {
    values.clear();
    yyjson_arr_iter all;
    yyjson_arr_iter_init(type, &all);
    while (yyjson_val* const value = yyjson_arr_iter_next(&all)) {
      values.push_back(value);
    }
  }
  for (yyjson_val* const value : values) {
    if (!yyjson_is_str(value) || !is_among(kJsonTypes, text_of(value))) {
      return refuse(Error::InvalidArgument, path + ".type",
                    "expected one of " + joined(kJsonTypes) + ", or a list of them");
    }
    types.push_back(text_of(value));
  }
  return types.empty() ? refuse(Error::InvalidArgument, path + ".type", "expected at least one type") : Error::Ok;
}

Error check_kind(yyjson_val* schema, const std::string& path, const std::vector<std::string_view>& types) {
  const char* kind = nullptr;
  for (const char* const name : kKinds) {
    if (yyjson_obj_get(schema, name) == nullptr) {
      continue;
    }
    if (kind != nullptr) {
      return refuse(Error::NotSupported, path, std::string(kind) + " and " + name + " in one schema");
    }
    kind = name;
  }
  if (kind == nullptr) {
    return Error::Ok;
  }
  yyjson_val* const value = yyjson_obj_get(schema, kind);
  const std::string at = path + member(kind);
  if (std::strcmp(kind, "const") == 0) {
    return check_value(value, at, types);
  }
  if (std::strcmp(kind, "enum") == 0) {
    if (!yyjson_is_arr(value) || yyjson_arr_size(value) == 0) {
      return refuse(Error::InvalidArgument, at, "expected a list of at least one value");
    }
    yyjson_arr_iter all;
    yyjson_arr_iter_init(value, &all);
    for (size_t i = 0; yyjson_val* const each = yyjson_arr_iter_next(&all); i++) {
      ET_CHECK_OK_OR_RETURN_ERROR(check_value(each, at + element(i), types));
    }
    return Error::Ok;
  }
  if (!types.empty()) {
    return refuse(Error::NotSupported, at, "a type beside it; move the type into its subschemas");
  }
  if (std::strcmp(kind, "allOf") == 0 && yyjson_is_arr(value) && yyjson_arr_size(value) > 1) {
    return refuse(Error::NotSupported, at, "more than one schema; merge them into one");
  }
  return Error::Ok;
}

}  // namespace json_schema
}  // namespace internal
}  // namespace llm
}  // namespace extension
}  // namespace executorch
