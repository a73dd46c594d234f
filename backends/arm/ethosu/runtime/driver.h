// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file
 * The functions of Arm's driver for the Ethos-U that the delegate calls, declared here so that it builds without the
 * driver's headers. Firmware links Arm's driver; desktops and tests link the model of the NPU (../model/driver.cpp).
 */
#pragma once

#include <cstddef>
#include <cstdint>

// Firmware can be linked without a driver. The delegate then reports that the driver is missing.
#if defined(__ELF__)
#define EXECUTORCH_ETHOS_U_OPTIONAL __attribute__((weak))
#else
#define EXECUTORCH_ETHOS_U_OPTIONAL
#endif

extern "C" {

struct ethosu_driver;

/// Waits for an NPU. Null if none is registered.
EXECUTORCH_ETHOS_U_OPTIONAL ethosu_driver* ethosu_reserve_driver(void);
EXECUTORCH_ETHOS_U_OPTIONAL void ethosu_release_driver(ethosu_driver* driver);
/// Runs a command stream on regions of memory, the addresses of which are aligned to 16 bytes. Returns 0, or another
/// number after an error, which the driver logs.
EXECUTORCH_ETHOS_U_OPTIONAL int ethosu_invoke_v3(ethosu_driver* driver, const void* custom_data_ptr,
                                                 int custom_data_size, uint64_t* const base_addr,
                                                 const size_t* base_addr_size, int num_base_addr, void* user_arg);

/// Memory near the NPU for the memory modes Dedicated_Sram: region 2. Null, unless the application defines both.
extern unsigned char* ethosu_fast_scratch;
extern size_t ethosu_fast_scratch_size;

/// The delegate passes it as `user_arg` to a driver that reports its commands.
struct executorch_ethos_u_observer {
  /// Called after each command that computes or copies, in the order in which they run. `name` is its kind.
  void (*after_command)(executorch_ethos_u_observer* observer, const char* name);
};

/// The description of a driver. Arm's driver does not define it; the model of the NPU does. An application with Arm's
/// driver may define it, too.
struct executorch_ethos_u_driver_description {
  /// Whether the driver has its own memory for region 2.
  bool has_fast_scratch;
  /// The `user_arg` of ethosu_invoke_v3 is null or an observer.
  bool reports_commands;
  /// Whether it runs programs for an Ethos-U55, 65 or 85 with this number of products per cycle. Null if it runs all of
  /// them.
  bool (*runs)(uint32_t npu, uint32_t macs);
  /// What the driver runs, for messages, such as "an Ethos-U55-128". Null if `runs` is null.
  const char* what_runs;
};
extern EXECUTORCH_ETHOS_U_OPTIONAL const executorch_ethos_u_driver_description executorch_ethos_u_driver;

}  // extern "C"
