// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <executorch/runtime/core/portable_type/bfloat16.h>
// With PyTorch's headers, this is PyTorch's type, because a program must have only one BFloat16.
#if __has_include(<c10/util/BFloat16-math.h>)
#include <c10/util/BFloat16-math.h>
#else
#include <executorch/runtime/core/portable_type/c10/c10/util/BFloat16-math.h>
#endif
