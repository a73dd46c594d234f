// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file
 * A libvulkan for tests: one device whose memory is the heap and whose kernels compute nothing. Copies are made and
 * time stamps written. It ends the process if it is called wrongly, for example if a recorded command uses a destroyed
 * buffer, or if a buffer is destroyed before a wait for its submission ended. Tests can make it return errors. The
 * library has the file name of the real one, so that a program that links it opens it instead.
 */
#pragma once

#define VK_NO_PROTOTYPES
#include <vulkan/vulkan.h>

#include <cstddef>
#include <cstdint>

namespace mock_vulkan {

/// The properties that the device reports.
struct Traits {
  bool is_processor = true;    ///< VK_PHYSICAL_DEVICE_TYPE_CPU, otherwise a discrete GPU
  bool unified_memory = true;  ///< false: the processor does not reach the memory of the GPU
  bool fp16_storage = true;
  bool timestamps = true;
};

/// The call that fails.
struct Failure {
  uint32_t call = 0;             ///< the first is 1; 0 for none. Counts the calls that may return `result`
  VkResult result = VK_SUCCESS;  ///< out of memory, or VK_ERROR_DEVICE_LOST, which lasts
  bool lasts = false;            ///< all later calls fail, too
};

/// Bytes of each heap of device memory.
constexpr uint64_t kHeapBytes = uint64_t{32} << 20;

/// Sets the device's properties. No instance may be open.
__attribute__((visibility("default"))) void prepare(const Traits& traits);
/// Sets which call fails, counted from now on.
__attribute__((visibility("default"))) void fail(const Failure& failure);
/// Calls since fail() that may return its result.
__attribute__((visibility("default"))) uint32_t num_calls();
/// Objects that are not destroyed.
__attribute__((visibility("default"))) size_t num_objects();

}  // namespace mock_vulkan
