// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/vulkan/functions.h"

#include <iterator>

#include <executorch/extension/delegate/shared_library.h>
#include <executorch/runtime/platform/log.h>

namespace executorch {
namespace backends {
namespace vulkan {
namespace gpu {

namespace {

#if defined(_WIN32)
constexpr const char* kNames[] = {"vulkan-1.dll"};
#elif defined(__APPLE__)
constexpr const char* kNames[] = {"libvulkan.dylib", "libvulkan.1.dylib", "libMoltenVK.dylib"};
#else
constexpr const char* kNames[] = {"libvulkan.so.1", "libvulkan.so"};
#endif

}  // namespace

runtime::Error error_of(VkResult result) {
  switch (result) {
    case VK_SUCCESS:
      return runtime::Error::Ok;
    case VK_ERROR_OUT_OF_HOST_MEMORY:
    case VK_ERROR_OUT_OF_DEVICE_MEMORY:
    case VK_ERROR_OUT_OF_POOL_MEMORY:
      return runtime::Error::MemoryAllocationFailed;
    default:
      return runtime::Error::Internal;
  }
}

runtime::Error check(VkResult result, const char* what) {
  const runtime::Error error = error_of(result);
  if (error == runtime::Error::MemoryAllocationFailed) {
    ET_LOG(Error, "Vulkan: out of memory (%s)", what);
  } else if (result == VK_ERROR_DEVICE_LOST) {
    ET_LOG(Error, "Vulkan: the device was lost (%s); load the program again", what);
  } else if (error != runtime::Error::Ok) {
    ET_LOG(Error, "Vulkan: %s failed with %d", what, static_cast<int>(result));
  }
  return error;
}

std::string Functions::open() {
  auto library = extension::delegate::SharedLibrary::open(
      {"Vulkan", {std::begin(kNames), std::end(kNames)}, nullptr, "install a Vulkan driver"},
      {{"vkGetInstanceProcAddr", &GetInstanceProcAddr}});
  if (library.error() != runtime::Error::Ok) {
    return library.problem();
  }
  library.keep();  // drivers leave threads and destructors behind
  CreateInstance = reinterpret_cast<PFN_vkCreateInstance>(GetInstanceProcAddr(nullptr, "vkCreateInstance"));
  EnumerateInstanceVersion =
      reinterpret_cast<PFN_vkEnumerateInstanceVersion>(GetInstanceProcAddr(nullptr, "vkEnumerateInstanceVersion"));
  if (CreateInstance == nullptr || EnumerateInstanceVersion == nullptr) {
    return "the Vulkan library has version 1.0, expected 1.1 or newer; update it";
  }
  return "";
}

bool Functions::load_instance(VkInstance instance) {
  bool found = true;
#define VULKAN_LOAD(name)                                                           \
  name = reinterpret_cast<PFN_vk##name>(GetInstanceProcAddr(instance, "vk" #name)); \
  found = found && name != nullptr;
  VULKAN_INSTANCE_FUNCTIONS(VULKAN_LOAD)
#undef VULKAN_LOAD
  return found;
}

bool Functions::load_device(VkDevice device) {
  bool found = true;
#define VULKAN_LOAD(name)                                                       \
  name = reinterpret_cast<PFN_vk##name>(GetDeviceProcAddr(device, "vk" #name)); \
  found = found && name != nullptr;
  VULKAN_DEVICE_FUNCTIONS(VULKAN_LOAD)
#undef VULKAN_LOAD
  return found;
}

}  // namespace gpu
}  // namespace vulkan
}  // namespace backends
}  // namespace executorch
