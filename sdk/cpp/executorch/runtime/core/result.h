// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file
 * Result<T>: a value or the Error that prevented it, without exceptions.
 */
#pragma once

#include <new>
#include <type_traits>
#include <utility>

#include <executorch/runtime/core/error.h>
#include <executorch/runtime/platform/assert.h>

namespace executorch {
namespace runtime {

/**
 * Holds a T or an Error other than Ok. Check ok() first: get(), `*` and `->` abort when there is no value.
 *
 * Movable when T is, never copyable. Example:
 *
 *     Result<Program> program = Program::load(&loader);
 *     if (!program.ok()) { return program.error(); }
 *     program->method_meta("forward");
 */
template <typename T>
class Result final {
 public:
  typedef T value_type;

  /// An error. Error::Ok becomes Error::Internal, because there is no value.
  /* implicit */ Result(Error error) : error_(error == Error::Ok ? Error::Internal : error), has_value_(false) {}

  /* implicit */ Result(const T& val) : value_(val), has_value_(true) {}
  /* implicit */ Result(T&& val) : value_(std::move(val)), has_value_(true) {}

  /// Takes the value or the error of `rhs`. A moved-from value is destroyed by `rhs`.
  Result(Result&& rhs) noexcept : has_value_(rhs.has_value_) {
    if (has_value_) {
      new (const_cast<std::remove_const_t<T>*>(&value_)) T(std::move(rhs.value_));
    } else {
      error_ = rhs.error_;
    }
  }

  Result(const Result&) = delete;
  Result& operator=(const Result&) = delete;
  Result& operator=(Result&&) = delete;

  ~Result() {
    if (has_value_) {
      value_.~T();
    }
  }

  /// True when there is a value.
  ET_NODISCARD bool ok() const { return has_value_; }

  /// Error::Ok when there is a value.
  ET_NODISCARD Error error() const {
    if (has_value_) {
      return Error::Ok;
    }
    if (error_ == Error::Ok) {
      ET_UNREACHABLE();  // not possible, but tells the compiler that the error is not Ok
    }
    return error_;
  }

  T& get() {
    check_ok();
    return value_;
  }
  const T& get() const {
    check_ok();
    return value_;
  }

  const T& operator*() const& { return get(); }
  T& operator*() & { return get(); }
  const T* operator->() const { return &get(); }
  T* operator->() { return &get(); }

 private:
  // Inline, so that the compiler can remove it after a check of ok().
  ET_INLINE void check_ok() const {
    if (ET_UNLIKELY(!has_value_)) {
      abort_without_value();
    }
  }

  ET_NOINLINE void abort_without_value() const {
    ET_CHECK_MSG(false, "a Result without a value was read; it holds the error %s (0x%x): call ok() first",
                 error_name(error_), static_cast<unsigned>(error_));
  }

  union {
    T value_;
    Error error_;
  };
  bool has_value_;
};

}  // namespace runtime
}  // namespace executorch

namespace torch {
namespace executor {
using ::executorch::runtime::Result;
}  // namespace executor
}  // namespace torch

#if ET_HAVE_GNU_STATEMENT_EXPRESSIONS
/**
 * ET_UNWRAP(result[, format, ...]): the value of the result, moved out; when there is none, logs the message and
 * returns the error from the current function. Needs a compiler with statement expressions (GCC, Clang).
 */
#define ET_UNWRAP(result__, ...)                    \
  ({                                                \
    auto et_result__ = (result__);                  \
    if (ET_UNLIKELY(!et_result__.ok())) {           \
      ET_INTERNAL_LOG_IF_MESSAGE(0, ##__VA_ARGS__); \
      return et_result__.error();                   \
    }                                               \
    std::move(*et_result__);                        \
  })
#endif

/**
 * ET_ASSIGN_OR_RETURN(variable, result[, format, ...]): defines `variable` with the value of the result, or logs the
 * message and returns the error. For compilers without statement expressions.
 */
#define ET_ASSIGN_OR_RETURN(variable__, ...) \
  ET_INTERNAL_ASSIGN_OR_RETURN(variable__, ET_INTERNAL_CONCAT(et_result__, __LINE__), __VA_ARGS__)

#define ET_INTERNAL_ASSIGN_OR_RETURN(variable__, temporary__, ...)                                          \
  ET_INTERNAL_EXPAND(ET_INTERNAL_ONE_OR_MORE(ET_INTERNAL_ASSIGN_ONE, ET_INTERNAL_ASSIGN_MORE, __VA_ARGS__)( \
      variable__, temporary__, __VA_ARGS__))
#define ET_INTERNAL_ASSIGN_ONE(variable__, temporary__, result__) \
  auto temporary__ = (result__);                                  \
  if (ET_UNLIKELY(!temporary__.ok())) {                           \
    return temporary__.error();                                   \
  }                                                               \
  auto variable__ = std::move(*temporary__)
#define ET_INTERNAL_ASSIGN_MORE(variable__, temporary__, result__, message__, ...) \
  auto temporary__ = (result__);                                                   \
  if (ET_UNLIKELY(!temporary__.ok())) {                                            \
    ET_LOG(Error, message__, ##__VA_ARGS__);                                       \
    return temporary__.error();                                                    \
  }                                                                                \
  auto variable__ = std::move(*temporary__)

// ET_LOG(Error, ...) of the arguments after the first; nothing when there is only one.
#define ET_INTERNAL_LOG_IF_MESSAGE(...) \
  ET_INTERNAL_ONE_OR_MORE(ET_INTERNAL_LOG_NOTHING, ET_INTERNAL_LOG_MESSAGE, __VA_ARGS__)(__VA_ARGS__)
#define ET_INTERNAL_LOG_NOTHING(ignored)
#define ET_INTERNAL_LOG_MESSAGE(ignored, message__, ...) ET_LOG(Error, message__, ##__VA_ARGS__)
#define ET_INTERNAL_CONCAT(a, b) ET_INTERNAL_CONCAT_EXPANDED(a, b)
#define ET_INTERNAL_CONCAT_EXPANDED(a, b) a##b
