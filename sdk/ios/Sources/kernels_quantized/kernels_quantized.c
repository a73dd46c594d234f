/* SPDX-License-Identifier: BSD-3-Clause */
#include "kernels_quantized.h"

/* Refers to the object file that registers the kernels of quantised models, so that the linker takes it out of its library. */
__attribute__((used)) static bool (*const registers)(void) = executorch_quantized_kernels_at_load;
