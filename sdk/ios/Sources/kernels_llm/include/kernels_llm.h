/* SPDX-License-Identifier: BSD-3-Clause */
/* Linking this product is enough to have the kernels of language models; there is nothing to call. */
#pragma once

#include <stdbool.h>

/** Whether they were registered when the program started. */
bool executorch_llm_kernels_at_load(void);
