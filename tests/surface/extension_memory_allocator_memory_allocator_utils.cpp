// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/extension/memory_allocator/memory_allocator_utils.h>

#include "signatures.h"

namespace surface {

static_assert(is<Result<size_t> (*)(size_t, size_t)>(&utils::get_aligned_size));

}  // namespace surface
