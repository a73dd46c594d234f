// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Marks functions of code that the generator wrote for ExecuTorch; without ATen it is empty.
#if !defined(USE_ATEN_LIB) && !defined(TORCH_API)
#define TORCH_API
#endif
