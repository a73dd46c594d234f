// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/runtime/platform/assert.h>

#include "signatures.h"

#if !defined(ET_ASSERT_MESSAGE_EMIT) || !defined(ET_CHECK_MSG) || !defined(ET_CHECK) || !defined(ET_DCHECK_MSG) || \
    !defined(ET_DCHECK) || !defined(ET_DEBUG_ONLY) || !defined(ET_ASSERT_UNREACHABLE) ||                           \
    !defined(ET_ASSERT_UNREACHABLE_MSG)
#error "A macro of this header is missing."
#endif
