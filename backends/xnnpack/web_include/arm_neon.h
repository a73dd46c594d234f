// SPDX-License-Identifier: BSD-3-Clause
// Some of XNNPACK's kernels for WebAssembly include <arm_neon.h> and use nothing from it. Emscripten's own file of that
// name needs headers that Debian's package lacks.
#pragma once
