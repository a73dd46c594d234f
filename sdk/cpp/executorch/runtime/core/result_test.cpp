// SPDX-License-Identifier: BSD-3-Clause
#include <memory>
#include <string>

#include <executorch/runtime/core/error.h>
#include <executorch/runtime/core/result.h>
#include <executorch/runtime/core/tag.h>
#include <executorch/runtime/core/testing_util/error_matchers.h>
#include <executorch/runtime/platform/test/pal_spy.h>
#include <gtest/gtest.h>

using executorch::runtime::Error;
using executorch::runtime::Result;
using executorch::runtime::Tag;
using executorch::runtime::tag_to_string;
using executorch::runtime::to_string;
using executorch::runtime::testing::HasError;
using executorch::runtime::testing::IsOk;
using executorch::runtime::testing::IsOkAndHolds;

namespace {

Error fail_if(bool condition) {
  ET_CHECK_OR_RETURN_ERROR(!condition, InvalidProgram, "expected %d, found %d", 1, 2);
  return Error::Ok;
}

bool predicate(int value) {
  ET_CHECK_OR_RETURN_FALSE(value > 0, "expected above 0, found %d", value);
  return true;
}

Error propagate(Error error) {
  ET_CHECK_OK_OR_RETURN_ERROR(error);
  return Error::EndOfMethod;
}

Error propagate_with_message(Error error) {
  ET_CHECK_OK_OR_RETURN_ERROR(error, "while %s %d", "loading", 5);
  return Error::EndOfMethod;
}

using Pointer = std::unique_ptr<int>;

Result<int> unwrap(Result<Pointer> result) {
  Pointer pointer = ET_UNWRAP(std::move(result));
  return *pointer;
}

Result<int> unwrap_with_message(Result<Pointer> result) {
  Pointer pointer = ET_UNWRAP(std::move(result), "no pointer %d", 3);
  return *pointer;
}

Result<int> assign(Result<Pointer> result) {
  ET_ASSIGN_OR_RETURN(pointer, std::move(result));
  return *pointer;
}

Result<int> assign_with_message(Result<Pointer> result) {
  ET_ASSIGN_OR_RETURN(pointer, std::move(result), "no value at %d", 9);
  return *pointer;
}

struct Counted {
  explicit Counted(int* alive) : alive_(alive) { ++*alive_; }
  Counted(Counted&& rhs) noexcept : alive_(rhs.alive_) { ++*alive_; }
  ~Counted() { --*alive_; }
  int* alive_;
};

}  // namespace

TEST(ErrorTest, NumbersAreThePublicContract) {
  EXPECT_EQ(static_cast<uint32_t>(Error::Ok), 0x00u);
  EXPECT_EQ(static_cast<uint32_t>(Error::AlreadyLoaded), 0x04u);
  EXPECT_EQ(static_cast<uint32_t>(Error::NotSupported), 0x10u);
  EXPECT_EQ(static_cast<uint32_t>(Error::OperatorMissing), 0x14u);
  EXPECT_EQ(static_cast<uint32_t>(Error::RegistrationAlreadyRegistered), 0x16u);
  EXPECT_EQ(static_cast<uint32_t>(Error::NotFound), 0x20u);
  EXPECT_EQ(static_cast<uint32_t>(Error::InvalidProgram), 0x23u);
  EXPECT_EQ(static_cast<uint32_t>(Error::OutOfResources), 0x25u);
  EXPECT_EQ(static_cast<uint32_t>(Error::DelegateInvalidHandle), 0x32u);
  EXPECT_EQ(static_cast<uint32_t>(Error::Cancelled), 0x40u);
}

TEST(ErrorTest, Names) {
  EXPECT_STREQ(to_string(Error::Ok), "Error::Ok");
  EXPECT_STREQ(to_string(Error::InvalidExternalData), "Error::InvalidExternalData");
  EXPECT_STREQ(to_string(Error::Cancelled), "Error::Cancelled");
  EXPECT_STREQ(to_string(static_cast<Error>(0x7777)), "Error::Unknown");
  EXPECT_STREQ(executorch::runtime::error_name(Error::InvalidProgram), "InvalidProgram");
}

TEST(ErrorTest, MacrosLogAndReturn) {
  PalSpy spy;
  InterceptWith intercept(spy);
  EXPECT_EQ(fail_if(false), Error::Ok);
  EXPECT_EQ(spy.emit_log_message_call_count, 0u);
  EXPECT_EQ(fail_if(true), Error::InvalidProgram);
  EXPECT_EQ(spy.last_log_message_args.message, "expected 1, found 2");
  EXPECT_TRUE(predicate(1));
  EXPECT_FALSE(predicate(-1));
  EXPECT_EQ(spy.last_log_message_args.message, "Check failed (value > 0): expected above 0, found -1");
  EXPECT_EQ(propagate(Error::Ok), Error::EndOfMethod);
  EXPECT_EQ(propagate(Error::NotFound), Error::NotFound);
  EXPECT_EQ(propagate_with_message(Error::Ok), Error::EndOfMethod);
  EXPECT_EQ(propagate_with_message(Error::NotFound), Error::NotFound);
  EXPECT_EQ(spy.last_log_message_args.message, "while loading 5");
}

TEST(ResultTest, HoldsAValueOrAnError) {
  Result<std::string> value(std::string("text"));
  EXPECT_TRUE(value.ok());
  EXPECT_EQ(value.error(), Error::Ok);
  EXPECT_EQ(*value, "text");
  EXPECT_EQ(value->size(), 4u);
  Result<std::string> error(Error::NotFound);
  EXPECT_FALSE(error.ok());
  EXPECT_EQ(error.error(), Error::NotFound);
  EXPECT_DEATH((void)*error, "NotFound \\(0x20\\)");
}

TEST(ResultTest, OkIsNoError) {
  EXPECT_EQ(Result<int>(Error::Ok).error(), Error::Internal);
}

TEST(ResultTest, DestroysItsValueOnce) {
  int alive = 0;
  {
    Result<Counted> first{Counted(&alive)};
    Result<Counted> second(std::move(first));
    EXPECT_TRUE(second.ok());
    EXPECT_EQ(alive, 2);
  }
  EXPECT_EQ(alive, 0);
}

TEST(ResultTest, ConstValues) {
  Result<const std::string> value(std::string("text"));
  Result<const std::string> moved(std::move(value));
  EXPECT_EQ(moved.get(), "text");
}

TEST(ResultTest, UnwrapMovesTheValueOrReturnsTheError) {
  PalSpy spy;
  InterceptWith intercept(spy);
  EXPECT_THAT(unwrap(std::make_unique<int>(4)), IsOkAndHolds(4));
  EXPECT_THAT(unwrap(Error::NotFound), HasError(Error::NotFound));
  EXPECT_EQ(spy.emit_log_message_call_count, 0u);
  EXPECT_THAT(unwrap_with_message(Error::NotFound), HasError(Error::NotFound));
  EXPECT_EQ(spy.last_log_message_args.message, "no pointer 3");
  EXPECT_THAT(assign(std::make_unique<int>(5)), IsOkAndHolds(5));
  EXPECT_THAT(assign(Error::InvalidType), HasError(Error::InvalidType));
  EXPECT_THAT(assign_with_message(std::make_unique<int>(6)), IsOkAndHolds(6));
  EXPECT_THAT(assign_with_message(Error::InvalidType), HasError(Error::InvalidType));
  EXPECT_EQ(spy.last_log_message_args.message, "no value at 9");
}

TEST(ResultTest, Matchers) {
  EXPECT_THAT(Error::Ok, IsOk());
  EXPECT_THAT(Error::Internal, testing::Not(IsOk()));
  EXPECT_THAT(Result<int>(3), IsOk());
  EXPECT_THAT(Result<int>(3), IsOkAndHolds(testing::Gt(2)));
  EXPECT_THAT(Result<int>(Error::Internal), testing::Not(IsOkAndHolds(3)));
  EXPECT_EQ(ASSERT_OK_AND_UNWRAP(Result<int>(8)), 8);
}

TEST(TagTest, NumbersAndNames) {
  EXPECT_EQ(static_cast<uint32_t>(Tag::None), 0u);
  EXPECT_EQ(static_cast<uint32_t>(Tag::Tensor), 1u);
  EXPECT_EQ(static_cast<uint32_t>(Tag::ListOptionalTensor), 11u);
  EXPECT_STREQ(tag_to_string(Tag::ListDouble), "ListDouble");
  EXPECT_STREQ(tag_to_string(static_cast<Tag>(99)), "Unknown");
  char name[executorch::runtime::kTagNameBufferSize];
  EXPECT_EQ(tag_to_string(Tag::ListOptionalTensor, name, sizeof(name)), 18u);
  EXPECT_STREQ(name, "ListOptionalTensor");
  EXPECT_EQ(tag_to_string(Tag::Tensor, name, 4), 6u);
  EXPECT_STREQ(name, "Ten");
}
