// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/runtime/platform/platform.h>

#include "program_driver.h"

namespace executorch {
namespace fuzz {

void silence_logs() {
  const auto drop = [](et_timestamp_t, et_pal_log_level_t, const char*, const char*, size_t, const char*, size_t) {};
  (void)executorch::runtime::register_pal(executorch::runtime::PalImpl::create(drop, __FILE__));
}

}  // namespace fuzz
}  // namespace executorch
