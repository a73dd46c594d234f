// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cassert>
#include <utility>
#include <variant>

#include <pytorch/tokenizers/error.h>

namespace tokenizers {

/// Either a value or the error that prevented it.
template <typename T>
class Result final {
 public:
  using value_type = T;

  /// Error::Ok is not an error: it becomes Error::Internal.
  Result(Error error)  // NOLINT(google-explicit-constructor): functions return an error as it is
      : state_(std::in_place_index<0>, error == Error::Ok ? Error::Internal : error) {}
  Result(const T& value) : state_(std::in_place_index<1>, value) {}        // NOLINT(google-explicit-constructor)
  Result(T&& value) : state_(std::in_place_index<1>, std::move(value)) {}  // NOLINT(google-explicit-constructor)
  Result(Result&&) = default;
  Result(const Result&) = delete;
  Result& operator=(const Result&) = delete;
  Result& operator=(Result&&) = delete;

  bool ok() const { return state_.index() == 1; }
  /// Error::Ok if there is a value.
  Error error() const { return ok() ? Error::Ok : *std::get_if<0>(&state_); }

  /// The value. Only if ok().
  T& get() {
    assert(ok());
    return *std::get_if<1>(&state_);
  }
  const T& get() const {
    assert(ok());
    return *std::get_if<1>(&state_);
  }
  T& operator*() & { return get(); }
  const T& operator*() const& { return get(); }
  T* operator->() { return &get(); }
  const T* operator->() const { return &get(); }

 private:
  std::variant<Error, T> state_;
};

}  // namespace tokenizers

/// Evaluates to the value of `result__`, or returns its error from the calling function. A GNU extension, like the
/// macro of ExecuTorch that it is named after.
#define TK_UNWRAP(result__)        \
  __extension__({                  \
    auto tk_result__ = (result__); \
    if (!tk_result__.ok()) {       \
      return tk_result__.error();  \
    }                              \
    std::move(*tk_result__);       \
  })
