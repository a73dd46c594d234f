// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/runtime/kernel/kernel_includes.h>

#include <cinttypes>
#include <cstring>

namespace torch {
namespace executor {
namespace native {

using executorch::aten::SizesType;
using executorch::aten::Tensor;
using executorch::runtime::Error;
using executorch::runtime::KernelRuntimeContext;

namespace {

// Copies between packed (..., C, r, r, H, W) and shuffled (..., C, H, r, W, r). Only the size of an element counts.
template <size_t kElementSize>
void move_pixels(const char* in, char* out, int64_t channels, int64_t r, int64_t height, int64_t width, bool shuffle) {
  const char* source = in;
  char* destination = out;
  for (int64_t c = 0; c < channels; ++c) {
    for (int64_t i = 0; i < r; ++i) {
      for (int64_t j = 0; j < r; ++j) {
        for (int64_t h = 0; h < height; ++h) {
          const int64_t packed = (((c * r + i) * r + j) * height + h) * width;
          const int64_t shuffled = ((c * height + h) * r + i) * width * r + j;
          for (int64_t w = 0; w < width; ++w) {
            const int64_t from = shuffle ? packed + w : shuffled + w * r;
            const int64_t to = shuffle ? shuffled + w * r : packed + w;
            std::memcpy(destination + to * kElementSize, source + from * kElementSize, kElementSize);
          }
        }
      }
    }
  }
}

Tensor& move(KernelRuntimeContext& ctx, const Tensor& in, int64_t r, Tensor& out, bool shuffle) {
  using namespace executorch::runtime;
  const char* name = shuffle ? "pixel_shuffle" : "pixel_unshuffle";
  (void)name;
  ET_KERNEL_CHECK_MSG(ctx, in.dim() >= 3, InvalidArgument, out, "%s: the input needs 3 dimensions or more, it has %zd",
                      name, (ssize_t)in.dim());
  ET_KERNEL_CHECK_MSG(ctx, r > 0 && r < (1 << 15), InvalidArgument, out,
                      "%s: the factor must be positive, it is %" PRId64, name, r);
  ET_KERNEL_CHECK(ctx, tensors_have_same_dtype(in, out), InvalidArgument, out);
  ET_KERNEL_CHECK(ctx, tensor_is_default_dim_order(in) && tensor_is_default_dim_order(out), InvalidArgument, out);

  const ssize_t dims = in.dim();
  const int64_t in_channels = in.size(dims - 3), in_height = in.size(dims - 2), in_width = in.size(dims - 1);
  ET_KERNEL_CHECK_MSG(
      ctx, shuffle ? in_channels % (r * r) == 0 : in_height % r == 0 && in_width % r == 0, InvalidArgument, out,
      "%s: a factor of %" PRId64 " does not divide an input of %" PRId64 " channels, %" PRId64 " x %" PRId64, name, r,
      in_channels, in_height, in_width);
  const int64_t channels = shuffle ? in_channels / (r * r) : in_channels;
  const int64_t height = shuffle ? in_height : in_height / r;
  const int64_t width = shuffle ? in_width : in_width / r;

  SizesType sizes[kTensorDimensionLimit];
  int64_t batch = 1;
  for (ssize_t d = 0; d < dims - 3; ++d) {
    sizes[d] = static_cast<SizesType>(in.size(d));
    batch *= in.size(d);
  }
  sizes[dims - 3] = static_cast<SizesType>(shuffle ? channels : channels * r * r);
  sizes[dims - 2] = static_cast<SizesType>(shuffle ? height * r : height);
  sizes[dims - 1] = static_cast<SizesType>(shuffle ? width * r : width);
  ET_KERNEL_CHECK(ctx, resize_tensor(out, {sizes, static_cast<size_t>(dims)}) == Error::Ok, InvalidArgument, out);
  if (in.numel() == 0) {
    return out;
  }

  const char* source = static_cast<const char*>(in.const_data_ptr());
  char* destination = static_cast<char*>(out.mutable_data_ptr());
  switch (in.element_size()) {
    case 1:
      move_pixels<1>(source, destination, batch * channels, r, height, width, shuffle);
      break;
    case 2:
      move_pixels<2>(source, destination, batch * channels, r, height, width, shuffle);
      break;
    case 4:
      move_pixels<4>(source, destination, batch * channels, r, height, width, shuffle);
      break;
    case 8:
      move_pixels<8>(source, destination, batch * channels, r, height, width, shuffle);
      break;
    case 16:
      move_pixels<16>(source, destination, batch * channels, r, height, width, shuffle);
      break;
    default:
      ET_LOG(Error, "%s: elements of %zd bytes are not supported", name, (ssize_t)in.element_size());
      ctx.fail(Error::InvalidArgument);
  }
  return out;
}

}  // namespace

/// (..., C r^2, H, W) -> (..., C, H r, W r); any dtype, default dim order.
Tensor& pixel_shuffle_out(KernelRuntimeContext& ctx, const Tensor& in, int64_t upscale_factor, Tensor& out) {
  return move(ctx, in, upscale_factor, out, /*shuffle=*/true);
}

/// (..., C, H r, W r) -> (..., C r^2, H, W); any dtype, default dim order.
Tensor& pixel_unshuffle_out(KernelRuntimeContext& ctx, const Tensor& in, int64_t downscale_factor, Tensor& out) {
  return move(ctx, in, downscale_factor, out, /*shuffle=*/false);
}

}  // namespace native
}  // namespace executor
}  // namespace torch
