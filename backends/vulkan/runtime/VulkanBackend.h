// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file
 * Name and options of the backend that runs parts of a method on a GPU through Vulkan, in browsers through WebGPU,
 * which supports only fp16_storage and least_threads. Set options with runtime::set_option() before the first
 * program is loaded: all methods share one device.
 */
#pragma once

namespace executorch {
namespace backends {
namespace vulkan {

/// The name of the backend in programs.
constexpr char vulkan_backend_key[] = "VulkanBackend";

/// int: the number of the device in the order of Vulkan; -1, the default, for the fastest kind of device.
constexpr char device_option_key[] = "device";

/// text: the folder for the file of compiled pipelines, which makes later starts faster. "", the default, for none.
constexpr char cache_folder_option_key[] = "cache_folder";

/// bool: whether float16 tensors take 16 bits on the GPU, if the device supports this; true by default. False stores
/// them as float32, as on devices without support.
constexpr char fp16_storage_option_key[] = "fp16_storage";

/// bool: whether the processor writes to memory of the GPU where it can; true by default. False copies inputs and
/// results, as on GPUs with dedicated memory.
constexpr char mapped_memory_option_key[] = "mapped_memory";

/// int: how many threads kernels should have at least: those with fewer results share the sum of one among several
/// threads. 0, the default, chooses by the kind of device; 1 shares only sums too long for the driver's loops.
constexpr char least_threads_option_key[] = "least_threads";

/// int, for tests: by how many units in the last place divisions and roots of the device are changed, as if it rounded
/// badly; 0 by default, from -2 to 2. Results that depend on their exact value must stay the same.
constexpr char division_error_option_key[] = "division_error";

/// Read only, int: the number of devices.
constexpr char device_count_option_key[] = "device_count";

/// Read only, text: the first device with its limits and features, or why none is found. The others are "device_info_1"
/// and so on.
constexpr char device_info_option_key[] = "device_info";

/// Read only, int: the most GPU memory that was allocated at one time, in KiB; 0 before the device is open.
constexpr char peak_memory_option_key[] = "peak_memory_kib";

}  // namespace vulkan
}  // namespace backends
}  // namespace executorch
