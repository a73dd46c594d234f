// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file
 * Finds out which shared library an address belongs to, for messages. Without ET_USE_LIBDL it is not known.
 */
#pragma once

#if defined(ET_USE_LIBDL)
#include <dlfcn.h>
#endif

static constexpr const char* DYNAMIC_LIBRARY_NOT_SUPPORTED = "NOT_SUPPORTED";
static constexpr const char* DYNAMIC_LIBRARY_NOT_FOUND = "NOT_FOUND";

/// Path of the library or program that holds `addr`; the text is owned by the dynamic linker.
inline const char* et_pal_get_shared_library_name([[maybe_unused]] const void* addr) {
#if defined(ET_USE_LIBDL)
  Dl_info info;
  if (dladdr(addr, &info) != 0 && info.dli_fname != nullptr) {
    return info.dli_fname;
  }
  return DYNAMIC_LIBRARY_NOT_FOUND;
#else
  return DYNAMIC_LIBRARY_NOT_SUPPORTED;
#endif
}
