// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/runtime/executor/test/demo_backends/demo_backends.h>

// The link option -u of the library `demo_backends` requests this name, so that the linker keeps the file.
extern "C" const executorch::runtime::Error executorch_demo_backends_at_load;
const executorch::runtime::Error executorch_demo_backends_at_load =
    executorch::runtime::testing::register_demo_backends();
