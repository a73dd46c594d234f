// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/runtime/executor/platform_memory_allocator.h>

#include "signatures.h"
