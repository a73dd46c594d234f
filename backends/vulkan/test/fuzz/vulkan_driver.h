// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "program_driver.h"

namespace executorch {
namespace fuzz {

/**
 * Loads the payload of a delegate on the device of mock_vulkan and executes it with the largest shapes, with smaller
 * ones and with the largest again.
 *
 * The first four bytes of a payload, which readers skip, are decisions: which call of Vulkan fails, with which error,
 * what the device can do and what the arguments are; see vulkan_driver.cpp. All zero is a device on which nothing
 * fails.
 */
Outcome run_vulkan_payload(const uint8_t* data, size_t size);

/// Runs a payload once for each of its calls of Vulkan and each error, and lets that call fail. Afterwards the payload
/// must run: ends the process if an execution without a failure gives an error. Returns the number of calls.
size_t fail_each_call(const std::vector<uint8_t>& payload);

/// Changes of graphs, for libFuzzer: other operators, arguments, values and sizes in a flatbuffer that is sound.
size_t mutate_vulkan_graph(uint8_t* data, size_t size, size_t max_size, unsigned int seed);

}  // namespace fuzz
}  // namespace executorch
