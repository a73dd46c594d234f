// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/runtime/platform/profiler.h>

#ifdef PROFILING_ENABLED

#include <cstring>

#include <executorch/runtime/platform/log.h>

namespace executorch {
namespace runtime {
namespace {

// Each block has the layout that the offsets of the header describe.
alignas(8) uint8_t prof_buffer[static_cast<size_t>(prof_buf_size) * MAX_PROFILE_BLOCKS];
uint32_t num_blocks = 0;
uint32_t current_block = 0;
prof_state_t profile_state = {-1, 0u};
bool full = false;  // events were left out since the last dump

uint8_t* block_start(uint32_t block) {
  return prof_buffer + static_cast<size_t>(block) * prof_buf_size;
}

prof_header_t& header(uint32_t block) {
  return *reinterpret_cast<prof_header_t*>(block_start(block));
}

prof_event_t* events(uint32_t block) {
  return reinterpret_cast<prof_event_t*>(block_start(block) + prof_events_offset);
}

prof_allocator_t* allocators(uint32_t block) {
  return reinterpret_cast<prof_allocator_t*>(block_start(block) + prof_mem_alloc_info_offset);
}

mem_prof_event_t* allocations(uint32_t block) {
  return reinterpret_cast<mem_prof_event_t*>(block_start(block) + prof_mem_alloc_events_offset);
}

void copy_name(char (&to)[PROF_NAME_MAX_LEN], const char* from) {
  std::strncpy(to, from, PROF_NAME_MAX_LEN - 1);
  to[PROF_NAME_MAX_LEN - 1] = '\0';
}

/// Logs the first record that does not fit. It is not fatal, because the program determines the number of records.
void leave_out(const char* name, const char* macro, int entries) {
  if (!full) {
    ET_LOG(Error, "The profile is full: %s and what follows is left out; build with %s above %d", name, macro, entries);
  }
  full = true;
}

}  // namespace

const prof_state_t& get_profile_tls_state() {
  return profile_state;
}

void set_profile_tls_state(const prof_state_t& state) {
  profile_state = state;
}

void profiler_init(void) {
  profiling_create_block("default");
}

void profiling_create_block(const char* name) {
  for (uint32_t block = 0; block < num_blocks; ++block) {
    if (std::strncmp(header(block).name, name, PROF_NAME_MAX_LEN - 1) == 0) {
      current_block = block;
      return;
    }
  }
  if (num_blocks == MAX_PROFILE_BLOCKS) {
    leave_out(name, "MAX_PROFILE_BLOCKS", MAX_PROFILE_BLOCKS);
    return;
  }
  current_block = num_blocks++;
  prof_header_t& h = header(current_block);
  h = prof_header_t{};
  copy_name(h.name, name);
  h.prof_ver = ET_PROF_VER;
  h.max_prof_entries = MAX_PROFILE_EVENTS;
  h.max_allocator_entries = MEM_PROFILE_MAX_ALLOCATORS;
  h.max_mem_prof_entries = MAX_MEM_PROFILE_EVENTS;
}

uint32_t begin_profiling(const char* name) {
  if (num_blocks == 0) {
    profiler_init();
  }
  prof_header_t& h = header(current_block);
  if (h.prof_entries == MAX_PROFILE_EVENTS) {
    leave_out(name, "MAX_PROFILE_EVENTS", MAX_PROFILE_EVENTS);
    return prof_not_recorded;
  }
  prof_event_t& event = events(current_block)[h.prof_entries];
  event.name_str = name;
  event.chain_idx = profile_state.chain_idx;
  event.instruction_idx = profile_state.instruction_idx;
  event.end_time = 0;
  event.start_time = pal_current_ticks();
  return current_block * MAX_PROFILE_EVENTS + h.prof_entries++;
}

void end_profiling(uint32_t token_id) {
  const uint32_t block = token_id / MAX_PROFILE_EVENTS;
  const uint32_t event = token_id % MAX_PROFILE_EVENTS;
  // False if a dump or a reset has removed the span, and no later one has its token.
  if (block < num_blocks && event < header(block).prof_entries) {
    events(block)[event].end_time = pal_current_ticks();
  }
}

void dump_profile_stats(prof_result_t* prof_result) {
  // Replaces pointers to names by their text. The spans are removed below, so that a second dump does not read text as
  // pointers.
  for (uint32_t block = 0; block < num_blocks; ++block) {
    for (uint32_t i = 0; i < header(block).prof_entries; ++i) {
      prof_event_t& event = events(block)[i];
      char name[PROF_NAME_MAX_LEN];
      copy_name(name, event.name_str);
      std::memcpy(event.name, name, sizeof(name));
    }
  }
  prof_result->prof_data = prof_buffer;
  prof_result->num_bytes = num_blocks * prof_buf_size;
  prof_result->num_blocks = num_blocks;
  num_blocks = 0;
  current_block = 0;
  full = false;
}

void reset_profile_stats() {
  for (uint32_t block = 0; block < num_blocks; ++block) {
    header(block).prof_entries = 0;
    header(block).allocator_entries = 0;
    header(block).mem_prof_entries = 0;
  }
  full = false;
}

uint32_t track_allocator(const char* name) {
  if (num_blocks == 0) {
    profiler_init();
  }
  prof_header_t& h = header(current_block);
  if (h.allocator_entries == MEM_PROFILE_MAX_ALLOCATORS) {
    leave_out(name, "MEM_PROFILE_MAX_ALLOCATORS", MEM_PROFILE_MAX_ALLOCATORS);
    return prof_not_recorded;
  }
  prof_allocator_t& allocator = allocators(current_block)[h.allocator_entries];
  copy_name(allocator.name, name);
  allocator.allocator_id = h.allocator_entries;
  return h.allocator_entries++;
}

void track_allocation(int32_t id, uint32_t size) {
  if (id == -1) {
    return;
  }
  if (num_blocks == 0) {
    profiler_init();
  }
  prof_header_t& h = header(current_block);
  if (h.mem_prof_entries == MAX_MEM_PROFILE_EVENTS) {
    leave_out("an allocation", "MAX_MEM_PROFILE_EVENTS", MAX_MEM_PROFILE_EVENTS);
    return;
  }
  allocations(current_block)[h.mem_prof_entries++] = {static_cast<uint32_t>(id), size};
}

}  // namespace runtime
}  // namespace executorch

#endif  // PROFILING_ENABLED
