// SPDX-License-Identifier: BSD-3-Clause
// avg_pool2d.out, max_pool2d_with_indices.out, _adaptive_avg_pool2d.out
#include <limits>
#include <tuple>

#include "kernels/portable/cpu/math/accumulate_type.h"
#include "kernels/portable/cpu/math/planes.h"
#include "kernels/portable/cpu/math/pooling.h"
#include "kernels/portable/cpu/math/visit_dtype.h"
#include "kernels/portable/cpu/pattern/arithmetic.h"

namespace torch::executor::native {
namespace {

using Axis = PoolAxis;

bool check_input(KernelRuntimeContext& ctx, const char* op, const Tensor& in, const Tensor& out) {
  return check_pool_input(ctx, op, in, 2, out);
}

bool read_value(KernelRuntimeContext& ctx, const char* op, const char* name, IntArrayRef list, size_t i, int64_t least,
                int64_t* value) {
  return read_pool_value(ctx, op, name, list, 2, i, least, value);
}

// Axis 0 is the height, 1 the width.
bool read_axis(KernelRuntimeContext& ctx, const char* op, size_t i, const Tensor& in, IntArrayRef kernel,
               IntArrayRef stride, IntArrayRef padding, IntArrayRef dilation, bool ceil_mode, Axis* axis) {
  return read_pool_axis(ctx, op, in, 2, i, {kernel, stride, padding, dilation, ceil_mode}, axis);
}

int64_t larger(int64_t a, int64_t b) {
  return a > b ? a : b;
}
int64_t smaller(int64_t a, int64_t b) {
  return a < b ? a : b;
}

template <typename T>
AccumulateType<T> sum_of(const T* in, const Planes& planes, int64_t h0, int64_t h1, int64_t w0, int64_t w1) {
  AccumulateType<T> sum = 0;
  for (int64_t h = h0; h < h1; ++h) {
    for (int64_t w = w0; w < w1; ++w) {
      sum += static_cast<AccumulateType<T>>(in[planes.pixel(h, w)]);
    }
  }
  return sum;
}

template <typename T>
T divide(AccumulateType<T> sum, int64_t by) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(trunc_divide(static_cast<int64_t>(sum), by));
  } else {
    return static_cast<T>(sum / static_cast<AccumulateType<T>>(by));
  }
}

}  // namespace

Tensor& avg_pool2d_out(KernelRuntimeContext& ctx, const Tensor& in, IntArrayRef kernel_size, IntArrayRef stride,
                       IntArrayRef padding, bool ceil_mode, bool count_include_pad,
                       std::optional<int64_t> divisor_override, Tensor& out) {
  const char* op = "avg_pool2d.out";
  const int64_t one = 1;
  const IntArrayRef dilation(&one, 1);
  Axis y, x;
  if (!check_input(ctx, op, in, out) ||
      !read_axis(ctx, op, 0, in, kernel_size, stride, padding, dilation, ceil_mode, &y) ||
      !read_axis(ctx, op, 1, in, kernel_size, stride, padding, dilation, ceil_mode, &x)) {
    return out;
  }
  ET_KERNEL_CHECK_MSG(ctx, !divisor_override || *divisor_override != 0, InvalidArgument, out,
                      "%s: divisor_override must not be 0", op);
  if (!check_resize_planes(ctx, op, out, in, y.out, x.out)) {
    return out;
  }
  const Planes from = Planes::of(in), to = Planes::of(out);
  const auto pool = [&](auto tag) {
    using T = typename decltype(tag)::Type;
    for_each_plane(from, to, [&](int64_t in_plane, int64_t out_plane) {
      const T* source = in.const_data_ptr<T>() + in_plane;
      T* result = out.mutable_data_ptr<T>() + out_plane;
      for (int64_t oh = 0; oh < y.out; ++oh) {
        const int64_t h0 = larger(y.start(oh), 0), h1 = smaller(y.start(oh) + y.kernel, y.in);
        const int64_t padded_height = smaller(y.start(oh) + y.kernel, y.in + y.padding) - y.start(oh);
        for (int64_t ow = 0; ow < x.out; ++ow) {
          const int64_t w0 = larger(x.start(ow), 0), w1 = smaller(x.start(ow) + x.kernel, x.in);
          const int64_t padded_width = smaller(x.start(ow) + x.kernel, x.in + x.padding) - x.start(ow);
          T& value = result[to.pixel(oh, ow)];
          if (h0 >= h1 || w0 >= w1) {
            value = static_cast<T>(0);
            continue;
          }
          const int64_t count = divisor_override    ? *divisor_override
                                : count_include_pad ? padded_height * padded_width
                                                    : (h1 - h0) * (w1 - w0);
          value = divide<T>(sum_of(source, from, h0, h1, w0, w1), count);
        }
      }
    });
  };
  if (in.scalar_type() == ScalarType::Long) {
    pool(DtypeTag<int64_t>{});
  } else {
    visit_floating(ctx, op, in.scalar_type(), pool);
  }
  return out;
}

/// indices holds the position h * W + w of each maximum in its plane. A NaN in a window is its maximum.
std::tuple<Tensor&, Tensor&> max_pool2d_with_indices_out(KernelRuntimeContext& ctx, const Tensor& in,
                                                         IntArrayRef kernel_size, IntArrayRef stride,
                                                         IntArrayRef padding, IntArrayRef dilation, bool ceil_mode,
                                                         Tensor& out, Tensor& indices) {
  const char* op = "max_pool2d_with_indices.out";
  std::tuple<Tensor&, Tensor&> outputs(out, indices);
  Axis y, x;
  if (!check_input(ctx, op, in, out) ||
      !read_axis(ctx, op, 0, in, kernel_size, stride, padding, dilation, ceil_mode, &y) ||
      !read_axis(ctx, op, 1, in, kernel_size, stride, padding, dilation, ceil_mode, &x)) {
    return outputs;
  }
  ET_KERNEL_CHECK_MSG(ctx, indices.scalar_type() == ScalarType::Long, InvalidArgument, outputs,
                      "%s: indices must be Long", op);
  if (!check_resize_planes(ctx, op, out, in, y.out, x.out) ||
      !check_resize_planes(ctx, op, indices, in, y.out, x.out)) {
    return outputs;
  }
  ET_KERNEL_CHECK_MSG(ctx, executorch::runtime::tensors_have_same_dim_order(out, indices), InvalidArgument, outputs,
                      "%s: the two outputs must have the same dim order", op);
  const Planes from = Planes::of(in), to = Planes::of(out);
  visit_real(ctx, op, in.scalar_type(), [&](auto tag) {
    using T = typename decltype(tag)::Type;
    for_each_plane(from, to, [&](int64_t in_plane, int64_t out_plane) {
      const T* source = in.const_data_ptr<T>() + in_plane;
      T* result = out.mutable_data_ptr<T>() + out_plane;
      int64_t* positions = indices.mutable_data_ptr<int64_t>() + out_plane;
      for (int64_t oh = 0; oh < y.out; ++oh) {
        int64_t h0 = y.start(oh);
        h0 += h0 < 0 ? (-h0 + y.dilation - 1) / y.dilation * y.dilation : 0;
        const int64_t h1 = smaller(y.start(oh) + (y.kernel - 1) * y.dilation + 1, y.in);
        for (int64_t ow = 0; ow < x.out; ++ow) {
          int64_t w0 = x.start(ow);
          w0 += w0 < 0 ? (-w0 + x.dilation - 1) / x.dilation * x.dilation : 0;
          const int64_t w1 = smaller(x.start(ow) + (x.kernel - 1) * x.dilation + 1, x.in);
          using Limits = std::numeric_limits<AccumulateType<T>>;
          bool found = false;
          T largest = std::is_integral_v<T> ? std::numeric_limits<T>::lowest() : static_cast<T>(-Limits::infinity());
          int64_t position = h0 * from.width + w0;
          for (int64_t h = h0; h < h1; h += y.dilation) {
            for (int64_t w = w0; w < w1; w += x.dilation) {
              const T value = source[from.pixel(h, w)];
              if (!found || value > largest || value != value) {
                found = true;
                largest = value;
                position = h * from.width + w;
              }
            }
          }
          result[to.pixel(oh, ow)] = largest;
          positions[to.pixel(oh, ow)] = position;
        }
      }
    });
  });
  return outputs;
}

/// Averages over out_height x out_width windows that cover the input: window i of n reaches from floor(i * size / n) to
/// ceil((i + 1) * size / n).
Tensor& _adaptive_avg_pool2d_out(KernelRuntimeContext& ctx, const Tensor& in, IntArrayRef output_size, Tensor& out) {
  const char* op = "_adaptive_avg_pool2d.out";
  int64_t height, width;
  if (!check_input(ctx, op, in, out) || !read_value(ctx, op, "output_size", output_size, 0, 0, &height) ||
      !read_value(ctx, op, "output_size", output_size, 1, 0, &width)) {
    return out;
  }
  const Planes from = Planes::of(in);
  ET_KERNEL_CHECK_MSG(ctx, from.height > 0 && from.width > 0, InvalidArgument, out,
                      "%s: the planes of the input are empty", op);
  if (!check_resize_planes(ctx, op, out, in, height, width)) {
    return out;
  }
  const Planes to = Planes::of(out);
  visit_floating(ctx, op, in.scalar_type(), [&](auto tag) {
    using T = typename decltype(tag)::Type;
    for_each_plane(from, to, [&](int64_t in_plane, int64_t out_plane) {
      const T* source = in.const_data_ptr<T>() + in_plane;
      T* result = out.mutable_data_ptr<T>() + out_plane;
      for (int64_t oh = 0; oh < height; ++oh) {
        const int64_t h0 = oh * from.height / height, h1 = ((oh + 1) * from.height + height - 1) / height;
        for (int64_t ow = 0; ow < width; ++ow) {
          const int64_t w0 = ow * from.width / width, w1 = ((ow + 1) * from.width + width - 1) / width;
          result[to.pixel(oh, ow)] = divide<T>(sum_of(source, from, h0, h1, w0, w1), (h1 - h0) * (w1 - w0));
        }
      }
    });
  });
  return out;
}

}  // namespace torch::executor::native
