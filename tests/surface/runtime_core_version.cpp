// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/runtime/core/version.h>

#include "signatures.h"

#if !defined(ET_VERSION_MAJOR) || !defined(ET_VERSION_MINOR) || !defined(ET_VERSION_PATCH) || !defined(ET_VERSION) || \
    !defined(ET_VERSION_CODE) || !defined(ET_VERSION_CHECK)
#error "A macro of this header is missing."
#endif
