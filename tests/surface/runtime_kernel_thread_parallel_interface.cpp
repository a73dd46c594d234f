// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/runtime/kernel/thread_parallel_interface.h>

#include "signatures.h"

namespace surface {

static_assert(is<int64_t (*)()>(&get_thread_num));
static_assert(is<void (*)(int64_t)>(&set_thread_num));
using ParallelFor = decltype(parallel_for(int64_t{}, int64_t{}, int64_t{}, make<void (*)(int64_t, int64_t)>()));
static_assert(std::is_same_v<ParallelFor, bool>);

}  // namespace surface
