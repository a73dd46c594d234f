// SPDX-License-Identifier: BSD-3-Clause
// The table of shaders, which codegen/build_shaders.py generates, sorted by name.
#pragma once

#include <cstddef>

#include "gpu/gpu.h"

namespace executorch {
namespace backends {
namespace vulkan {

extern const gpu::Shader kShaders[];
extern const size_t kShaderCount;

}  // namespace vulkan
}  // namespace backends
}  // namespace executorch
