// SPDX-License-Identifier: BSD-3-Clause
// Replaces a header of Samsung's SDK: what ExecuTorch's sources (backends/samsung/aot, BSD) use of it.
#pragma once

#include <cstdint>

enum class GraphGenResult { SUCCESS, FAILED };

struct NNCBuffer {
  uint8_t* addr;
  int64_t size;
};
