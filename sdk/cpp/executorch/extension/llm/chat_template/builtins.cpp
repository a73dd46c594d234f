// SPDX-License-Identifier: BSD-3-Clause
#include "builtins.h"

#include <algorithm>

#include "work.h"

namespace executorch {
namespace extension {
namespace llm {
namespace jinja {
namespace {

struct Parameters {
  std::vector<std::string_view> names;
  size_t required = 0;
  size_t without_name = 0;  // the parameters that are positional only
  bool rest = false;
  bool rest_named = false;
};

Parameters read(std::string_view all) {
  Parameters made;
  while (!all.empty()) {
    const size_t end = std::min(all.find(' '), all.size());
    std::string_view name = all.substr(0, end);
    all.remove_prefix(std::min(end + 1, all.size()));
    if (name == "/") {
      made.without_name = made.names.size();
    } else if (name == "*" || name == "**") {
      (name == "*" ? made.rest : made.rest_named) = true;
    } else {
      const bool optional = name.back() == '?';
      made.names.push_back(optional ? name.substr(0, name.size() - 1) : name);
      made.required += optional ? 0 : 1;
    }
  }
  return made;
}

template <size_t kSize>
bool is_one_of(std::string_view name, const std::string_view (&names)[kSize]) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

}  // namespace

bool bind(Work& work, const char* kind, std::string_view name, std::string_view parameters, const Arguments& arguments,
          Bound& bound) {
  const Parameters known = read(parameters);
  const std::string called = std::string(kind) + " '" + std::string(name) + "'";
  const size_t count = arguments.positional.size();
  bound.given.assign(known.names.size(), nullptr);
  for (size_t i = 0; i < std::min(count, known.names.size()); i++) {
    bound.given[i] = &arguments.positional[i];
  }
  if (count > known.names.size() && !known.rest) {
    work.fail(called + " takes at most " + std::to_string(known.names.size()) + " arguments, found " +
              std::to_string(count));
  }
  for (size_t i = known.names.size(); i < count && known.rest; i++) {
    bound.rest.push_back(arguments.positional[i]);
  }
  for (const auto& [key, value] : arguments.named) {
    const auto found = std::find(known.names.begin(), known.names.end(), key);
    const auto place = static_cast<size_t>(found - known.names.begin());
    if (found != known.names.end() && place >= known.without_name) {
      if (bound.given[place] != nullptr) {
        work.fail(called + " has its argument '" + key + "' twice");
      }
      bound.given[place] = &value;
    } else if (known.rest_named) {
      bound.rest_named.emplace_back(key, value);
    } else {
      work.fail(called + " has no argument '" + key.substr(0, 80) + "'" +
                (found != known.names.end() ? " for callers to name: leave out the name" : ""));
    }
  }
  for (size_t i = 0; i < known.required; i++) {
    if (bound.given[i] == nullptr) {
      work.fail(called + " needs the argument '" + std::string(known.names[i]) + "'");
    }
  }
  return !work.failed();
}

const Filter* find_filter(std::string_view name) {
  for (const Table<Filter>& filters : {text_filters(), number_filters(), sequence_filters(), select_filters()}) {
    if (const Filter* const found = filters.find(name)) {
      return found;
    }
  }
  return nullptr;
}

const Method* find_method(const Value& self, std::string_view name) {
  if (!self.is_string()) {
    const Method* const found = container_methods().find(name);
    return found != nullptr && applies(self, name) ? found : nullptr;
  }
  for (const Table<Method>& methods : {case_methods(), search_methods(), split_methods()}) {
    if (const Method* const found = methods.find(name)) {
      return found;
    }
  }
  return nullptr;
}

bool changes(const Value& self, std::string_view name) {
  static constexpr std::string_view kOfLists[] = {"append", "clear", "pop",    "reverse",
                                                  "insert", "sort",  "extend", "remove"};
  static constexpr std::string_view kOfDicts[] = {"clear", "pop", "popitem", "setdefault", "update"};
  return self.is(Value::Type::kList) ? is_one_of(name, kOfLists) : self.is_dict() && is_one_of(name, kOfDicts);
}

bool is_missing(const Value& self, std::string_view name) {
  static constexpr std::string_view kOfStrings[] = {"encode", "maketrans", "translate"};
  static constexpr std::string_view kOfIntegers[] = {"as_integer_ratio", "bit_count",  "bit_length",
                                                     "conjugate",        "from_bytes", "to_bytes"};
  static constexpr std::string_view kOfFloats[] = {"as_integer_ratio", "conjugate", "fromhex", "hex"};
  static constexpr std::string_view kOfViews[] = {"isdisjoint", "mapping"};
  static constexpr std::string_view kOfGenerators[] = {"close", "gi_code", "gi_frame",     "gi_running",
                                                       "send",  "throw",   "gi_suspended", "gi_yieldfrom"};
  switch (self.type()) {
    case Value::Type::kString:
      return is_one_of(name, kOfStrings);
    case Value::Type::kBool:
    case Value::Type::kInt:
      return is_one_of(name, kOfIntegers);
    case Value::Type::kFloat:
      return is_one_of(name, kOfFloats);
    case Value::Type::kView:
      return is_one_of(name, kOfViews);
    case Value::Type::kIterator:
      return is_one_of(name, kOfGenerators);
    default:
      return false;
  }
}

}  // namespace jinja
}  // namespace llm
}  // namespace extension
}  // namespace executorch
