// SPDX-License-Identifier: BSD-3-Clause
// Compiled together with profiler.cpp, both with PROFILING_ENABLED.
#include <cstring>

#include <executorch/runtime/platform/profiler.h>
#include <executorch/runtime/platform/test/pal_spy.h>
#include <gtest/gtest.h>

using namespace executorch::runtime;

TEST(ProfilerTest, RecordsSpansAndAllocations) {
  PalSpy spy;
  InterceptWith intercept(spy);
  EXECUTORCH_PROFILE_CREATE_BLOCK("first");
  {
    EXECUTORCH_PROFILE_INSTRUCTION_SCOPE(2, 5);
    EXECUTORCH_SCOPE_PROF("a span with a name that is longer than the dump has room for");
  }
  const uint32_t id = EXECUTORCH_TRACK_ALLOCATOR("pool");
  EXECUTORCH_TRACK_ALLOCATION(static_cast<int32_t>(id), 64);
  EXECUTORCH_TRACK_ALLOCATION(-1, 1);
  EXECUTORCH_PROFILE_CREATE_BLOCK("second");
  EXECUTORCH_PROFILE_CREATE_BLOCK("first");
  EXECUTORCH_END_PROF(EXECUTORCH_BEGIN_PROF("another"));
  prof_result_t result;
  EXECUTORCH_DUMP_PROFILE_RESULTS(&result);
  ASSERT_EQ(result.num_blocks, 2u);
  EXPECT_EQ(result.num_bytes, 2 * prof_buf_size);
  prof_header_t header;
  std::memcpy(&header, result.prof_data, sizeof(header));
  EXPECT_STREQ(header.name, "first");
  EXPECT_EQ(header.prof_entries, 2u);
  EXPECT_EQ(header.allocator_entries, 1u);
  EXPECT_EQ(header.mem_prof_entries, 1u);
  prof_event_t event;
  std::memcpy(&event, result.prof_data + prof_events_offset, sizeof(event));
  EXPECT_STREQ(event.name, "a span with a name that is long");
  EXPECT_EQ(event.chain_idx, 2);
  EXPECT_EQ(event.instruction_idx, 5u);
  EXPECT_EQ(event.end_time, PalSpy::kTimestamp);
  mem_prof_event_t allocation;
  std::memcpy(&allocation, result.prof_data + prof_mem_alloc_events_offset, sizeof(allocation));
  EXPECT_EQ(allocation.allocation_size, 64u);
  // A dump resets the profiler.
  EXECUTORCH_END_PROF(EXECUTORCH_BEGIN_PROF("later"));
  EXECUTORCH_DUMP_PROFILE_RESULTS(&result);
  EXPECT_EQ(result.num_blocks, 1u);
}

TEST(ProfilerTest, ASpanEndsInTheBlockInWhichItBegan) {
  PalSpy spy;
  InterceptWith intercept(spy);
  prof_result_t result;
  EXECUTORCH_DUMP_PROFILE_RESULTS(&result);  // of other tests
  const uint32_t outer = EXECUTORCH_BEGIN_PROF("outer");
  EXECUTORCH_PROFILE_CREATE_BLOCK("second");
  const uint32_t inner = EXECUTORCH_BEGIN_PROF("inner");
  EXECUTORCH_END_PROF(outer);
  EXECUTORCH_DUMP_PROFILE_RESULTS(&result);
  ASSERT_EQ(result.num_blocks, 2u);
  EXPECT_NE(outer, inner);
  prof_event_t events[2];
  for (size_t block = 0; block < 2; ++block) {
    std::memcpy(&events[block], result.prof_data + block * prof_buf_size + prof_events_offset, sizeof(prof_event_t));
  }
  EXPECT_EQ(events[0].end_time, PalSpy::kTimestamp);
  EXPECT_EQ(events[1].end_time, 0u) << "it has not ended";
}

// Programs decide how many spans and allocations there are, so a full table must not end the process.
TEST(ProfilerTest, WhatDoesNotFitIsLeftOut) {
  PalSpy spy;
  InterceptWith intercept(spy);
  for (int i = 0; i < MAX_PROFILE_EVENTS; ++i) {
    EXECUTORCH_END_PROF(EXECUTORCH_BEGIN_PROF("fits"));
  }
  EXPECT_EQ(spy.emit_log_message_call_count, 0u);
  const uint32_t left_out = EXECUTORCH_BEGIN_PROF("one too many");
  EXPECT_EQ(left_out, prof_not_recorded);
  EXECUTORCH_END_PROF(left_out);
  EXPECT_EQ(spy.emit_log_message_call_count, 1u);
  EXPECT_NE(spy.last_log_message_args.message.find("one too many"), std::string::npos);
  EXPECT_NE(spy.last_log_message_args.message.find("MAX_PROFILE_EVENTS above 1024"), std::string::npos);
  uint32_t id = 0;
  for (int i = 0; i <= MEM_PROFILE_MAX_ALLOCATORS; ++i) {
    EXPECT_EQ(id, i == 0 ? 0u : static_cast<uint32_t>(i - 1));
    id = EXECUTORCH_TRACK_ALLOCATOR("pool");
  }
  EXPECT_EQ(static_cast<int32_t>(id), -1);
  for (int i = 0; i <= MAX_MEM_PROFILE_EVENTS; ++i) {
    EXECUTORCH_TRACK_ALLOCATION(0, 8);
  }
  for (const char* name : {"second", "third"}) {
    EXECUTORCH_PROFILE_CREATE_BLOCK(name);
  }
  EXPECT_EQ(spy.emit_log_message_call_count, 1u);  // the log says it once
  prof_result_t result;
  EXECUTORCH_DUMP_PROFILE_RESULTS(&result);
  EXPECT_EQ(result.num_blocks, static_cast<uint32_t>(MAX_PROFILE_BLOCKS));
  prof_header_t header;
  std::memcpy(&header, result.prof_data, sizeof(header));
  EXPECT_EQ(header.prof_entries, static_cast<uint32_t>(MAX_PROFILE_EVENTS));
  EXPECT_EQ(header.allocator_entries, static_cast<uint32_t>(MEM_PROFILE_MAX_ALLOCATORS));
  EXPECT_EQ(header.mem_prof_entries, static_cast<uint32_t>(MAX_MEM_PROFILE_EVENTS));
  // A span that a dump has removed, and an unknown token.
  const uint32_t open = EXECUTORCH_BEGIN_PROF("open");
  EXECUTORCH_DUMP_PROFILE_RESULTS(&result);
  EXECUTORCH_END_PROF(open);
  EXECUTORCH_END_PROF(7);
  EXPECT_EQ(result.num_blocks, 1u);
}
