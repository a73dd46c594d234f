// SPDX-License-Identifier: BSD-3-Clause
// The filters, tests, methods and functions of templates: tables of their names, parameters and implementations.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "value.h"

namespace executorch {
namespace extension {
namespace llm {
namespace jinja {

class Interpreter;
class Work;

/// The arguments of a call.
struct Arguments {
  std::vector<Value> positional;
  std::vector<std::pair<std::string, Value>> named;
};

/// The arguments of a call, bound to its parameters.
struct Bound {
  std::vector<const Value*> given;  // null for a missing argument
  std::vector<Value> rest;
  std::vector<std::pair<std::string, Value>> rest_named;

  const Value* get(size_t i) const { return given[i]; }
  bool has(size_t i) const { return given[i] != nullptr; }
  /// Whether the argument is given and is not None.
  bool has_value(size_t i) const { return has(i) && !given[i]->is_none(); }
  bool truthy(size_t i) const { return has(i) && given[i]->truthy(); }
};

/// `parameters`: names with spaces between them. "?" after a parameter makes it optional; "/" makes the parameters
/// before it positional only; "*" and "**" accept more arguments, without and with names. Unknown or missing arguments
/// are errors.
bool bind(Work& work, const char* kind, std::string_view name, std::string_view parameters, const Arguments& arguments,
          Bound& bound);

template <typename Result>
struct Builtin {
  const char* name;
  const char* parameters;
  Result (*apply)(Interpreter& in, const Value& self, const Bound& arguments);
  bool is_generator = false;  // its errors occur when its elements are read
};
using Filter = Builtin<Value>;
using Test = Builtin<bool>;

struct Method : Builtin<Value> {
  bool keeps_markup = false;  // the result of a method of markup is markup
};

template <typename Entry>
struct Table {
  const Entry* entries;
  size_t size;
  const Entry* find(std::string_view name) const {
    for (size_t i = 0; i < size; i++) {
      if (name == entries[i].name) {
        return entries + i;
      }
    }
    return nullptr;
  }
};
template <typename Entry, size_t kSize>
constexpr Table<Entry> table(const Entry (&entries)[kSize]) {
  return {entries, kSize};
}

// Each is defined in the file of the same name.
Table<Filter> text_filters();
Table<Filter> number_filters();
Table<Filter> sequence_filters();
Table<Filter> select_filters();
Table<Test> tests();
Table<Filter> globals();
Table<Method> case_methods();
Table<Method> search_methods();
Table<Method> split_methods();
Table<Method> container_methods();

const Filter* find_filter(std::string_view name);
inline bool is_filter(std::string_view name) {
  return find_filter(name) != nullptr;
}
inline bool is_test(std::string_view name) {
  return tests().find(name) != nullptr;
}
/// Whether values of this type have a method of container_methods(), which several types share.
bool applies(const Value& self, std::string_view method);
/// Returns the method of a value; null if the value has no method of that name.
const Method* find_method(const Value& self, std::string_view name);
/// Whether Python's lists or dictionaries have a method of that name that changes them: templates may not call it.
bool changes(const Value& self, std::string_view name);
/// Whether Python has an attribute of that name that this engine lacks: using it is an error, not undefined.
bool is_missing(const Value& self, std::string_view name);

}  // namespace jinja
}  // namespace llm
}  // namespace extension
}  // namespace executorch
