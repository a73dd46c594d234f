// SPDX-License-Identifier: BSD-3-Clause
#include <yyjson.h>

#include <algorithm>

#include "work.h"

namespace executorch {
namespace extension {
namespace llm {
namespace jinja {
namespace {

/// False for nesting that is too deep, and for numbers that do not fit.
bool convert(Work& work, yyjson_val* json, int depth, Value& value, std::string& message) {
  if (depth > kMaxDepth - 2) {
    message = "lists and objects are nested deeper than " + std::to_string(kMaxDepth - 2);
    return false;
  }
  switch (yyjson_get_type(json)) {
    case YYJSON_TYPE_BOOL:
      value = Value::boolean(yyjson_get_bool(json));
      return true;
    case YYJSON_TYPE_NUM:
      value = yyjson_is_real(json) ? Value::real(yyjson_get_real(json)) : Value::integer(yyjson_get_sint(json));
      if (yyjson_is_uint(json) && yyjson_get_uint(json) > INT64_MAX) {
        message = "the integer " + std::to_string(yyjson_get_uint(json)) + " does not fit into 64 bits with a sign";
        return false;
      }
      return true;
    case YYJSON_TYPE_RAW:
      message = "the number " + std::string(yyjson_get_raw(json)).substr(0, 40) + " does not fit into 64 bits";
      return false;
    case YYJSON_TYPE_STR:
      value = work.text(std::string_view(yyjson_get_str(json), yyjson_get_len(json)));
      return true;
    case YYJSON_TYPE_ARR: {
      ListBuilder items(work);
      size_t i = 0;
      size_t count = 0;
      yyjson_val* item = nullptr;
      yyjson_arr_foreach(json, i, count, item) {
        Value converted;
        if (!convert(work, item, depth + 1, converted, message) || !items.add(std::move(converted))) {
          return false;
        }
      }
      value = items.value();
      return true;
    }
    case YYJSON_TYPE_OBJ: {
      DictBuilder entries(work);
      size_t i = 0;
      size_t count = 0;
      yyjson_val* key = nullptr;
      yyjson_val* item = nullptr;
      yyjson_obj_foreach(json, i, count, key, item) {
        Value converted;
        if (!convert(work, item, depth + 1, converted, message) ||
            !entries.set(work.text(std::string_view(yyjson_get_str(key), yyjson_get_len(key))), std::move(converted))) {
          return false;
        }
      }
      value = entries.value();
      return true;
    }
    default:
      value = Value::none();
      return true;
  }
}

}  // namespace

bool parse_json(Work& work, std::string_view json, Value& value, std::string& message) {
  yyjson_read_err error{};
  // Python writes NaN, Infinity and integers of any size. Integers above 64 bits are refused with a message.
  const yyjson_read_flag flags = YYJSON_READ_BIGNUM_AS_RAW | YYJSON_READ_ALLOW_INF_AND_NAN;
  const std::unique_ptr<yyjson_doc, decltype(&yyjson_doc_free)> document(
      yyjson_read_opts(const_cast<char*>(json.data()), json.size(), flags, nullptr, &error), &yyjson_doc_free);
  if (!document) {
    const std::string_view before = json.substr(0, std::min(error.pos, json.size()));
    const auto line = std::count(before.begin(), before.end(), '\n') + 1;
    const size_t start = before.rfind('\n') + 1;
    message =
        "line " + std::to_string(line) + ", column " + std::to_string(before.size() - start + 1) + ": " + error.msg;
    return false;
  }
  return convert(work, yyjson_doc_get_root(document.get()), 0, value, message);
}

}  // namespace jinja
}  // namespace llm
}  // namespace extension
}  // namespace executorch
