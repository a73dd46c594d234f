// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file
 * The legacy profiler: named time spans and allocations in fixed static blocks. Its macros do nothing unless the build
 * defines PROFILING_ENABLED. New code uses EventTracer.
 */
#pragma once

#include <cstddef>
#include <cstdint>

#include <executorch/runtime/platform/platform.h>
#include <executorch/runtime/platform/types.h>

#ifndef ET_PROF_VER
#define ET_PROF_VER 0x00000001
#endif
#ifndef MAX_PROFILE_EVENTS
#define MAX_PROFILE_EVENTS 1024
#endif
#ifndef MAX_MEM_PROFILE_EVENTS
#define MAX_MEM_PROFILE_EVENTS 1024
#endif
#ifndef MEM_PROFILE_MAX_ALLOCATORS
#define MEM_PROFILE_MAX_ALLOCATORS 32
#endif
#ifndef MAX_PROFILE_BLOCKS
#define MAX_PROFILE_BLOCKS 2
#endif
#define PROF_NAME_MAX_LEN 32

namespace executorch {
namespace runtime {

/// One time span. While it runs `name_str` points to its name; a dump holds the text in `name`.
typedef struct alignas(8) {
  union {
    const char* name_str;
    char name[PROF_NAME_MAX_LEN];
  };
  int32_t chain_idx;
  uint32_t instruction_idx;
  uint64_t start_time;
  uint64_t end_time;
} prof_event_t;

/// One allocation in bytes.
typedef struct alignas(8) {
  uint32_t allocator_id;
  uint32_t allocation_size;
} mem_prof_event_t;

typedef struct alignas(8) {
  char name[PROF_NAME_MAX_LEN];
  uint64_t allocator_id;
} prof_allocator_t;

/// All blocks, contiguous. Owned by the profiler.
typedef struct alignas(8) {
  uint8_t* prof_data;
  uint32_t num_bytes;
  uint32_t num_blocks;
} prof_result_t;

/// Start of a block: how many of each record follow and how many of them are used.
typedef struct alignas(8) {
  char name[32];
  uint32_t prof_ver;
  uint32_t max_prof_entries;
  uint32_t prof_entries;
  uint32_t max_allocator_entries;
  uint32_t allocator_entries;
  uint32_t max_mem_prof_entries;
  uint32_t mem_prof_entries;
} prof_header_t;

/// Bytes of a block: header, events, allocators, allocations.
constexpr uint32_t prof_buf_size = sizeof(prof_header_t) + sizeof(prof_event_t) * MAX_PROFILE_EVENTS +
                                   sizeof(mem_prof_event_t) * MAX_MEM_PROFILE_EVENTS +
                                   sizeof(prof_allocator_t) * MEM_PROFILE_MAX_ALLOCATORS;
constexpr size_t prof_header_offset = 0;
constexpr size_t prof_events_offset = sizeof(prof_header_t);
constexpr size_t prof_mem_alloc_info_offset = prof_events_offset + sizeof(prof_event_t) * MAX_PROFILE_EVENTS;
constexpr size_t prof_mem_alloc_events_offset =
    prof_mem_alloc_info_offset + sizeof(prof_allocator_t) * MEM_PROFILE_MAX_ALLOCATORS;

/// Returned when a table is full. As an allocator's id, it is -1.
constexpr uint32_t prof_not_recorded = 0xFFFFFFFFu;

/// Starts the first block. Records that do not fit are left out, which is logged once for each dump.
void profiler_init(void);
/// Starts a span; `name` must live until the dump. Returns a token for end_profiling(), or prof_not_recorded.
uint32_t begin_profiling(const char* name);
/// Ends a span, also if another block has been started since. Does nothing if it did not fit, or was dumped and no
/// later span has its token.
void end_profiling(uint32_t token_id);
void dump_profile_stats(prof_result_t* prof_result);
void reset_profile_stats();
/// Ignores id -1, the identity of an allocator that is not tracked.
void track_allocation(int32_t id, uint32_t size);
uint32_t track_allocator(const char* name);
/// Starts a block, or continues the block of that name.
void profiling_create_block(const char* name);

/// A span as long as the object.
class ExecutorchProfiler {
 public:
  explicit ExecutorchProfiler(const char* name) : prof_tok(begin_profiling(name)) {}
  ~ExecutorchProfiler() { end_profiling(prof_tok); }

 private:
  uint32_t prof_tok;
};

/// Where in a method the current spans belong.
typedef struct {
  int32_t chain_idx;
  uint32_t instruction_idx;
} prof_state_t;

/// The state, which all threads share.
const prof_state_t& get_profile_tls_state();
void set_profile_tls_state(const prof_state_t& state);

/// Sets the state for as long as the object lives.
class ExecutorchProfilerInstructionScope {
 public:
  explicit ExecutorchProfilerInstructionScope(const prof_state_t& state) : old_state_(get_profile_tls_state()) {
    set_profile_tls_state(state);
  }
  ~ExecutorchProfilerInstructionScope() { set_profile_tls_state(old_state_); }
  ExecutorchProfilerInstructionScope(const ExecutorchProfilerInstructionScope&) = delete;
  ExecutorchProfilerInstructionScope& operator=(const ExecutorchProfilerInstructionScope&) = delete;

 private:
  prof_state_t old_state_;
};

}  // namespace runtime
}  // namespace executorch

#define EXECUTORCH_SCOPE_PROF_CONCAT_IMPL(a, b) a##b
#define EXECUTORCH_SCOPE_PROF_CONCAT(a, b) EXECUTORCH_SCOPE_PROF_CONCAT_IMPL(a, b)

#ifdef PROFILING_ENABLED
#define EXECUTORCH_PROFILE_CREATE_BLOCK(name) ::executorch::runtime::profiling_create_block(name)
#define EXECUTORCH_BEGIN_PROF(name) ::executorch::runtime::begin_profiling(name)
#define EXECUTORCH_END_PROF(token_id) ::executorch::runtime::end_profiling(token_id)
#define EXECUTORCH_SCOPE_PROF(name) \
  ::executorch::runtime::ExecutorchProfiler EXECUTORCH_SCOPE_PROF_CONCAT(profiler, __LINE__)(name)
#define EXECUTORCH_PROFILE_INSTRUCTION_SCOPE(chain_idx, instruction_idx)                  \
  ::executorch::runtime::ExecutorchProfilerInstructionScope EXECUTORCH_SCOPE_PROF_CONCAT( \
      instruction_scope, __LINE__)({chain_idx, instruction_idx})
#define EXECUTORCH_DUMP_PROFILE_RESULTS(prof_result) ::executorch::runtime::dump_profile_stats(prof_result)
#define EXECUTORCH_RESET_PROFILE_RESULTS() ::executorch::runtime::reset_profile_stats()
#define EXECUTORCH_TRACK_ALLOCATOR(name) ::executorch::runtime::track_allocator(name)
#define EXECUTORCH_TRACK_ALLOCATION(id, size) ::executorch::runtime::track_allocation(id, size)
#else
#define EXECUTORCH_PROFILE_CREATE_BLOCK(name) (static_cast<void>(name))
#define EXECUTORCH_BEGIN_PROF(name) (static_cast<void>(name), 0u)
#define EXECUTORCH_END_PROF(token_id) (static_cast<void>(token_id))
#define EXECUTORCH_SCOPE_PROF(name)
#define EXECUTORCH_PROFILE_INSTRUCTION_SCOPE(chain_idx, instruction_idx)
#define EXECUTORCH_DUMP_PROFILE_RESULTS(prof_result_test) \
  (*(prof_result_test) = ::executorch::runtime::prof_result_t{nullptr, 0, 0})
#define EXECUTORCH_RESET_PROFILE_RESULTS() (static_cast<void>(0))
#define EXECUTORCH_TRACK_ALLOCATOR(name) (static_cast<void>(name), -1)
#define EXECUTORCH_TRACK_ALLOCATION(id, size) (static_cast<void>(id), static_cast<void>(size))
#endif

namespace torch {
namespace executor {
using ::executorch::runtime::begin_profiling;
using ::executorch::runtime::dump_profile_stats;
using ::executorch::runtime::end_profiling;
using ::executorch::runtime::ExecutorchProfiler;
using ::executorch::runtime::mem_prof_event_t;
using ::executorch::runtime::prof_allocator_t;
using ::executorch::runtime::prof_event_t;
using ::executorch::runtime::prof_header_t;
using ::executorch::runtime::prof_result_t;
using ::executorch::runtime::profiler_init;
using ::executorch::runtime::profiling_create_block;
using ::executorch::runtime::reset_profile_stats;
using ::executorch::runtime::track_allocation;
using ::executorch::runtime::track_allocator;
}  // namespace executor
}  // namespace torch
