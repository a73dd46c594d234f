// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/runtime/platform/log.h>

#include "signatures.h"

#if !defined(ET_MIN_LOG_LEVEL) || !defined(ET_LOG_ENABLED) || !defined(PRIu64) || !defined(PRId64) || \
    !defined(ET_LOG) || !defined(ET_CHECK_OR_LOG_ERROR)
#error "A macro of this header is missing."
#endif

namespace surface {

static_assert(static_cast<long>(LogLevel::Debug) == 0);
static_assert(static_cast<long>(LogLevel::Info) == 1);
static_assert(static_cast<long>(LogLevel::Error) == 2);
static_assert(static_cast<long>(LogLevel::Fatal) == 3);
static_assert(static_cast<long>(LogLevel::NumLevels) == 4);
static_assert(std::is_same_v<std::underlying_type_t<LogLevel>, uint8_t>);

}  // namespace surface
