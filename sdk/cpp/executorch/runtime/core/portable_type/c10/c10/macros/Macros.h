// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file
 * The macros of PyTorch's c10/macros that portable sources of kernels use. Nothing is exported and there is no CUDA
 * here.
 */
#pragma once

#include <executorch/runtime/platform/compiler.h>

#define C10_EXPORT
#define C10_API
#define C10_HOST_DEVICE
#define C10_DEVICE
#define C10_HOST
#define C10_LIKELY(expr) ET_LIKELY(expr)
#define C10_UNLIKELY(expr) ET_UNLIKELY(expr)
#define C10_UNUSED ET_UNUSED
#define C10_NODISCARD ET_NODISCARD
#define C10_NOINLINE ET_NOINLINE
#define C10_ALWAYS_INLINE ET_INLINE
