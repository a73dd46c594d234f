// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/runtime/executor/test/managed_memory_manager.h>

#include "signatures.h"

namespace surface {

using Manager = ::torch::executor::testing::ManagedMemoryManager;
static_assert(std::is_constructible_v<Manager, size_t, size_t, MemoryAllocator*>);
static_assert(std::is_constructible_v<Manager, size_t, size_t>);
static_assert(is<MemoryManager& (Manager::*)()>(&Manager::get));

}  // namespace surface
