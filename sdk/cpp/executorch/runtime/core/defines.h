// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// 1 compiles in the names of errors, tags and dtypes; 0 replaces each by a text such as "Unknown" to save bytes.
#ifndef ET_ENABLE_ENUM_STRINGS
#define ET_ENABLE_ENUM_STRINGS 1
#endif
