// SPDX-License-Identifier: BSD-3-Clause
// The device of this system: WebGPU's in WebAssembly, Vulkan's elsewhere.
#pragma once

#ifdef __EMSCRIPTEN__
#include "gpu/webgpu/device.h"
#else
#include "gpu/vulkan/device.h"
#endif

namespace executorch {
namespace backends {
namespace vulkan {
namespace gpu {

#ifdef __EMSCRIPTEN__
using SystemDevice = WebGpuDevice;
#else
using SystemDevice = VulkanDevice;
#endif

}  // namespace gpu
}  // namespace vulkan
}  // namespace backends
}  // namespace executorch
