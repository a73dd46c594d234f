// SPDX-License-Identifier: BSD-3-Clause
// The functions that the library exports: the loader's entry, and what tests call (stand_in.h).
#include "stand_in.h"

using namespace executorch::backends::vgf::stand_in;

namespace {

/// A function that the Vulkan backend's loader looks for, but this delegate does not call.
void VKAPI_CALL unused() {
  require(false, "a function is called that the stand-in does not have");
}

PFN_vkVoidFunction find(const char* name) {
  for (const auto find_one : {find_device_function, find_object_function, find_command_function}) {
    if (const PFN_vkVoidFunction found = find_one(name)) {
      return found;
    }
  }
  return unused;
}

PFN_vkVoidFunction VKAPI_CALL GetDeviceProcAddr(VkDevice, const char* name) {
  return find(name);
}

}  // namespace

#define STAND_IN_EXPORT extern "C" __attribute__((visibility("default")))

STAND_IN_EXPORT PFN_vkVoidFunction vkGetInstanceProcAddr(VkInstance, const char* name) {
  return std::strcmp(name, "vkGetDeviceProcAddr") == 0 ? reinterpret_cast<PFN_vkVoidFunction>(GetDeviceProcAddr)
                                                       : find(name);
}

/// The call that fails from now on, from 1; 0: none.
STAND_IN_EXPORT void stand_in_fail_at(int call) {
  calls = 0;
  failing = last_failing = call;
  failure = VK_ERROR_OUT_OF_HOST_MEMORY;
}
/// The same for `count` calls in sequence, with a VkResult.
STAND_IN_EXPORT void stand_in_fail(int call, int count, int result) {
  stand_in_fail_at(call);
  last_failing = call + count - 1;
  failure = static_cast<VkResult>(result);
}
STAND_IN_EXPORT int stand_in_calls() {
  return calls;
}
STAND_IN_EXPORT int stand_in_living() {
  return living;
}
STAND_IN_EXPORT int stand_in_devices() {
  return devices;
}
