// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/runtime/core/exec_aten/util/dim_order_util.h>

#include "signatures.h"

namespace surface {

static_assert(is<bool (*)(const uint8_t*, size_t)>(&is_contiguous_dim_order<uint8_t>));
static_assert(is<bool (*)(const uint8_t*, size_t)>(&is_channels_last_dim_order<uint8_t>));
static_assert(is<void (*)(const int32_t*, const uint8_t*, size_t, int32_t*)>(
    &dim_order_to_stride_nocheck<int32_t, uint8_t, int32_t>));
static_assert(
    is<Error (*)(const int32_t*, const uint8_t*, size_t, int32_t*)>(&dim_order_to_stride<int32_t, uint8_t, int32_t>));
static_assert(is<Error (*)(const int32_t*, size_t, uint8_t*)>(&stride_to_dim_order<uint8_t, int32_t>));

}  // namespace surface
