// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/runtime/platform/compiler.h>

#include "signatures.h"

#if !defined(ET_NORETURN) || !defined(ET_NOINLINE) || !defined(ET_INLINE) || !defined(ET_RESTRICT) ||               \
    !defined(ET_UNREACHABLE) || !defined(ET_DEPRECATED) || !defined(ET_EXPERIMENTAL) || !defined(ET_FALLTHROUGH) || \
    !defined(ET_NODISCARD) || !defined(ET_UNUSED) || !defined(ET_LIKELY) || !defined(ET_UNLIKELY) ||                \
    !defined(ET_WEAK) || !defined(ET_PRINTFLIKE) || !defined(ET_SHORT_FILENAME) || !defined(ET_LINE) ||             \
    !defined(ET_FUNCTION) || !defined(ET_PRIsize_t) || !defined(ET_PRIssize_t) ||                                   \
    !defined(ET_HAVE_GNU_STATEMENT_EXPRESSIONS) || !defined(ET_HAS_EXCEPTIONS)
#error "A macro of this header is missing."
#endif
