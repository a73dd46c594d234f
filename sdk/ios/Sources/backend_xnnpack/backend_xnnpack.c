/* SPDX-License-Identifier: BSD-3-Clause */
#include "backend_xnnpack.h"

#ifdef __APPLE__
/* Refers to the object file that registers the XNNPACK backend, so that the linker takes it out of its library. */
__attribute__((used)) static bool (*const registers)(void) = executorch_xnnpack_backend_at_load;
#endif /* elsewhere the shared library of the C interface registers everything itself */
