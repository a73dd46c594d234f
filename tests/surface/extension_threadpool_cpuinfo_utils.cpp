// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/extension/threadpool/cpuinfo_utils.h>

#include "signatures.h"

namespace surface {

static_assert(is<uint32_t (*)()>(&cpuinfo::get_num_performant_cores));
namespace aliases {
using ::torch::executorch::cpuinfo::get_num_performant_cores;
}  // namespace aliases

}  // namespace surface
