/* SPDX-License-Identifier: BSD-3-Clause */
/* Linking this product is enough to have the kernels of all operators; there is nothing to call. */
#pragma once

#include <stdbool.h>

/** Whether they were registered when the program started. */
bool executorch_optimized_native_cpu_kernels_at_load(void);
