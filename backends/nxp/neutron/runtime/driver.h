// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file
 * The functions of NXP's Neutron driver that the delegate calls. Applications link the driver (libNeutronDriver.a and
 * the firmware of the MCUXpresso SDK) and call neutronInit() before they load a program. None of NXP's headers is
 * included: these are our own declarations, after backends/nxp/runtime/NeutronDriver.h of ExecuTorch (BSD).
 */
#pragma once

#include <cstddef>
#include <cstdint>

extern "C" {

typedef int32_t NeutronError;  ///< 0 is success.
typedef void* NeutronModelHandle;

/// All addresses are multiples of 16. They are read until the model is unprepared.
struct NeutronModelConfig {
  const void* microcode;
  const void* weights;
  const void* kernels;
  uint32_t timeoutSeconds;
};
static_assert(sizeof(void*) != 8 ||
                  (sizeof(NeutronModelConfig) == 32 && offsetof(NeutronModelConfig, timeoutSeconds) == 24),
              "the layout of the interface");

struct NeutronDataConfig {
  const void** inputs;
  void** outputs;  ///< then memory for intermediate results, for a profile and for debugging
  void* scratch;
  void* scratchWeights;  ///< memory for weights that are fetched from flash memory
};
static_assert(sizeof(NeutronDataConfig) == 4 * sizeof(void*), "the layout of the interface");

struct NeutronConfig {
  void (*copy)(void* to, void* from, uint32_t size, uint32_t channel);
  void (*wait)(uint32_t channel);
};

struct NeutronSdkVersion {
  uint32_t major;
  uint32_t minor;
  uint32_t patch;
  const char* hashString;
  uint32_t hashUint32;
};

// Weak, so that programs for other backends run in applications without the driver.
__attribute__((weak)) NeutronError neutronModelPrepare(const NeutronModelConfig* config, NeutronModelHandle* handle);
__attribute__((weak)) NeutronError neutronModelUnprepare(NeutronModelHandle handle);
__attribute__((weak)) NeutronError neutronRunBlocking(NeutronModelHandle handle, const NeutronDataConfig* config);
__attribute__((weak)) NeutronError neutronSetConfig(NeutronConfig* config);
__attribute__((weak)) NeutronSdkVersion neutronGetSdkVersion();

}  // extern "C"
