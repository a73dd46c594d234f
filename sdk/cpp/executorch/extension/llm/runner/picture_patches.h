// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include <executorch/extension/llm/runner/image.h>
#include <executorch/extension/tensor/tensor_ptr.h>
#include <executorch/runtime/core/result.h>

namespace executorch {
namespace extension {
namespace llm {
namespace internal {

/// The patches of a picture. Units of patches follow each other row by row, and each becomes one position.
struct PicturePatches {
  TensorPtr patches;  // [patches, channels, side, side] of the picture's dtype
  int32_t rows;       // rows of units
  int32_t columns;
};

/// Cuts a picture into patches with sides of `side` pixels, in units of `merge` by `merge` patches. InvalidArgument,
/// after a log line, unless the picture's sides are multiples of the side of a unit.
runtime::Result<PicturePatches> patches_of(const Image& image, int32_t side, int32_t merge);

}  // namespace internal
}  // namespace llm
}  // namespace extension
}  // namespace executorch
