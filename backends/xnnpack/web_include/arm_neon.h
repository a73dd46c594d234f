// SPDX-License-Identifier: BSD-3-Clause
// Some of XNNPACK's kernels for WebAssembly include this name and use nothing of it. Emscripten's file of the name
// needs headers that Debian's package lacks.
#pragma once
