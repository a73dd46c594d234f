// SPDX-License-Identifier: BSD-3-Clause
// Replaces a header of Samsung's SDK: the functions that ExecuTorch's sources (backends/samsung/aot, BSD) call.
#pragma once

#include <cstddef>
#include <cstdint>

#include "graphgen_common.h"

extern "C" {
void* graphgen_create();
void graphgen_release(void* compiler);
GraphGenResult graphgen_initialize_context(void* compiler, int chip);
GraphGenResult graphgen_generate(void* compiler, const uint8_t* graph, size_t size, NNCBuffer** network);
void graphgen_release_buffer(void* compiler, NNCBuffer* network);
}
