// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/vulkan/functions.h"

#include <executorch/runtime/platform/log.h>

#if defined(_WIN32)
#include <windows.h>
#else
#include <dlfcn.h>
#endif

namespace executorch {
namespace backends {
namespace vulkan {
namespace gpu {

namespace {

// Never closed: drivers leave threads and destructors behind.
#if defined(_WIN32)
void* find_entry() {
  HMODULE library = LoadLibraryA("vulkan-1.dll");
  return library == nullptr ? nullptr : reinterpret_cast<void*>(GetProcAddress(library, "vkGetInstanceProcAddr"));
}
#else
#if defined(__APPLE__)
constexpr const char* kNames[] = {"libvulkan.dylib", "libvulkan.1.dylib", "libMoltenVK.dylib"};
#else
constexpr const char* kNames[] = {"libvulkan.so.1", "libvulkan.so"};
#endif
void* find_entry() {
  for (const char* name : kNames) {
    if (void* library = dlopen(name, RTLD_NOW | RTLD_LOCAL)) {
      return dlsym(library, "vkGetInstanceProcAddr");
    }
  }
  return nullptr;
}
#endif

}  // namespace

runtime::Error check(VkResult result, const char* what) {
  switch (result) {
    case VK_SUCCESS:
      return runtime::Error::Ok;
    case VK_ERROR_OUT_OF_HOST_MEMORY:
    case VK_ERROR_OUT_OF_DEVICE_MEMORY:
    case VK_ERROR_OUT_OF_POOL_MEMORY:
      ET_LOG(Error, "Vulkan: out of memory (%s)", what);
      return runtime::Error::MemoryAllocationFailed;
    case VK_ERROR_DEVICE_LOST:
      ET_LOG(Error, "Vulkan: the device was lost (%s); load the program again", what);
      return runtime::Error::Internal;
    default:
      ET_LOG(Error, "Vulkan: %s failed with %d", what, static_cast<int>(result));
      return runtime::Error::Internal;
  }
}

std::string Functions::open() {
  GetInstanceProcAddr = reinterpret_cast<PFN_vkGetInstanceProcAddr>(find_entry());
  if (GetInstanceProcAddr == nullptr) {
    return "there is no Vulkan library (libvulkan.so.1) on this machine; install a Vulkan driver";
  }
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
