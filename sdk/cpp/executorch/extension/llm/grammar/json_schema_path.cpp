// SPDX-License-Identifier: BSD-3-Clause
// Finds the part of a schema that causes an error of the engine.
#include <executorch/extension/llm/grammar/json_schema.h>

#include <string>
#include <string_view>

#include <executorch/extension/llm/grammar/json_schema_keywords.h>
#include <executorch/extension/llm/json_text/write_json.h>

namespace executorch {
namespace extension {
namespace llm {
namespace internal {

using namespace json_schema;

namespace {

/// Whether a part refers to another part, which is missing if the part is taken alone.
bool has_reference(yyjson_val* value) {
  if (yyjson_is_obj(value) && yyjson_obj_get(value, "$ref") != nullptr) {
    return true;
  }
  yyjson_val* part = yyjson_is_ctn(value) && yyjson_get_len(value) > 0 ? unsafe_yyjson_get_first(value) : nullptr;
  const size_t parts = part != nullptr ? yyjson_get_len(value) * (yyjson_is_obj(value) ? 2 : 1) : 0;
  for (size_t i = 0; i < parts; i++, part = unsafe_yyjson_get_next(part)) {
    if (has_reference(part)) {
      return true;
    }
  }
  return false;
}

class Searcher final {
 public:
  explicit Searcher(const std::function<bool(const std::string&)>& works) : works_(works) {}

  /// The path of the innermost part of a schema that does not work; "" if all parts work.
  std::string search(yyjson_val* schema, const std::string& path) {
    yyjson_obj_iter all;
    yyjson_obj_iter_init(schema, &all);
    while (yyjson_val* const key = yyjson_is_obj(schema) ? yyjson_obj_iter_next(&all) : nullptr) {
      const std::string found = search_keyword(text_of(key), yyjson_obj_iter_get_val(key), path);
      if (!found.empty()) {
        return found;
      }
    }
    if (left_ == 0 || has_reference(schema)) {
      return "";
    }
    left_--;
    std::string text;
    return write_json(schema, text) && !works_(text) ? path : "";
  }

 private:
  std::string search_keyword(std::string_view name, yyjson_val* value, const std::string& path) {
    const Keyword* const known = keyword_of(name);
    const Value kind = known == nullptr ? Value::kAnything : known->value;
    const std::string at = path + member(name);
    std::string found;
    if (kind == Value::kSchema && yyjson_is_obj(value)) {
      return search(value, at);
    }
    if (kind == Value::kSchemas) {
      yyjson_arr_iter all;
      yyjson_arr_iter_init(value, &all);
      yyjson_val* each = yyjson_arr_iter_next(&all);
      for (size_t i = 0; each != nullptr && found.empty(); each = yyjson_arr_iter_next(&all), i++) {
        found = search(each, at + element(i));
      }
    }
    if (kind == Value::kNamedSchemas) {
      yyjson_obj_iter all;
      yyjson_obj_iter_init(value, &all);
      while (yyjson_val* const key = found.empty() ? yyjson_obj_iter_next(&all) : nullptr) {
        found = search(yyjson_obj_iter_get_val(key), at + member(text_of(key)));
      }
    }
    return found;
  }

  const std::function<bool(const std::string&)>& works_;
  int left_ = 200;  // parts that are tried
};

}  // namespace

std::string path_of_problem(const std::string& schema, const std::function<bool(const std::string& part)>& works) {
  yyjson_read_err error = {};
  const Document document = parse(schema, error);
  const std::string found = document ? Searcher(works).search(yyjson_doc_get_root(document.get()), "$") : "";
  return found.empty() ? "$" : found;
}

}  // namespace internal
}  // namespace llm
}  // namespace extension
}  // namespace executorch
