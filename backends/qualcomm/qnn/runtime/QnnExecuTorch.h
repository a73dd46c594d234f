// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file
 * Memory for inputs and outputs that the HTP reads and writes in place, with ExecuTorch's functions:
 *
 *     void* const pixels = QnnExecuTorchAllocCustomMem(1 * 3 * 224 * 224 * sizeof(float), 64);
 *     auto image = executorch::extension::from_blob(pixels, {1, 3, 224, 224});
 *
 * The delegate shares a tensor that begins where an allocation does with the HTP, once as long as it stays there. Other
 * tensors are given to Qualcomm's library by their address. Threads may call these functions.
 */
#pragma once

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Allocates memory from the device's libcdsprpc.so. Null (logged) if there is no such library, if the memory is
/// exhausted, if `bytes` is 0 or above INT_MAX, or if `alignment` is neither 0 nor a power of two up to 4096.
void* QnnExecuTorchAllocCustomMem(size_t bytes, size_t alignment);

/// Frees what QnnExecuTorchAllocCustomMem() returned; null is ignored. Destroy the programs that used it first.
void QnnExecuTorchFreeCustomMem(void* buffer);

#ifdef __cplusplus
}
#endif
