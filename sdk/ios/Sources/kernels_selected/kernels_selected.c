/* SPDX-License-Identifier: BSD-3-Clause */
#include "kernels_selected.h"

#ifdef __APPLE__
/* Refers to the object file that registers the kernels that the models need, so that the linker extracts it from its
 * library. */
__attribute__((used)) static bool (*const registers)(void) = executorch_selected_ops_lib_kernels_at_load;
#endif /* elsewhere the shared library of the C interface registers everything itself */
