// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file
 * Compiler and language portability: attributes, hints, source locations and printf length modifiers.
 */
#pragma once

#include <cstddef>

#if __cplusplus < 201703L && (!defined(_MSVC_LANG) || _MSVC_LANG < 201703L)
#error "ExecuTorch needs C++17 or newer: compile with -std=c++17 (MSVC: /std:c++17)."
#endif

#if defined(_MSC_VER) && !defined(__clang__)
#include <intrin.h>
#include <type_traits>
#define ET_NOINLINE __declspec(noinline)
#define ET_INLINE __forceinline
#define ET_INLINE_ATTRIBUTE
#define ET_RESTRICT __restrict
#define ET_UNREACHABLE() __assume(0)
#define ET_WEAK
#define ET_PRINTFLIKE(_string_index, _va_index)
#define ET_HAVE_GNU_STATEMENT_EXPRESSIONS 0
#define ET_FUNCTION __FUNCTION__
using ssize_t = std::make_signed_t<size_t>;
#else
#include <sys/types.h>  // ssize_t
#define ET_NOINLINE __attribute__((noinline))
#define ET_INLINE __attribute__((always_inline)) inline
#define ET_INLINE_ATTRIBUTE __attribute__((always_inline))
#define ET_RESTRICT __restrict__
#define ET_UNREACHABLE() __builtin_unreachable()
#define ET_WEAK __attribute__((weak))
/// Checks the arguments of a printf-like function; indices count from 1 (and include `this` for members).
#define ET_PRINTFLIKE(_string_index, _va_index) __attribute__((format(printf, _string_index, _va_index)))
/// 1 when `({ ... })` has a value, which ET_UNWRAP needs.
#define ET_HAVE_GNU_STATEMENT_EXPRESSIONS 1
#define ET_FUNCTION __FUNCTION__
#endif

#define ET_NORETURN [[noreturn]]
#define ET_DEPRECATED [[deprecated]]
#define ET_FALLTHROUGH [[fallthrough]]
#define ET_NODISCARD [[nodiscard]]
#define ET_UNUSED [[maybe_unused]]
/// Marks an API that may change without a deprecation period.
#define ET_EXPERIMENTAL [[deprecated("This API is experimental and may change without notice.")]]

#if defined(__GNUC__) || defined(__clang__)
#define ET_LIKELY(expr) (__builtin_expect(static_cast<bool>(expr), 1))
#define ET_UNLIKELY(expr) (__builtin_expect(static_cast<bool>(expr), 0))
#else
#define ET_LIKELY(expr) (expr)
#define ET_UNLIKELY(expr) (expr)
#endif

/// Name of the current source file without its folders; the long path does not reach the binary.
#if defined(__FILE_NAME__)
#define ET_SHORT_FILENAME __FILE_NAME__
#elif defined(__GNUC__)
#define ET_SHORT_FILENAME (__builtin_strrchr("/" __FILE__, '/') + 1)
#else
#define ET_SHORT_FILENAME __FILE__
#endif
#define ET_LINE __LINE__

// newlib-nano and some DSP toolchains lack %zu: their build may define these.
#ifndef ET_PRIsize_t
#define ET_PRIsize_t "zu"
#endif
#ifndef ET_PRIssize_t
#define ET_PRIssize_t "zd"
#endif

/// 1 when this translation unit is compiled with C++ exceptions.
#ifndef ET_HAS_EXCEPTIONS
#if defined(__cpp_exceptions) || defined(_CPPUNWIND)
#define ET_HAS_EXCEPTIONS 1
#else
#define ET_HAS_EXCEPTIONS 0
#endif
#endif

// Old spellings that existing code still uses.
#define __ET_NORETURN ET_NORETURN
#define __ET_NOINLINE ET_NOINLINE
#define __ET_INLINE ET_INLINE
#define __ET_UNREACHABLE() ET_UNREACHABLE()
#define __ET_DEPRECATED ET_DEPRECATED
#define __ET_FALLTHROUGH ET_FALLTHROUGH
#define __ET_NODISCARD ET_NODISCARD
#define __ET_UNUSED ET_UNUSED
#define __ET_LIKELY(expr) ET_LIKELY(expr)
#define __ET_UNLIKELY(expr) ET_UNLIKELY(expr)
#define __ET_WEAK ET_WEAK
#define __ET_PRINTFLIKE(_string_index, _va_index) ET_PRINTFLIKE(_string_index, _va_index)
