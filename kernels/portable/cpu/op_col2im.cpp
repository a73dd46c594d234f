// SPDX-License-Identifier: BSD-3-Clause
// im2col.out and col2im.out: im2col writes the patch of the image under each position of a kernel as a column; col2im
// adds such columns up to an image.
#include "kernels/portable/cpu/math/accumulate_type.h"
#include "kernels/portable/cpu/math/pooling.h"
#include "kernels/portable/cpu/math/visit_dtype.h"
#include "kernels/portable/cpu/pattern/complex_number.h"
#include "kernels/portable/cpu/pattern/element_size.h"

namespace torch::executor::native {
namespace {

// How a kernel moves over an image (N, C, height, width).
struct Patches {
  PoolAxis axis[2];

  int64_t taps() const { return axis[0].kernel * axis[1].kernel; }
  int64_t positions() const { return axis[0].out * axis[1].out; }
};

bool read_patches(KernelRuntimeContext& ctx, const char* op, const int64_t (&image)[2], IntArrayRef kernel_size,
                  IntArrayRef dilation, IntArrayRef padding, IntArrayRef stride, Patches* patches) {
  for (size_t i = 0; i < 2; ++i) {
    PoolAxis& axis = patches->axis[i];
    axis.in = image[i];
    if (!read_pool_value(ctx, op, "kernel_size", kernel_size, 2, i, 1, &axis.kernel) ||
        !read_pool_value(ctx, op, "dilation", dilation, 2, i, 1, &axis.dilation) ||
        !read_pool_value(ctx, op, "padding", padding, 2, i, 0, &axis.padding) ||
        !read_pool_value(ctx, op, "stride", stride, 2, i, 1, &axis.stride)) {
      return false;
    }
    const int64_t room = axis.in + 2 * axis.padding - axis.dilation * (axis.kernel - 1) - 1;
    ET_KERNEL_CHECK_MSG(ctx, room >= 0, InvalidArgument, false, "%s: the kernel is larger than the padded image", op);
    axis.out = room / axis.stride + 1;
  }
  return true;
}

// Calls body(column element, image element) for every element of a column that lies in the image, or with image element
// -1 for those in the padding. Offsets are within one channel of the image, dense.
template <typename Body>
void for_each_tap(const Patches& patches, const Body& body) {
  const PoolAxis &y = patches.axis[0], &x = patches.axis[1];
  for (int64_t tap = 0; tap < patches.taps(); ++tap) {
    const int64_t row = tap / x.kernel * y.dilation, column = tap % x.kernel * x.dilation;
    for (int64_t oh = 0; oh < y.out; ++oh) {
      const int64_t h = y.start(oh) + row;
      for (int64_t ow = 0; ow < x.out; ++ow) {
        const int64_t w = x.start(ow) + column;
        const bool inside = h >= 0 && h < y.in && w >= 0 && w < x.in;
        body(tap * patches.positions() + oh * x.out + ow, inside ? h * x.in + w : -1);
      }
    }
  }
}

bool check_default_order(KernelRuntimeContext& ctx, const char* op, const Tensor& a, const Tensor& b) {
  ET_KERNEL_CHECK_MSG(
      ctx, executorch::runtime::tensor_is_default_dim_order(a) && executorch::runtime::tensor_is_default_dim_order(b),
      InvalidArgument, false, "%s: the tensors must be in the default dim order", op);
  return check_same_dtype(ctx, op, a, b);
}

}  // namespace

/// in (N, C, H, W) or (C, H, W), out (N, C * kernel height * kernel width, positions of the kernel).
Tensor& im2col_out(KernelRuntimeContext& ctx, const Tensor& in, IntArrayRef kernel_size, IntArrayRef dilation,
                   IntArrayRef padding, IntArrayRef stride, Tensor& out) {
  const char* op = "im2col.out";
  Patches patches;
  if (!check_pool_input(ctx, op, in, 2, out) || !check_default_order(ctx, op, in, out)) {
    return out;
  }
  const int64_t image[2] = {in.size(in.dim() - 2), in.size(in.dim() - 1)};
  const int64_t channels = in.size(in.dim() - 3), batch = in.dim() == 4 ? in.size(0) : 1;
  ET_KERNEL_CHECK_MSG(ctx, channels * image[0] * image[1] != 0, InvalidArgument, out, "%s: the images are empty", op);
  if (!read_patches(ctx, op, image, kernel_size, dilation, padding, stride, &patches)) {
    return out;
  }
  const int64_t limit = INT32_MAX;
  ET_KERNEL_CHECK_MSG(ctx, patches.taps() <= limit / channels && patches.axis[0].out <= limit / patches.axis[1].out,
                      InvalidArgument, out, "%s: the result is too large", op);
  const int64_t sizes[3] = {batch, channels * patches.taps(), patches.positions()};
  const size_t skipped = in.dim() == 4 ? 0 : 1;
  if (!check_resize(ctx, op, out, sizes + skipped, 3 - skipped)) {
    return out;
  }
  const int64_t pixels = image[0] * image[1], column = patches.taps() * patches.positions();
  const ScalarType dtype = in.scalar_type();
  if (dtype != ScalarType::Bool && !executorch::runtime::isFloatingType(dtype) && !is_complex(dtype)) {
    fail_dtype(ctx, op, dtype);
    return out;
  }
  with_element_size(static_cast<size_t>(in.element_size()), [&](auto zero) {
    using T = decltype(zero);
    for (int64_t channel = 0; channel < batch * channels; ++channel) {
      const T* from = static_cast<const T*>(in.const_data_ptr()) + channel * pixels;
      T* to = static_cast<T*>(out.mutable_data_ptr()) + channel * column;
      for_each_tap(patches, [&](int64_t element, int64_t pixel) { to[element] = pixel < 0 ? T{} : from[pixel]; });
    }
  });
  return out;
}

/// in (N, C * kernel height * kernel width, positions) or without N, out (N, C, output_size).
Tensor& col2im_out(KernelRuntimeContext& ctx, const Tensor& in, IntArrayRef output_size, IntArrayRef kernel_size,
                   IntArrayRef dilation, IntArrayRef padding, IntArrayRef stride, Tensor& out) {
  const char* op = "col2im.out";
  Patches patches;
  int64_t image[2];
  ET_KERNEL_CHECK_MSG(ctx, in.dim() == 2 || in.dim() == 3, InvalidArgument, out,
                      "%s: the input must have 2 or 3 dimensions, it has %zd", op, static_cast<ssize_t>(in.dim()));
  if (!check_default_order(ctx, op, in, out) ||
      !read_pool_value(ctx, op, "output_size", output_size, 2, 0, 1, &image[0]) ||
      !read_pool_value(ctx, op, "output_size", output_size, 2, 1, 1, &image[1]) ||
      !read_patches(ctx, op, image, kernel_size, dilation, padding, stride, &patches)) {
    return out;
  }
  const int64_t rows = in.size(in.dim() - 2), batch = in.dim() == 3 ? in.size(0) : 1;
  ET_KERNEL_CHECK_MSG(ctx, rows > 0 && rows % patches.taps() == 0 && in.size(in.dim() - 1) == patches.positions(),
                      InvalidArgument, out,
                      "%s: expected a multiple of %lld rows and %lld columns, found %lld rows and %lld columns", op,
                      static_cast<long long>(patches.taps()), static_cast<long long>(patches.positions()),
                      static_cast<long long>(rows), static_cast<long long>(in.size(in.dim() - 1)));
  const int64_t channels = rows / patches.taps();
  const int64_t sizes[4] = {batch, channels, image[0], image[1]};
  const size_t skipped = in.dim() == 3 ? 0 : 1;
  if (!check_resize(ctx, op, out, sizes + skipped, 4 - skipped)) {
    return out;
  }
  const int64_t pixels = image[0] * image[1], column = patches.taps() * patches.positions();
  const auto run = [&](auto tag) {
    using T = typename decltype(tag)::Type;
    for (int64_t channel = 0; channel < batch * channels; ++channel) {
      const T* from = in.const_data_ptr<T>() + channel * column;
      T* to = out.mutable_data_ptr<T>() + channel * pixels;
      for (int64_t i = 0; i < pixels; ++i) {
        to[i] = static_cast<T>(0);
      }
      for_each_tap(patches, [&](int64_t element, int64_t pixel) {
        if (pixel < 0) {
          return;
        }
        if constexpr (std::is_same_v<T, uint8_t>) {
          to[pixel] = to[pixel] != 0 || from[element] != 0;
        } else if constexpr (executorch::runtime::is_complex_type<T>::value) {
          to[pixel] += from[element];
        } else {
          using Sum = AccumulateType<T>;
          to[pixel] = static_cast<T>(static_cast<Sum>(to[pixel]) + static_cast<Sum>(from[element]));
        }
      });
    }
  };
  if (in.scalar_type() == ScalarType::Bool) {
    run(DtypeTag<uint8_t>{});  // a stored bool may be any byte
  } else if (in.scalar_type() == ScalarType::ComplexFloat) {
    visit_selected<executorch::aten::complex<float>, is_selected(ScalarType::ComplexFloat)>(ctx, op, in.scalar_type(),
                                                                                            run);
  } else if (in.scalar_type() == ScalarType::ComplexDouble) {
    visit_selected<executorch::aten::complex<double>, is_selected(ScalarType::ComplexDouble)>(ctx, op, in.scalar_type(),
                                                                                              run);
  } else {
    visit_floating(ctx, op, in.scalar_type(), run);
  }
  return out;
}

}  // namespace torch::executor::native
