// SPDX-License-Identifier: BSD-3-Clause
// preprocess::tile_crop.out: a picture (channels, height, width) as tiles (tiles, channels, tile size, tile size).
#include <executorch/extension/llm/custom_ops/op_tile_crop.h>

#include <cinttypes>
#include <cstring>

#include "kernels/portable/cpu/pattern/checks.h"

namespace torch::executor::native {

using executorch::runtime::tensor_is_default_dim_order;

namespace {

bool check_picture(KernelRuntimeContext& ctx, const char* op, const Tensor& in, int64_t tile_size) {
  ET_KERNEL_CHECK_MSG(ctx, in.dim() == 3, InvalidArgument, false,
                      "%s: expected (channels, height, width), found %zd dimensions", op,
                      static_cast<ssize_t>(in.dim()));
  ET_KERNEL_CHECK_MSG(ctx, tile_size > 0, InvalidArgument, false, "%s: tile_size is %" PRId64 "; it must be positive",
                      op, tile_size);
  ET_KERNEL_CHECK_MSG(ctx, in.size(1) % tile_size == 0 && in.size(2) % tile_size == 0, InvalidArgument, false,
                      "%s: the picture has %zd x %zd pixels, and both must be multiples of the tile size %" PRId64, op,
                      static_cast<ssize_t>(in.size(1)), static_cast<ssize_t>(in.size(2)), tile_size);
  return true;
}

}  // namespace

Tensor& tile_crop_out_impl(KernelRuntimeContext& ctx, const Tensor& input, int64_t tile_size, Tensor& out) {
  const char* op = "tile_crop.out";
  if (!check_picture(ctx, op, input, tile_size) || !check_same_dtype(ctx, op, input, out)) {
    return out;
  }
  const int64_t channels = input.size(0), rows = input.size(1) / tile_size, columns = input.size(2) / tile_size;
  const int64_t sizes[] = {rows * columns, channels, tile_size, tile_size};
  if (!check_resize(ctx, op, out, sizes, 4) || !check_no_overlap(ctx, op, input, out)) {
    return out;
  }
  ET_KERNEL_CHECK_MSG(ctx, tensor_is_default_dim_order(input) && tensor_is_default_dim_order(out), InvalidArgument, out,
                      "%s: picture and tiles must be in the default dim order", op);
  const size_t line = static_cast<size_t>(tile_size) * static_cast<size_t>(input.element_size());
  char* to = static_cast<char*>(out.mutable_data_ptr());
  const char* from = static_cast<const char*>(input.const_data_ptr());
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t column = 0; column < columns; ++column) {
      for (int64_t channel = 0; channel < channels; ++channel) {
        for (int64_t y = 0; y < tile_size; ++y, to += line) {
          const int64_t at = ((channel * rows + row) * tile_size + y) * columns + column;
          std::memcpy(to, from + static_cast<size_t>(at) * line, line);
        }
      }
    }
  }
  return out;
}

}  // namespace torch::executor::native
