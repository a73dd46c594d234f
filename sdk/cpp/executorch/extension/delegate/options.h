// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file
 * The options of a backend: a table has the member and the valid values of each option. All backends use such tables,
 * so that a fault gives the same message and error code in all of them.
 */
#pragma once

#include <array>
#include <climits>
#include <cstddef>
#include <cstring>
#include <mutex>
#include <string>
#include <utility>
#include <variant>

#include <executorch/runtime/backend/interface.h>
#include <executorch/runtime/backend/options.h>
#include <executorch/runtime/core/error.h>
#include <executorch/runtime/core/same_text.h>
#include <executorch/runtime/core/span.h>
#include <executorch/runtime/platform/log.h>

namespace executorch {
namespace extension {
namespace delegate {

/// An option: its key, the member of Options that has its value, and its valid values.
template <typename Options>
struct Option {
  using Member = std::variant<bool Options::*, int Options::*, std::string Options::*>;

  constexpr Option(const char* key, bool Options::* flag) : key(key), member(flag), expected("true or false") {}
  /// Numbers from `lowest` to `highest`; `expected` describes them.
  constexpr Option(const char* key, int Options::* number, int lowest, int highest, const char* expected)
      : key(key), member(number), expected(expected), lowest(lowest), highest(highest) {}
  /// If `is_valid` is null, every text is valid. The empty text is always valid, and means that the option is not set.
  constexpr Option(const char* key, std::string Options::* text, const char* expected = "a text",
                   bool (*is_valid)(const std::string&) = nullptr)
      : key(key), member(text), expected(expected), is_valid(is_valid) {}

  const char* key;
  Member member;
  const char* expected;
  int lowest = INT_MIN;
  int highest = INT_MAX;
  bool (*is_valid)(const std::string&) = nullptr;
};

/// The options of one backend. The table and all its texts are static.
template <typename Options>
class OptionTable {
 public:
  template <size_t N>
  constexpr OptionTable(const char* backend, const Option<Options> (&options)[N])
      : backend_(backend), options_(options), count_(N) {}

  /// Stores a value in `to`. Ignores unknown keys, which may be meant for other backends. InvalidArgument (logged) if
  /// the value has another type or is not one of those expected.
  runtime::Error set(const runtime::BackendOption& from, Options& to) const {
    const Option<Options>* const option = find(from.key);
    if (option == nullptr) {
      return runtime::Error::Ok;
    }
    if (const auto* const flag = std::get_if<bool Options::*>(&option->member)) {
      const bool* const value = std::get_if<bool>(&from.value);
      ET_CHECK_OK_OR_RETURN_ERROR(check(*option, value != nullptr, from));
      to.** flag = *value;
    } else if (const auto* const number = std::get_if<int Options::*>(&option->member)) {
      const int* const value = std::get_if<int>(&from.value);
      ET_CHECK_OK_OR_RETURN_ERROR(
          check(*option, value != nullptr && *value >= option->lowest && *value <= option->highest, from));
      to.** number = *value;
    } else if (const auto* const text = std::get_if<std::string Options::*>(&option->member)) {
      const Text* const value = std::get_if<Text>(&from.value);
      std::string taken = value == nullptr ? "" : std::string(value->data(), strnlen(value->data(), value->size()));
      const bool fits = taken.empty() || option->is_valid == nullptr || option->is_valid(taken);
      ET_CHECK_OK_OR_RETURN_ERROR(check(*option, value != nullptr && fits, from));
      to.** text = std::move(taken);
    }
    return runtime::Error::Ok;
  }

  /// Sets several options. `to` does not change if there is an error.
  runtime::Error set(runtime::Span<const runtime::BackendOption> from, Options& to) const {
    Options changed = to;
    for (const runtime::BackendOption& option : from) {
      ET_CHECK_OK_OR_RETURN_ERROR(set(option, changed));
    }
    to = std::move(changed);
    return runtime::Error::Ok;
  }

  /// Writes the value of the option that `to` names. Does nothing for unknown options.
  void get(const Options& from, runtime::BackendOption& to) const {
    const Option<Options>* const option = find(to.key);
    if (option == nullptr) {
      return;
    }
    if (const auto* const flag = std::get_if<bool Options::*>(&option->member)) {
      to.value = from.**flag;
    } else if (const auto* const number = std::get_if<int Options::*>(&option->member)) {
      to.value = from.**number;
    } else if (const auto* const text = std::get_if<std::string Options::*>(&option->member)) {
      to.value = option_text(from.**text);
    }
  }

  using Text = std::array<char, runtime::kMaxOptionValueLength>;

  /// A text as an option's value; longer ones are cut.
  static Text option_text(const std::string& from) {
    Text text{};
    from.copy(text.data(), text.size() - 1);
    return text;
  }

 private:
  const Option<Options>* find(const char* key) const {
    for (size_t i = 0; i < count_; ++i) {
      if (runtime::internal::same_text(key, options_[i].key)) {
        return &options_[i];
      }
    }
    return nullptr;
  }

  runtime::Error check(const Option<Options>& option, bool fits, const runtime::BackendOption& from) const {
    if (fits) {
      return runtime::Error::Ok;
    }
    std::string found = "another type";
    if (const bool* const flag = std::get_if<bool>(&from.value)) {
      found = *flag ? "true" : "false";
    } else if (const int* const number = std::get_if<int>(&from.value)) {
      found = std::to_string(*number);
    } else if (const Text* const text = std::get_if<Text>(&from.value)) {
      found = '"' + std::string(text->data(), strnlen(text->data(), text->size())) + '"';
    }
    ET_LOG(Error, "%s: the option %s is %s; expected %s", backend_, option.key, found.c_str(), option.expected);
    return runtime::Error::InvalidArgument;
  }

  const char* backend_;
  const Option<Options>* options_;
  size_t count_;
};

/// The options that are set for a backend. Threads may share it.
template <typename Options>
class OptionStore {
 public:
  explicit OptionStore(const OptionTable<Options>& table) : table_(table) {}

  /// A copy.
  Options current() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return options_;
  }

  /// Sets all options or, after an error, none.
  runtime::Error set(runtime::Span<const runtime::BackendOption> from) {
    const std::lock_guard<std::mutex> lock(mutex_);
    return table_.set(from, options_);
  }

  void get(runtime::Span<runtime::BackendOption> to) const {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (runtime::BackendOption& option : to) {
      table_.get(options_, option);
    }
  }

 private:
  const OptionTable<Options>& table_;
  mutable std::mutex mutex_;
  Options options_;
};

}  // namespace delegate
}  // namespace extension
}  // namespace executorch
