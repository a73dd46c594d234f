// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>

#include <executorch/runtime/core/error.h>
#include <executorch/runtime/core/memory_allocator.h>
#include <executorch/runtime/core/portable_type/device.h>
#include <executorch/runtime/core/result.h>
#include <executorch/runtime/core/span.h>

namespace executorch {
namespace runtime {

/**
 * The planned buffers of a method, for example one in SRAM and one in DRAM. Memory planning gave every tensor a buffer
 * and an offset in it. Owns nothing: buffers and the arrays that describe them outlive it.
 */
class HierarchicalAllocator final {
 public:
  /// `buffers[i]` backs memory id i of get_offset_address().
  explicit HierarchicalAllocator(Span<Span<uint8_t>> buffers) : buffers_(buffers) {}

  /**
   * @param buffers As above.
   * @param planned_buffer_devices Device of each buffer; as many as buffers, or none when all are on the CPU. With
   *     another number there are no buffers: get_offset_address() fails.
   */
  HierarchicalAllocator(Span<Span<uint8_t>> buffers, Span<const etensor::Device> planned_buffer_devices);

  /// Uses the buffers of up to 16 allocators; if there are more, it uses none. Prefer the constructors that take
  /// spans.
  ET_DEPRECATED HierarchicalAllocator(uint32_t n_allocators, MemoryAllocator* allocators);

  HierarchicalAllocator(const HierarchicalAllocator&) = delete;
  HierarchicalAllocator& operator=(const HierarchicalAllocator&) = delete;
  HierarchicalAllocator(HierarchicalAllocator&&) = delete;
  HierarchicalAllocator& operator=(HierarchicalAllocator&&) = delete;

  /**
   * Address of `size_bytes` bytes at `offset_bytes` in buffer `memory_id` (counted from 0).
   *
   * @retval Error::InvalidArgument there is no such buffer.
   * @retval Error::MemoryAllocationFailed the range is not inside the buffer.
   */
  ET_NODISCARD Result<void*> get_offset_address(uint32_t memory_id, size_t offset_bytes, size_t size_bytes);

  /// The buffers, by memory id.
  Span<const Span<uint8_t>> buffers() const { return {buffers_.data(), buffers_.size()}; }

  /// Device of each buffer; empty when all are on the CPU.
  Span<const etensor::Device> planned_buffer_devices() const { return devices_; }

  /// Whether all buffers are known to contain zeros, as new pages do. Loading a method then does not write the mutable
  /// buffers whose initial value is zero. False by default.
  bool is_zeroed() const { return zeroed_; }
  void set_zeroed(bool zeroed) { zeroed_ = zeroed; }

  /// Whether loading a method leaves a buffer unchanged, because it holds state that other methods of the program use
  /// as well. By default false for all buffers. See Program::load_shared_state().
  bool is_kept(uint32_t memory_id) const { return kept_ == memory_id; }
  void set_kept(uint32_t memory_id) { kept_ = memory_id; }

 private:
  static constexpr size_t kMaxAllocators = 16;
  Span<uint8_t> allocator_buffers_[kMaxAllocators];
  Span<Span<uint8_t>> buffers_;
  Span<const etensor::Device> devices_;
  bool zeroed_ = false;
  uint32_t kept_ = UINT32_MAX;
};

}  // namespace runtime
}  // namespace executorch

namespace torch {
namespace executor {
using ::executorch::runtime::HierarchicalAllocator;
}  // namespace executor
}  // namespace torch
