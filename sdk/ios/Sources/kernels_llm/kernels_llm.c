/* SPDX-License-Identifier: BSD-3-Clause */
#include "kernels_llm.h"

#ifdef __APPLE__
/* Refers to the object file that registers the kernels of language models, so that the linker extracts it from its
 * library. */
__attribute__((used)) static bool (*const registers)(void) = executorch_llm_kernels_at_load;
#endif /* elsewhere the shared library of the C interface registers everything itself */
