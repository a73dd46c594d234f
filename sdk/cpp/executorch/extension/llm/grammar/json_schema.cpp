// SPDX-License-Identifier: BSD-3-Clause
// Checks a JSON schema before the engine reads it, because the engine ignores unknown keywords.
#include <executorch/extension/llm/grammar/json_schema.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include <executorch/extension/llm/grammar/json_schema_keywords.h>
#include <executorch/extension/llm/grammar/json_schema_types.h>
#include <executorch/extension/llm/grammar/nesting.h>
#include <executorch/runtime/platform/log.h>

namespace executorch {
namespace extension {
namespace llm {
namespace internal {

using namespace json_schema;
using runtime::Error;

namespace {

// These keywords do not affect validity.
constexpr const char* kAnnotations[] = {"$schema",     "$id",       "$comment", "$anchor",      "title",
                                        "description", "default",   "examples", "example",      "deprecated",
                                        "readOnly",    "writeOnly", "nullable", "discriminator"};
constexpr const char* kFormats[] = {
    "date", "time", "date-time",     "duration", "email",        "hostname",     "ipv4",
    "ipv6", "uri",  "uri-reference", "uuid",     "uri-template", "json-pointer", "relative-json-pointer"};
constexpr uint64_t kMaxPatternLength = 1000;
constexpr uint64_t kMaxCounted = 32;

class Checker final {
 public:
  explicit Checker(yyjson_val* root) : root_(root) {}

  Error check(yyjson_val* schema, const std::string& path, int depth) {
    ET_CHECK_OR_RETURN_ERROR(depth <= kMaxGrammarDepth, InvalidArgument,
                             "the JSON schema nests more than %d schemas, at %s", kMaxGrammarDepth, path.c_str());
    schemas_.insert(schema);
    if (yyjson_is_bool(schema)) {
      return Error::Ok;
    }
    ET_CHECK_OR_RETURN_ERROR(yyjson_is_obj(schema), InvalidArgument,
                             "the JSON schema cannot be used at %s: expected an object, true or false", path.c_str());
    std::vector<std::string_view> types;
    ET_CHECK_OK_OR_RETURN_ERROR(read_types(schema, path, types));
    ET_CHECK_OK_OR_RETURN_ERROR(check_kind(schema, path, types));
    yyjson_obj_iter all;
    yyjson_obj_iter_init(schema, &all);
    while (yyjson_val* const key = yyjson_obj_iter_next(&all)) {
      if (yyjson_obj_getn(schema, yyjson_get_str(key), yyjson_get_len(key)) != yyjson_obj_iter_get_val(key)) {
        return refuse(Error::InvalidArgument, path + member(text_of(key)), "the keyword occurs twice");
      }
      ET_CHECK_OK_OR_RETURN_ERROR(check_keyword(text_of(key), yyjson_obj_iter_get_val(key), path, types, depth));
    }
    ET_CHECK_OK_OR_RETURN_ERROR(check_counts(schema, path));
    return check_required(schema, path);
  }

  /// Called after check(): references must lead to schemas that check() has visited.
  Error check_references() const {
    for (const auto& [part, path] : references_) {
      if (schemas_.count(part) == 0) {
        return refuse(Error::NotSupported, path, "the part is not a schema");
      }
    }
    return Error::Ok;
  }

 private:
  Error check_keyword(std::string_view name, yyjson_val* value, const std::string& path,
                      const std::vector<std::string_view>& types, int depth) {
    if (name == "type" || name == "enum" || name == "const" || is_among(kAnnotations, name)) {
      return Error::Ok;
    }
    const Keyword* const known = keyword_of(name);
    const std::string at = path + member(name);
    if (known == nullptr) {
      return refuse(Error::NotSupported, at, "this keyword is not supported; answers would not follow it");
    }
    ET_CHECK_OK_OR_RETURN_ERROR(check_applies(*known, path, at, types));
    return check_keyword_value(*known, value, at, depth);
  }

  /// Checks that keywords of a type occur together with this type. Keywords of objects and arrays imply it.
  Error check_applies(const Keyword& keyword, const std::string& path, const std::string& at,
                      const std::vector<std::string_view>& types) const {
    const std::string_view type = keyword.type;
    if (type.empty()) {
      return Error::Ok;
    }
    const bool is_name = path.size() > 14 && path.compare(path.size() - 14, 14, ".propertyNames") == 0;
    if (types.empty() && (type == "object" || type == "array" || (is_name && type == "string"))) {
      return Error::Ok;
    }
    const bool fits = std::any_of(types.begin(), types.end(), [type](std::string_view has) {
      return has == type || (type == "number" && has == "integer");
    });
    return fits ? Error::Ok
                : refuse(Error::NotSupported, at, "the schema needs \"type\": \"" + std::string(type) + "\" beside it");
  }

  Error check_keyword_value(const Keyword& keyword, yyjson_val* value, const std::string& at, int depth) {
    switch (keyword.value) {
      case Value::kSchema:
        return check(value, at, depth + 1);
      case Value::kSchemas:
        return check_schemas(value, at, depth);
      case Value::kNamedSchemas:
        return check_named(keyword, value, at, depth);
      case Value::kCount:
        return yyjson_is_uint(value) && yyjson_get_uint(value) <= INT32_MAX
                   ? Error::Ok
                   : refuse(Error::InvalidArgument, at, "expected an integer from 0 to 2147483647");
      case Value::kNumber:
        return yyjson_is_num(value) ? Error::Ok : refuse(Error::InvalidArgument, at, "expected a number");
      case Value::kText:
        return check_text(keyword, value, at);
      case Value::kTexts:
        return check_texts(value, at);
      case Value::kFormat:
        return yyjson_is_str(value) && is_among(kFormats, text_of(value))
                   ? Error::Ok
                   : refuse(Error::NotSupported, at, "expected one of " + joined(kFormats));
      default:
        return yyjson_is_false(value) ? Error::Ok : refuse(Error::NotSupported, at, "only false is supported");
    }
  }

  static Error check_texts(yyjson_val* value, const std::string& at) {
    yyjson_arr_iter all;
    if (!yyjson_arr_iter_init(value, &all)) {
      return refuse(Error::InvalidArgument, at, "expected a list of strings");
    }
    for (size_t i = 0; yyjson_val* const each = yyjson_arr_iter_next(&all); i++) {
      if (!yyjson_is_str(each)) {
        return refuse(Error::InvalidArgument, at + element(i), "expected a string");
      }
    }
    return Error::Ok;
  }

  Error check_schemas(yyjson_val* value, const std::string& at, int depth) {
    if (!yyjson_is_arr(value) || yyjson_arr_size(value) == 0) {
      return refuse(Error::InvalidArgument, at, "expected a list of at least one schema");
    }
    yyjson_arr_iter all;
    yyjson_arr_iter_init(value, &all);
    for (size_t i = 0; yyjson_val* const schema = yyjson_arr_iter_next(&all); i++) {
      ET_CHECK_OK_OR_RETURN_ERROR(check(schema, at + element(i), depth + 1));
    }
    return Error::Ok;
  }

  Error check_named(const Keyword& keyword, yyjson_val* value, const std::string& at, int depth) {
    if (!yyjson_is_obj(value)) {
      return refuse(Error::InvalidArgument, at, "expected an object whose values are schemas");
    }
    const bool is_pattern = std::strcmp(keyword.name, "patternProperties") == 0;
    yyjson_obj_iter all;
    yyjson_obj_iter_init(value, &all);
    while (yyjson_val* const key = yyjson_obj_iter_next(&all)) {
      if (is_pattern) {
        ET_CHECK_OK_OR_RETURN_ERROR(charge_pattern(text_of(key), at + member(text_of(key))));
      }
      ET_CHECK_OK_OR_RETURN_ERROR(check(yyjson_obj_iter_get_val(key), at + member(text_of(key)), depth + 1));
    }
    return Error::Ok;
  }

  Error check_text(const Keyword& keyword, yyjson_val* value, const std::string& at) {
    if (!yyjson_is_str(value)) {
      return refuse(Error::InvalidArgument, at, "expected a string");
    }
    return std::strcmp(keyword.name, "pattern") == 0 ? charge_pattern(text_of(value), at) : check_reference(value, at);
  }

  /// The engine expands repetitions in patterns, and its work grows with the square of their length.
  Error charge_pattern(std::string_view pattern, const std::string& at) {
    const std::string problem = too_deep(pattern);
    if (!problem.empty()) {
      return refuse(Error::InvalidArgument, at, "the pattern nests too deep: " + problem);
    }
    pattern_length_ += pattern_length(pattern);
    return pattern_length_ <= kMaxPatternLength
               ? Error::Ok
               : refuse(Error::InvalidArgument, at,
                        "the schema's patterns have more than " + std::to_string(kMaxPatternLength) +
                            " characters where repetitions are written out");
  }

  Error check_reference(yyjson_val* value, const std::string& at) {
    const std::string_view reference = text_of(value);
    if (reference == "#") {
      return Error::Ok;
    }
    if (reference.substr(0, 2) != "#/") {
      return refuse(Error::NotSupported, at, "expected a part of this schema, \"#/$defs/name\"");
    }
    // The engine decodes %xx, which no name needs.
    yyjson_val* const part = reference.find('%') == std::string_view::npos ? find(reference.substr(1)) : nullptr;
    references_.emplace_back(part, at);
    return part != nullptr ? Error::Ok
                           : refuse(Error::InvalidArgument, at, "the schema has no part " + std::string(reference));
  }

  /// The engine makes rules for each property and each count.
  static Error check_counts(yyjson_val* schema, const std::string& path) {
    for (const char* const name : {"minProperties", "maxProperties"}) {
      yyjson_val* const count = yyjson_obj_get(schema, name);
      yyjson_val* const properties = yyjson_obj_get(schema, "properties");
      if (count != nullptr && (yyjson_get_uint(count) > kMaxCounted || yyjson_obj_size(properties) > kMaxCounted)) {
        return refuse(Error::InvalidArgument, path + member(name),
                      "expected at most " + std::to_string(kMaxCounted) + ", and at most as many `properties`");
      }
    }
    return Error::Ok;
  }

  /// The part of the schema at a JSON pointer, "/$defs/name"; null if it does not exist.
  yyjson_val* find(std::string_view pointer) const {
    yyjson_val* part = root_;
    while (part != nullptr && !pointer.empty()) {
      const std::string_view rest = pointer.substr(1);
      const std::string_view name = rest.substr(0, std::min(rest.find('/'), rest.size()));
      pointer = rest.substr(name.size());
      std::string key;
      for (size_t i = 0; i < name.size(); i++) {
        const bool is_escape = name[i] == '~' && i + 1 < name.size() && (name[i + 1] == '0' || name[i + 1] == '1');
        key += is_escape ? (name[++i] == '0' ? '~' : '/') : name[i];
      }
      if (yyjson_is_arr(part)) {
        const bool is_index =
            !key.empty() && key.size() < 7 && key.find_first_not_of("0123456789") == std::string::npos;
        part = is_index ? yyjson_arr_get(part, std::stoul(key)) : nullptr;
      } else {
        part = yyjson_obj_getn(part, key.data(), key.size());
      }
    }
    return part;
  }

  /// Answers would lack required names that `properties` does not describe.
  static Error check_required(yyjson_val* schema, const std::string& path) {
    yyjson_arr_iter required;
    if (!yyjson_arr_iter_init(yyjson_obj_get(schema, "required"), &required)) {
      return Error::Ok;
    }
    std::unordered_set<std::string_view> properties;
    yyjson_obj_iter all;
    yyjson_obj_iter_init(yyjson_obj_get(schema, "properties"), &all);
    while (yyjson_val* const key = yyjson_obj_iter_next(&all)) {
      properties.insert(text_of(key));
    }
    for (size_t i = 0; yyjson_val* const name = yyjson_arr_iter_next(&required); i++) {
      if (properties.count(text_of(name)) == 0) {
        return refuse(Error::NotSupported, path + ".required" + element(i),
                      "\"" + std::string(text_of(name)) + "\" is not among `properties`");
      }
    }
    return Error::Ok;
  }

  yyjson_val* root_;
  uint64_t pattern_length_ = 0;
  std::unordered_set<yyjson_val*> schemas_;
  std::vector<std::pair<yyjson_val*, std::string>> references_;
};

}  // namespace

Error check_json_schema(const std::string& text) {
  yyjson_read_err error = {};
  const Document document = parse(text, error);
  if (!document) {
    const size_t end = std::min(error.pos, text.size());
    const auto line = std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(end), '\n') + 1;
    const size_t before = end == 0 ? std::string::npos : text.rfind('\n', end - 1);
    ET_LOG(Error, "the JSON schema is not JSON: line %lld, column %zu: %s", static_cast<long long>(line),
           end - (before == std::string::npos ? 0 : before + 1) + 1, error.msg);
    return Error::InvalidArgument;
  }
  yyjson_val* const root = yyjson_doc_get_root(document.get());
  Checker checker(root);
  ET_CHECK_OK_OR_RETURN_ERROR(checker.check(root, "$", 0));
  return checker.check_references();
}

}  // namespace internal
}  // namespace llm
}  // namespace extension
}  // namespace executorch
