// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file
 * GoogleTest matchers of Error and Result: EXPECT_THAT(r, IsOk()), EXPECT_THAT(r, IsOkAndHolds(Gt(3))),
 * EXPECT_THAT(r, HasError(Error::NotFound)); and ASSERT_OK_AND_UNWRAP, which gives the value of a Result or fails the
 * test.
 */
#pragma once

#include <ostream>
#include <string>
#include <type_traits>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <executorch/runtime/core/error.h>
#include <executorch/runtime/core/result.h>

#define ET_INTERNAL_ASSERT_OK(error__) \
  ASSERT_EQ((error__), ::executorch::runtime::Error::Ok) << "found " << ::executorch::runtime::error_name(error__)

/// Value of a Result, moved out; fails the test function when there is none. Example: auto x =
/// ASSERT_OK_AND_UNWRAP(f());
#define ASSERT_OK_AND_UNWRAP(result__)               \
  ({                                                 \
    auto et_test_result__ = (result__);              \
    ET_INTERNAL_ASSERT_OK(et_test_result__.error()); \
    std::move(et_test_result__.get());               \
  })

/// Error checks without a Result.
#define EXPECT_OK(expression__) EXPECT_THAT(expression__, ::executorch::runtime::testing::IsOk())
#define ASSERT_OK(expression__) ASSERT_THAT(expression__, ::executorch::runtime::testing::IsOk())

namespace executorch {
namespace runtime {

/// Prints "Error::NotFound (0x20)" in a failure message.
inline void PrintTo(const Error& error, std::ostream* os) {
  *os << "Error::" << error_name(error) << " (0x" << std::hex << static_cast<unsigned>(error) << std::dec << ")";
}

template <typename T>
void PrintTo(const Result<T>& result, std::ostream* os) {
  if (result.ok()) {
    *os << "Result with the value " << ::testing::PrintToString(result.get());
  } else {
    *os << "Result with ";
    PrintTo(result.error(), os);
  }
}

namespace testing {
namespace internal {

template <typename T>
inline Error GetError(const Result<T>& result) {
  return result.error();
}
inline Error GetError(const Error& error) {
  return error;
}

// Polymorphic over Result<T>: the inner matcher gets its type when T is known.
template <typename InnerMatcher>
class IsOkAndHoldsMatcher {
 public:
  explicit IsOkAndHoldsMatcher(InnerMatcher inner) : inner_(std::move(inner)) {}

  template <typename ResultType>
  operator ::testing::Matcher<ResultType>() const {
    return ::testing::Matcher<ResultType>(new Impl<const ResultType&>(inner_));
  }

 private:
  template <typename ResultType>
  class Impl : public ::testing::MatcherInterface<ResultType> {
   public:
    using Value = typename std::remove_reference_t<ResultType>::value_type;

    template <typename Matcher>
    explicit Impl(const Matcher& inner) : inner_(::testing::SafeMatcherCast<const Value&>(inner)) {}

    void DescribeTo(std::ostream* os) const override {
      *os << "is Ok and holds a value that ";
      inner_.DescribeTo(os);
    }
    void DescribeNegationTo(std::ostream* os) const override {
      *os << "is not Ok or holds a value that ";
      inner_.DescribeNegationTo(os);
    }
    bool MatchAndExplain(ResultType actual, ::testing::MatchResultListener* listener) const override {
      if (!actual.ok()) {
        *listener << "which has the error " << error_name(actual.error());
        return false;
      }
      return inner_.MatchAndExplain(*actual, listener);
    }

   private:
    const ::testing::Matcher<const Value&> inner_;
  };

  InnerMatcher inner_;
};

}  // namespace internal

/// A Result with a value, or Error::Ok.
MATCHER(IsOk, negation ? "is not Ok" : "is Ok") {
  const Error error = internal::GetError(arg);
  *result_listener << "which is " << error_name(error);
  return error == Error::Ok;
}

/// A Result or an Error that is `error`.
MATCHER_P(HasError, error, std::string(negation ? "is not " : "is ") + error_name(error)) {
  const Error actual = internal::GetError(arg);
  *result_listener << "which is " << error_name(actual);
  return actual == error;
}

/// A Result with a value that matches.
template <typename InnerMatcher>
internal::IsOkAndHoldsMatcher<std::decay_t<InnerMatcher>> IsOkAndHolds(InnerMatcher&& inner_matcher) {
  return internal::IsOkAndHoldsMatcher<std::decay_t<InnerMatcher>>(std::forward<InnerMatcher>(inner_matcher));
}

}  // namespace testing
}  // namespace runtime
}  // namespace executorch
