// SPDX-License-Identifier: BSD-3-Clause
// A libvulkan with the extensions for tensors and data graphs. Each graph adds the floats of its first two bindings and
// its first constant into the third. A call can be made to fail. It ends the process if an object is destroyed or
// changed that a submission may still use. It takes memory from calloc(), whose failures the tests do not inject.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "arm_vulkan.h"

namespace executorch::backends::vgf::stand_in {

constexpr uint32_t kMostBindings = 8;
constexpr VkDeviceSize kHeapBytes = 1 << 20;

inline int living = 0;   ///< objects other than instances and devices
inline int devices = 0;  ///< open devices
inline int calls = 0;    ///< calls that returned a VkResult
inline int failing = 0;  ///< the number of the call that fails; 0 if none does
inline int last_failing = 0;
inline VkResult failure = VK_SUCCESS;
inline bool is_lost = false;
inline int submissions = 0;  ///< submissions that may still run

inline void require(bool holds, const char* rule) {
  if (!holds) {
    std::fprintf(stderr, "vulkan_stand_in: %s\n", rule);
    std::abort();
  }
}

inline VkResult outcome() {
  ++calls;
  return failing > 0 && calls >= failing && calls <= last_failing ? failure : VK_SUCCESS;
}

template <typename T>
T* make() {
  ++living;
  return static_cast<T*>(std::calloc(1, sizeof(T)));
}

template <typename Object, typename Handle>
VkResult make_if_it_succeeds(Handle* made) {
  const VkResult result = outcome();
  if (result == VK_SUCCESS) {
    *made = reinterpret_cast<Handle>(make<Object>());
  }
  return result;
}

template <typename Handle>
void VKAPI_CALL destroy(VkDevice, Handle handle, const VkAllocationCallbacks*) {
  require(submissions == 0, "an object is destroyed that a submission may still use");
  living -= handle != Handle{} ? 1 : 0;
  std::free(reinterpret_cast<void*>(handle));
}

struct Plain {
  int unused;
};
struct Memory {
  float* numbers;
};
struct Tensor {
  Memory* memory;
  size_t count;
};
struct View {
  Tensor* tensor;
};
struct Set {
  View* views[kMostBindings];
};
struct Pool {
  Set* set;
};
struct Pipeline {
  float constant;
};
struct Session {
  Pipeline* pipeline;
};
struct Commands {
  Set* set;
  Session* session;
};
struct CommandPool {
  Commands* commands;
};
struct Fence {
  bool is_signaled;
};

template <typename T, typename Handle>
T* object(Handle handle) {
  return reinterpret_cast<T*>(handle);
}

/// A function of Vulkan.
struct Named {
  const char* name;
  PFN_vkVoidFunction function;
};
#define STAND_IN(name)                                     \
  Named {                                                  \
    "vk" #name, reinterpret_cast<PFN_vkVoidFunction>(name) \
  }
#define STAND_IN_DESTROY(name, type)                                       \
  Named {                                                                  \
    "vkDestroy" #name, reinterpret_cast<PFN_vkVoidFunction>(destroy<type>) \
  }

/// The function of this name in a table; null if there is none.
template <size_t count>
PFN_vkVoidFunction find_in(const Named (&functions)[count], const char* name) {
  for (const Named& each : functions) {
    if (std::strcmp(each.name, name) == 0) {
      return each.function;
    }
  }
  return nullptr;
}

PFN_vkVoidFunction find_device_function(const char* name);
PFN_vkVoidFunction find_object_function(const char* name);
PFN_vkVoidFunction find_command_function(const char* name);

}  // namespace executorch::backends::vgf::stand_in
