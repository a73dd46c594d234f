// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/runtime/platform/profiler.h>

#include "signatures.h"

#if !defined(ET_PROF_VER) || !defined(MAX_PROFILE_EVENTS) || !defined(MAX_MEM_PROFILE_EVENTS) ||                     \
    !defined(MEM_PROFILE_MAX_ALLOCATORS) || !defined(MAX_PROFILE_BLOCKS) || !defined(PROF_NAME_MAX_LEN) ||           \
    !defined(EXECUTORCH_PROFILE_CREATE_BLOCK) || !defined(EXECUTORCH_BEGIN_PROF) || !defined(EXECUTORCH_END_PROF) || \
    !defined(EXECUTORCH_SCOPE_PROF_CONCAT_IMPL) || !defined(EXECUTORCH_SCOPE_PROF_CONCAT) ||                         \
    !defined(EXECUTORCH_SCOPE_PROF) || !defined(EXECUTORCH_PROFILE_INSTRUCTION_SCOPE) ||                             \
    !defined(EXECUTORCH_DUMP_PROFILE_RESULTS) || !defined(EXECUTORCH_RESET_PROFILE_RESULTS) ||                       \
    !defined(EXECUTORCH_TRACK_ALLOCATOR) || !defined(EXECUTORCH_TRACK_ALLOCATION)
#error "A macro of this header is missing."
#endif

namespace surface {

static_assert(std::is_same_v<decltype(prof_event_t::chain_idx), int32_t>);
static_assert(std::is_same_v<decltype(prof_event_t::instruction_idx), uint32_t>);
static_assert(std::is_same_v<decltype(prof_event_t::start_time), uint64_t>);
static_assert(std::is_same_v<decltype(prof_event_t::end_time), uint64_t>);
static_assert(std::is_same_v<decltype(mem_prof_event_t::allocator_id), uint32_t>);
static_assert(std::is_same_v<decltype(mem_prof_event_t::allocation_size), uint32_t>);
static_assert(std::is_same_v<decltype(prof_allocator_t::name), char[PROF_NAME_MAX_LEN]>);
static_assert(std::is_same_v<decltype(prof_allocator_t::allocator_id), uint64_t>);
static_assert(std::is_same_v<decltype(prof_result_t::prof_data), uint8_t*>);
static_assert(std::is_same_v<decltype(prof_result_t::num_bytes), uint32_t>);
static_assert(std::is_same_v<decltype(prof_result_t::num_blocks), uint32_t>);
static_assert(std::is_same_v<decltype(prof_header_t::name), char[32]>);
static_assert(std::is_same_v<decltype(prof_header_t::prof_ver), uint32_t>);
static_assert(std::is_same_v<decltype(prof_header_t::max_prof_entries), uint32_t>);
static_assert(std::is_same_v<decltype(prof_header_t::prof_entries), uint32_t>);
static_assert(std::is_same_v<decltype(prof_header_t::max_allocator_entries), uint32_t>);
static_assert(std::is_same_v<decltype(prof_header_t::allocator_entries), uint32_t>);
static_assert(std::is_same_v<decltype(prof_header_t::max_mem_prof_entries), uint32_t>);
static_assert(std::is_same_v<decltype(prof_header_t::mem_prof_entries), uint32_t>);
static_assert(is<void (*)()>(&profiler_init));
static_assert(is<uint32_t (*)(const char*)>(&begin_profiling));
static_assert(is<void (*)(uint32_t)>(&end_profiling));
static_assert(is<void (*)(prof_result_t*)>(&dump_profile_stats));
static_assert(is<void (*)()>(&reset_profile_stats));
static_assert(is<void (*)(int32_t, uint32_t)>(&track_allocation));
static_assert(is<uint32_t (*)(const char*)>(&track_allocator));
static_assert(is<void (*)(const char*)>(&profiling_create_block));
static_assert(std::is_constructible_v<ExecutorchProfiler, const char*>);
static_assert(std::is_destructible_v<ExecutorchProfiler>);
static_assert(std::is_same_v<decltype(prof_state_t::chain_idx), int32_t>);
static_assert(std::is_same_v<decltype(prof_state_t::instruction_idx), uint32_t>);
static_assert(is<const prof_state_t& (*)()>(&get_profile_tls_state));
static_assert(is<void (*)(const prof_state_t&)>(&set_profile_tls_state));
static_assert(std::is_constructible_v<ExecutorchProfilerInstructionScope, const prof_state_t&>);
static_assert(std::is_destructible_v<ExecutorchProfilerInstructionScope>);
static_assert(std::is_same_v<decltype(prof_event_t::name_str), const char*>);
static_assert(std::is_same_v<decltype(prof_event_t::name), char[PROF_NAME_MAX_LEN]>);
static_assert(alignof(prof_event_t) == 8 && alignof(mem_prof_event_t) == 8 && alignof(prof_allocator_t) == 8);
static_assert(alignof(prof_result_t) == 8 && alignof(prof_header_t) == 8);
static_assert(prof_buf_size > 0 && prof_header_offset == 0 && prof_events_offset == sizeof(prof_header_t));
static_assert(prof_mem_alloc_info_offset == prof_events_offset + sizeof(prof_event_t) * MAX_PROFILE_EVENTS);
static_assert(prof_mem_alloc_events_offset ==
              prof_mem_alloc_info_offset + sizeof(prof_allocator_t) * MEM_PROFILE_MAX_ALLOCATORS);

}  // namespace surface
