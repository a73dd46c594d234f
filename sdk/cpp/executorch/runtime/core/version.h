// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Version of the API of these headers, for conditional compilation of code that supports several.
#define ET_VERSION_MAJOR 1
#define ET_VERSION_MINOR 4
#define ET_VERSION_PATCH 1
#define ET_VERSION "1.4.1"

/// A number that grows with the version.
#define ET_VERSION_CODE (ET_VERSION_MAJOR * 10000 + ET_VERSION_MINOR * 100 + ET_VERSION_PATCH)

/// True for this version and later ones: `#if ET_VERSION_CHECK(1, 2, 0)`.
#define ET_VERSION_CHECK(major, minor, patch) (ET_VERSION_CODE >= ((major) * 10000 + (minor) * 100 + (patch)))
