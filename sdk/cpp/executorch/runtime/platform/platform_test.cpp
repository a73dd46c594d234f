// SPDX-License-Identifier: BSD-3-Clause
#include <cstdlib>
#include <cstring>
#include <string>

#include <executorch/runtime/platform/assert.h>
#include <executorch/runtime/platform/clock.h>
#include <executorch/runtime/platform/log.h>
#include <executorch/runtime/platform/platform.h>
#include <executorch/runtime/platform/runtime.h>
#include <executorch/runtime/platform/test/pal_spy.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace executorch::runtime;

// PAL-05, PAL-06
TEST(PlatformTest, RTC_08_RegisteredFunctionsReplaceTheDefaults) {
  PalSpy spy;
  spy.tick_ns_multiplier = {3, 2};
  {
    InterceptWith intercept(spy);
    EXPECT_EQ(spy.init_call_count, 1u);
    runtime_init();
    runtime_init();
    EXPECT_EQ(spy.init_call_count, 3u);
    EXPECT_EQ(pal_current_ticks(), PalSpy::kTimestamp);
    EXPECT_EQ(ticks_to_ns(10), 15u);
    EXPECT_EQ(pal_allocate(77), nullptr);
    EXPECT_EQ(spy.last_allocated_size, 77u);
    pal_free(&spy);
    EXPECT_EQ(spy.last_freed_ptr, &spy);
  }
  void* memory = pal_allocate(16);
  EXPECT_NE(memory, nullptr);
  pal_free(memory);
  EXPECT_EQ(spy.allocate_call_count, 1u);
}

TEST(PlatformTest, RTC_08_RegisteringCallsTheNewInit) {
  PalSpy spy;
  InterceptWith intercept(spy);
  static int calls = 0;
  calls = 0;
  const auto count = [] { ++calls; };
  EXPECT_TRUE(register_pal(PalImpl::create(count, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, "test")));
  EXPECT_EQ(calls, 1);
  EXPECT_TRUE(register_pal(PalImpl::create(nullptr, "test")));
  EXPECT_EQ(calls, 1) << "init was not replaced";
  EXPECT_FALSE(register_pal(PalImpl::create(count, nullptr, nullptr, nullptr, nullptr, std::malloc, nullptr, "test")));
  EXPECT_EQ(calls, 1) << "what is refused is not initialised";
  EXPECT_EQ(spy.init_call_count, 1u) << "the spy's, when it was registered";
}

TEST(PlatformTest, RTC_08_NullFieldsKeepTheCurrentFunctions) {
  PalSpy spy;
  InterceptWith intercept(spy);
  const PalImpl before = *get_pal_impl();
  EXPECT_TRUE(register_pal(PalImpl::create(nullptr, "nobody")));
  EXPECT_EQ(get_pal_impl()->current_ticks, before.current_ticks);
  EXPECT_EQ(get_pal_impl()->source_filename, before.source_filename);
}

TEST(PlatformTest, HalfAnAllocatorIsRefused) {
  PalSpy spy;
  InterceptWith intercept(spy);
  const PalImpl before = *get_pal_impl();
  EXPECT_FALSE(
      register_pal(PalImpl::create(nullptr, nullptr, nullptr, nullptr, nullptr, std::malloc, nullptr, "test")));
  EXPECT_EQ(get_pal_impl()->allocate, before.allocate);
  EXPECT_THAT(spy.log(), testing::HasSubstr("together"));
}

TEST(PlatformTest, ClockDoesNotOverflowForLongUpTimes) {
  PalSpy spy;
  spy.tick_ns_multiplier = {1000, 3};
  InterceptWith intercept(spy);
  // 285 years in ticks of 1000 / 3 ns: the product with the numerator needs more than 64 bits.
  EXPECT_EQ(ticks_to_ns(uint64_t(3) << 53), uint64_t(1000) << 53);
}

// PAL-02
TEST(PlatformTest, DefaultClockIsMonotonicInNanoseconds) {
  const et_timestamp_t first = et_pal_current_ticks();
  const et_timestamp_t second = et_pal_current_ticks();
  EXPECT_LE(first, second);
  const et_tick_ratio_t ratio = et_pal_ticks_to_ns_multiplier();
  EXPECT_EQ(ratio.numerator, 1u);
  EXPECT_EQ(ratio.denominator, 1u);
}

TEST(LogTest, PassesEverythingOn) {
  PalSpy spy;
  InterceptWith intercept(spy);
  const size_t line = __LINE__ + 1;
  ET_LOG(Error, "%d of %s", 3, "four");
  const auto& last = spy.last_log_message_args;
  EXPECT_EQ(last.timestamp, PalSpy::kTimestamp);
  EXPECT_EQ(last.level, kError);
  EXPECT_EQ(last.filename, "platform_test.cpp");
  EXPECT_EQ(last.function, "TestBody");
  EXPECT_EQ(last.line, line);
  EXPECT_EQ(last.message, "3 of four");
  EXPECT_EQ(last.length, 9u);
}

TEST(LogTest, LevelsBelowTheMinimumAreDropped) {
  PalSpy spy;
  InterceptWith intercept(spy);
  ET_LOG(Debug, "dropped");
  EXPECT_EQ(spy.emit_log_message_call_count, 0u);
  ET_LOG(Info, "kept");
  EXPECT_EQ(spy.last_log_message_args.level, kInfo);
  ET_LOG(Fatal, "kept, and does not abort");
  EXPECT_EQ(spy.last_log_message_args.level, kFatal);
}

TEST(LogTest, LongMessagesAreCutAndMarked) {
  PalSpy spy;
  InterceptWith intercept(spy);
  const std::string text(2000, 'x');
  ET_LOG(Info, "%s", text.c_str());
  EXPECT_EQ(spy.last_log_message_args.message,
            std::string(executorch::runtime::internal::kMaxLogMessageLength - 4, 'x') + "...");
}

TEST(LogTest, RTC_07_DefaultLineFormat) {
  testing::internal::CaptureStderr();
  // 1 h 2 min 3.004005 s after the start.
  et_pal_emit_log_message(3723004005000ull, kInfo, "file.cpp", "function", 12, "message", 7);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "I 01:02:03.004005 executorch:file.cpp:12] message\n");
}

TEST(LogTest, CheckOrLogErrorGoesOn) {
  PalSpy spy;
  InterceptWith intercept(spy);
  ET_CHECK_OR_LOG_ERROR(true, "not logged");
  EXPECT_EQ(spy.emit_log_message_call_count, 0u);
  ET_CHECK_OR_LOG_ERROR(1 > 2, "logged %d", 5);
  EXPECT_EQ(spy.last_log_message_args.message, "logged 5");
}

// PCPP-08
TEST(AssertTest, ChecksAbortWithAMessage) {
  ET_CHECK(true);
  ET_CHECK_MSG(true, "unused");
  EXPECT_DEATH(ET_CHECK(1 > 2), "assert failed.*1 > 2");
  EXPECT_DEATH(ET_CHECK_MSG(1 > 2, "one is %d", 1), "assert failed.*1 > 2.*one is 1");
  EXPECT_DEATH(ET_ASSERT_UNREACHABLE(), "unreachable");
  EXPECT_DEATH(ET_ASSERT_UNREACHABLE_MSG("case %d", 7), "unreachable: case 7");
}

TEST(AssertTest, DebugChecksFollowTheBuildType) {
  int evaluations = 0;
  [[maybe_unused]] const auto condition = [&] { return ++evaluations > 0; };
  ET_DCHECK(condition());
  ET_DCHECK_MSG(condition(), "unused");
#ifdef NDEBUG
  EXPECT_EQ(evaluations, 0);
#else
  EXPECT_EQ(evaluations, 2);
  EXPECT_DEATH(ET_DCHECK(1 > 2), "assert failed");
#endif
}

TEST(AssertTest, AbortThatReturnsStillStops) {
  EXPECT_DEATH(
      {
        register_pal(
            PalImpl::create(nullptr, [] {}, nullptr, nullptr, nullptr, nullptr, nullptr, "an abort that returns"));
        runtime_abort();
      },
      "");
}
