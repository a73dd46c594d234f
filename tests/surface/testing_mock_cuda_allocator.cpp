// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/runtime/core/test/mock_cuda_allocator.h>

#include "signatures.h"

namespace surface {

static_assert(std::is_base_of_v<DeviceAllocator, runtime::testing::MockCudaAllocator>);

}  // namespace surface
