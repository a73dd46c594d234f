// SPDX-License-Identifier: BSD-3-Clause
#include <yyjson.h>

#include <algorithm>

#include "value.h"

namespace executorch {
namespace extension {
namespace llm {
namespace jinja {
namespace {

/// False for nesting that is too deep.
bool convert(yyjson_val* json, int depth, Value& value) {
  if (depth > kMaxDepth - 2) {
    return false;
  }
  switch (yyjson_get_type(json)) {
    case YYJSON_TYPE_BOOL:
      value = Value::boolean(yyjson_get_bool(json));
      return true;
    case YYJSON_TYPE_NUM:
      value = yyjson_is_sint(json) || (yyjson_is_uint(json) && yyjson_get_uint(json) <= INT64_MAX)
                  ? Value::integer(yyjson_get_sint(json))
                  : Value::real(yyjson_get_num(json));
      return true;
    case YYJSON_TYPE_STR:
      value = Value::text(std::string(yyjson_get_str(json), yyjson_get_len(json)));
      return true;
    case YYJSON_TYPE_ARR: {
      List items(yyjson_arr_size(json));
      size_t i = 0;
      size_t count = 0;
      yyjson_val* item = nullptr;
      yyjson_arr_foreach(json, i, count, item) {
        if (!convert(item, depth + 1, items[i])) {
          return false;
        }
      }
      value = Value::list(std::move(items));
      return true;
    }
    case YYJSON_TYPE_OBJ: {
      Dict entries(yyjson_obj_size(json));
      size_t i = 0;
      size_t count = 0;
      yyjson_val* key = nullptr;
      yyjson_val* item = nullptr;
      yyjson_obj_foreach(json, i, count, key, item) {
        entries[i].first = Value::text(std::string(yyjson_get_str(key), yyjson_get_len(key)));
        if (!convert(item, depth + 1, entries[i].second)) {
          return false;
        }
      }
      value = Value::dict(std::move(entries));
      return true;
    }
    default:
      value = Value::none();
      return true;
  }
}

}  // namespace

bool parse_json(std::string_view json, Value& value, std::string& message) {
  yyjson_read_err error;
  const std::unique_ptr<yyjson_doc, decltype(&yyjson_doc_free)> document(
      yyjson_read_opts(const_cast<char*>(json.data()), json.size(), 0, nullptr, &error), &yyjson_doc_free);
  if (!document) {
    const std::string_view before = json.substr(0, std::min(error.pos, json.size()));
    const auto line = std::count(before.begin(), before.end(), '\n') + 1;
    const size_t start = before.rfind('\n') + 1;
    message =
        "line " + std::to_string(line) + ", column " + std::to_string(before.size() - start + 1) + ": " + error.msg;
    return false;
  }
  if (!convert(yyjson_doc_get_root(document.get()), 0, value)) {
    message = "lists and objects are nested deeper than " + std::to_string(kMaxDepth - 2);
    return false;
  }
  return true;
}

}  // namespace jinja
}  // namespace llm
}  // namespace extension
}  // namespace executorch
