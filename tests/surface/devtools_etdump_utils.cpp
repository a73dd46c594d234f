// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/devtools/etdump/utils.h>

#include <type_traits>

namespace surface {

using executorch::etdump::internal::align_pointer;

static_assert(std::is_same_v<decltype(&align_pointer), uint8_t* (*)(void*, size_t)>);

}  // namespace surface
