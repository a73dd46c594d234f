// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include <executorch/runtime/kernel/kernel_includes.h>

namespace torch {
namespace executor {
namespace native {

/// Cuts a picture (channels, height, width) into tiles (tiles, channels, tile_size, tile_size), row by row. Height and
/// width are multiples of `tile_size`; any dtype. A kernel of the llm library (CMake: `custom_ops`).
Tensor& tile_crop_out_impl(KernelRuntimeContext& ctx, const Tensor& input, int64_t tile_size, Tensor& out);

}  // namespace native
}  // namespace executor
}  // namespace torch
