// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/runtime/executor/separate_memory.h>

#include <algorithm>

#include <executorch/runtime/core/fixed_text.h>
#include <executorch/runtime/executor/program_check.h>
#include <executorch/schema/program_generated.h>

namespace executorch {
namespace runtime {
namespace internal {

namespace {

/// The most planned buffers that are compared with each other, because a file may name very many. Plans have a few.
constexpr uint32_t kMostBuffers = 64;

/// Region 0 is the rest of the method allocator, 1 the temporary allocator, the others are planned buffers.
constexpr uint32_t kFirstBuffer = 2;

/// Writes the name of a region for messages.
class RegionName final {
 public:
  explicit RegionName(uint32_t region) {
    FixedText text(text_, sizeof(text_));
    text.append(region == 0 ? "the method allocator" : region == 1 ? "the temporary allocator" : "planned buffer ");
    if (region >= kFirstBuffer) {
      text.append_number(region - kFirstBuffer);
    }
  }

  const char* text() const { return text_; }

 private:
  char text_[32];
};

bool is_on_cpu(const MemoryManager& memory, uint32_t buffer) {
  const auto devices = memory.planned_buffer_devices();
  return buffer >= devices.size() || devices[buffer].is_cpu();
}

Span<const uint8_t> region_of(const executorch_flatbuffer::ExecutionPlan& plan, const MemoryManager& memory,
                              uint32_t region) {
  if (region < kFirstBuffer) {
    const MemoryAllocator* const allocator = region == 0 ? memory.method_allocator() : memory.temp_allocator();
    if (allocator == nullptr || allocator->base_address() == nullptr) {
      return {};  // there is no memory to compare
    }
    // reset() frees what the temporary allocator has handed out.
    const size_t used = region == 0 ? allocator->used_size() : 0;
    return {allocator->base_address() + used, allocator->size() - used};
  }
  const uint32_t buffer = region - kFirstBuffer;
  const auto given = memory.planned_memory()->buffers()[buffer];
  const auto planned = static_cast<uint64_t>(plan.non_const_buffer_sizes()->Get(buffer + 1));
  const bool is_written = is_on_cpu(memory, buffer);
  return {given.data(), is_written ? static_cast<size_t>(std::min<uint64_t>(given.size(), planned)) : 0};
}

bool overlap(Span<const uint8_t> a, Span<const uint8_t> b) {
  const auto a_begin = reinterpret_cast<uintptr_t>(a.data());
  const auto b_begin = reinterpret_cast<uintptr_t>(b.data());
  return !a.empty() && !b.empty() && a_begin < b_begin + b.size() && b_begin < a_begin + a.size();
}

}  // namespace

Error check_separate_memory(const executorch_flatbuffer::ExecutionPlan& plan, const MemoryManager& memory) {
  const char* const method = plan.name()->c_str();
  ET_CHECK_OR_RETURN_ERROR(memory.method_allocator() != memory.temp_allocator(), InvalidArgument,
                           "Method '%s' was given one allocator for its own memory and for temporary memory, which is "
                           "reset after each instruction: give it two, or null for temporary memory",
                           method);
  const size_t given = memory.planned_memory() == nullptr ? 0 : memory.planned_memory()->buffers().size();
  const size_t planned = size_of(plan.non_const_buffer_sizes());
  for (size_t i = 0; i < given; ++i) {
    const auto buffer = memory.planned_memory()->buffers()[i];
    ET_CHECK_OR_RETURN_ERROR(buffer.data() != nullptr || buffer.empty(), InvalidArgument,
                             "Method '%s': planned buffer %zu of %zu bytes is null: give it memory", method, i,
                             buffer.size());
  }
  const size_t buffers = std::min({given, planned == 0 ? 0 : planned - 1, size_t{kMostBuffers}});
  for (uint32_t i = 1; i < kFirstBuffer + buffers; ++i) {
    for (uint32_t k = 0; k < i; ++k) {
      ET_CHECK_OR_RETURN_ERROR(!overlap(region_of(plan, memory, i), region_of(plan, memory, k)), InvalidArgument,
                               "Method '%s': %s and %s share memory: give each separate bytes", method,
                               RegionName(k).text(), RegionName(i).text());
    }
  }
  return Error::Ok;
}

}  // namespace internal
}  // namespace runtime
}  // namespace executorch
