// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/extension/threadpool/threadpool_guard.h>

#include "signatures.h"

namespace surface {

static_assert(is<bool (*)()>(&threadpool::NoThreadPoolGuard::is_enabled));
static_assert(is<void (*)(bool)>(&threadpool::NoThreadPoolGuard::set_enabled));
static_assert(std::is_constructible_v<threadpool::NoThreadPoolGuard>);
static_assert(std::is_destructible_v<threadpool::NoThreadPoolGuard>);
namespace aliases {
using ::torch::executorch::threadpool::NoThreadPoolGuard;
}  // namespace aliases

}  // namespace surface
