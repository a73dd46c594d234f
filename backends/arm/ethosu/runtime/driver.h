// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file
 * The functions of Arm's driver for the Ethos-U that the delegate calls, declared here so that it builds without the
 * driver's headers. Firmware links Arm's driver; desktops and tests link the model of the NPU (../model/driver.cpp).
 */
#pragma once

#include <cstddef>
#include <cstdint>

extern "C" {

struct ethosu_driver;

/// Waits for an NPU. Null if none is registered.
ethosu_driver* ethosu_reserve_driver(void);
void ethosu_release_driver(ethosu_driver* driver);
/// Runs a command stream on regions of memory, the addresses of which are aligned to 16 bytes. Returns 0, or another
/// number after an error, which the driver logs.
int ethosu_invoke_v3(ethosu_driver* driver, const void* custom_data_ptr, int custom_data_size,
                     uint64_t* const base_addr, const size_t* base_addr_size, int num_base_addr, void* user_arg);

/// Memory near the NPU for the memory modes Dedicated_Sram: region 2. Applications that have some define both.
extern __attribute__((weak)) unsigned char* ethosu_fast_scratch;
extern __attribute__((weak)) size_t ethosu_fast_scratch_size;

}  // extern "C"
