// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Marks functions in generated code of ExecuTorch. Without ATen it has no effect.
#if !defined(USE_ATEN_LIB) && !defined(TORCH_API)
#define TORCH_API
#endif
