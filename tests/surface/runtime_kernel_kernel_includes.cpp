// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/runtime/kernel/kernel_includes.h>

#include "signatures.h"

#if !defined(ET_USE_STRUCTURAL_OPERATOR_NAME) || !defined(ET_OPERATOR_NAME_TYPE) || !defined(ET_DEFINE_OPERATOR_NAME)
#error "A macro of this header is missing."
#endif
