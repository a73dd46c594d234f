// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <pytorch/tokenizers/error.h>
#include <yyjson.h>

namespace tokenizers::detail {

/// A value of a document, with its path for messages: "normalizer.normalizers[2]".
class JsonValue {
 public:
  JsonValue() = default;
  JsonValue(yyjson_val* value, std::string path) : value_(value), path_(std::move(path)) {}

  /// Whether the value is neither absent nor null.
  explicit operator bool() const { return value_ != nullptr && !yyjson_is_null(value_); }
  yyjson_val* get() const { return value_; }
  const std::string& path() const { return path_; }
  bool is_array() const { return yyjson_is_arr(value_); }
  bool is_object() const { return yyjson_is_obj(value_); }
  bool is_string() const { return yyjson_is_str(value_); }
  size_t size() const { return yyjson_get_len(value_); }

  /// A member of an object; absent if this is not an object.
  JsonValue operator[](const char* name) const;
  /// An element of an array: takes time that grows with `index`.
  JsonValue at(size_t index) const;
  /// Calls `visit(element)`, which returns an Error, for the elements of an array until one fails.
  template <typename Visit>
  Error for_each(const Visit& visit) const {
    yyjson_arr_iter iterator = yyjson_arr_iter_with(value_);
    size_t index = 0;
    while (yyjson_val* element = yyjson_arr_iter_next(&iterator)) {
      TK_CHECK_OK_OR_RETURN_ERROR(visit(JsonValue(element, path_ + "[" + std::to_string(index++) + "]")));
    }
    return Error::Ok;
  }

  /// A member that must be there, or has a default if absent or null. Error::ParseFailure names its path, what was
  /// expected and what was found.
  Error read(const char* name, std::string& out, std::optional<std::string_view> otherwise = std::nullopt) const;
  Error read(const char* name, bool& out, std::optional<bool> otherwise = std::nullopt) const;
  Error read(const char* name, uint64_t& out, std::optional<uint64_t> otherwise = std::nullopt) const;
  Error read_array(const char* name, JsonValue& out) const;

  /// Error::ParseFailure: "<path> is <what was found>, expected <expected>".
  Error expected(const char* expected) const;

 private:
  yyjson_val* value_ = nullptr;
  std::string path_;
};

/// The view of a string's bytes.
inline std::string_view json_text(yyjson_val* value) {
  return {yyjson_get_str(value), yyjson_get_len(value)};
}

class JsonDocument {
 public:
  /// Error::ParseFailure with line and column.
  Error parse(std::string_view bytes, const char* name);
  JsonValue root() const { return {yyjson_doc_get_root(document_.get()), ""}; }

 private:
  struct Free {
    void operator()(yyjson_doc* document) const { yyjson_doc_free(document); }
  };
  std::unique_ptr<yyjson_doc, Free> document_;
};

}  // namespace tokenizers::detail
