// SPDX-License-Identifier: BSD-3-Clause
// A stand-in of a header of Samsung's SDK, with what ExecuTorch's sources (backends/samsung/aot, BSD) use of it.
#pragma once

#include <cstdint>

using DIM_T = uint32_t;
using TENSOR_ID_T = uint32_t;
using NODE_ID_T = uint32_t;

enum class ScalarType { UNKNOWN, BOOL, CHAR, INT32, UINT32, INT64, UINT64, FLOAT32, FLOAT64 };

struct ParamWrapper {
  void* data;
  uint32_t size;
  bool is_scalar;
  ScalarType type;
};
