// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/runtime/core/defines.h>

#include "signatures.h"

#if !defined(ET_ENABLE_ENUM_STRINGS)
#error "A macro of this header is missing."
#endif
