// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Version of the API of these headers, for conditional compilation of code that supports several.
#define ET_VERSION_MAJOR 1
#define ET_VERSION_MINOR 4
#define ET_VERSION_PATCH 1
#define ET_VERSION "1.4.1"

/// The number of a version, one byte for each part: 1.4.1 is 0x010401.
#define ET_VERSION_ENCODE(major, minor, patch) (((major) << 16) | ((minor) << 8) | (patch))

/// The same, to compare with ET_VERSION_CODE: `#if ET_VERSION_CODE >= ET_VERSION_CHECK(1, 2, 0)`.
#define ET_VERSION_CHECK(major, minor, patch) ET_VERSION_ENCODE(major, minor, patch)

/// The number of this version. It grows with the version.
#define ET_VERSION_CODE ET_VERSION_ENCODE(ET_VERSION_MAJOR, ET_VERSION_MINOR, ET_VERSION_PATCH)
