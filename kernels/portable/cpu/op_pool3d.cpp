// SPDX-License-Identifier: BSD-3-Clause
// Pooling over one and three dimensions, and adaptive pooling except _adaptive_avg_pool2d: avg_pool1d, avg_pool3d,
// max_pool3d_with_indices, adaptive_avg_pool1d, _adaptive_avg_pool3d, adaptive_max_pool2d, adaptive_max_pool3d.
#include <limits>
#include <optional>
#include <tuple>

#include "kernels/portable/cpu/math/accumulate_type.h"
#include "kernels/portable/cpu/math/pooling.h"
#include "kernels/portable/cpu/math/visit_dtype.h"
#include "kernels/portable/cpu/pattern/arithmetic.h"
#include "kernels/portable/cpu/pattern/complex_number.h"

namespace torch::executor::native {
namespace {

using MaxOutputs = std::tuple<Tensor&, Tensor&>;

template <typename T>
T average(const T* in, const Volumes& volumes, const Window& window, int64_t divisor) {
  using Sum = AccumulateType<T>;
  Sum sum = 0;
  window.for_each([&](int64_t d, int64_t h, int64_t w) { sum += static_cast<Sum>(in[volumes.at(d, h, w)]); });
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(trunc_divide(static_cast<int64_t>(sum), divisor));
  } else {
    return static_cast<T>(sum / static_cast<Sum>(divisor));
  }
}

// The largest element of a window and its position. NaN is larger than any number.
template <typename T>
void largest(const T* in, const Volumes& volumes, const Window& window, T* value, int64_t* number) {
  bool found = false;
  using Limits = std::numeric_limits<AccumulateType<T>>;
  *value = std::is_integral_v<T> ? std::numeric_limits<T>::lowest() : static_cast<T>(-Limits::infinity());
  *number = volumes.number(window.span[0].begin, window.span[1].begin, window.span[2].begin);
  window.for_each([&](int64_t d, int64_t h, int64_t w) {
    const T candidate = in[volumes.at(d, h, w)];
    if (!found || candidate > *value || candidate != candidate) {
      found = true;
      *value = candidate;
      *number = volumes.number(d, h, w);
    }
  });
}

bool read_axes(KernelRuntimeContext& ctx, const char* op, const Tensor& in, size_t spatial,
               const PoolParameters& parameters, PoolAxis (&axes)[kSpatialDims], int64_t (&sizes)[kSpatialDims]) {
  for (size_t i = 0; i < kSpatialDims; ++i) {
    const size_t first = kSpatialDims - spatial;
    if (i >= first && !read_pool_axis(ctx, op, in, spatial, i - first, parameters, &axes[i])) {
      return false;
    }
    sizes[i] = axes[i].out;
  }
  return true;
}

Tensor& average_pool(KernelRuntimeContext& ctx, const char* op, const Tensor& in, size_t spatial,
                     const PoolParameters& parameters, bool count_include_pad,
                     const std::optional<int64_t>& divisor_override, Tensor& out) {
  PoolAxis axes[kSpatialDims];
  int64_t sizes[kSpatialDims];
  if (!check_pool_input(ctx, op, in, spatial, out) || !read_axes(ctx, op, in, spatial, parameters, axes, sizes)) {
    return out;
  }
  ET_KERNEL_CHECK_MSG(ctx, !divisor_override || *divisor_override != 0, InvalidArgument, out,
                      "%s: divisor_override must not be 0", op);
  if (!check_resize_volumes(ctx, op, out, in, spatial, sizes)) {
    return out;
  }
  const Volumes from = Volumes::of(in, spatial), to = Volumes::of(out, spatial);
  const auto pool = [&](auto tag) {
    using T = typename decltype(tag)::Type;
    const auto span_of = [&](size_t axis, int64_t o) { return window_span(axes[axis], o); };
    for_each_window(from, to, span_of, [&](const Window& window) {
      int64_t divisor = divisor_override.value_or(window.count());
      if (count_include_pad && !divisor_override) {
        divisor = 1;
        for (size_t i = 0; i < kSpatialDims; ++i) {
          divisor *= axes[i].padded_end(window.position[i]) - axes[i].start(window.position[i]);
        }
      }
      T& value = out.mutable_data_ptr<T>()[window.out];
      value =
          window.count() == 0 ? static_cast<T>(0) : average(in.const_data_ptr<T>() + window.in, from, window, divisor);
    });
  };
  if (in.scalar_type() == ScalarType::Long) {
    pool(DtypeTag<int64_t>{});
  } else {
    visit_floating(ctx, op, in.scalar_type(), pool);
  }
  return out;
}

// Reads the spatial sizes of an adaptive pooling's output.
bool read_output_size(KernelRuntimeContext& ctx, const char* op, const Tensor& in, size_t spatial, IntArrayRef list,
                      int64_t (&sizes)[kSpatialDims]) {
  for (size_t i = 0; i < kSpatialDims; ++i) {
    const size_t first = kSpatialDims - spatial;
    sizes[i] = 1;
    if (i < first) {
      continue;
    }
    if (!read_pool_value(ctx, op, "output_size", list, spatial, i - first, 0, &sizes[i])) {
      return false;
    }
    ET_KERNEL_CHECK_MSG(ctx, in.size(in.dim() - static_cast<ssize_t>(kSpatialDims - i)) > 0, InvalidArgument, false,
                        "%s: a spatial dimension of the input is empty", op);
  }
  return true;
}

Tensor& adaptive_average_pool(KernelRuntimeContext& ctx, const char* op, const Tensor& in, size_t spatial,
                              IntArrayRef output_size, Tensor& out) {
  int64_t sizes[kSpatialDims];
  if (!check_pool_input(ctx, op, in, spatial, out) || !read_output_size(ctx, op, in, spatial, output_size, sizes) ||
      !check_resize_volumes(ctx, op, out, in, spatial, sizes)) {
    return out;
  }
  const Volumes from = Volumes::of(in, spatial), to = Volumes::of(out, spatial);
  const auto span_of = [&](size_t axis, int64_t o) { return adaptive_span(from.size[axis], to.size[axis], o); };
  if (is_complex(in.scalar_type())) {
    for_each_window(from, to, span_of, [&](const Window& window) {
      Complex sum = 0.0;
      window.for_each([&](int64_t d, int64_t h, int64_t w) {
        sum += read_complex(in.const_data_ptr(), in.scalar_type(), window.in + from.at(d, h, w));
      });
      write_complex(out.mutable_data_ptr(), out.scalar_type(), window.out, sum / static_cast<double>(window.count()));
    });
    return out;
  }
  visit_floating(ctx, op, in.scalar_type(), [&](auto tag) {
    using T = typename decltype(tag)::Type;
    for_each_window(from, to, span_of, [&](const Window& window) {
      out.mutable_data_ptr<T>()[window.out] = average(in.const_data_ptr<T>() + window.in, from, window, window.count());
    });
  });
  return out;
}

template <typename SpanOf>
void max_pool(KernelRuntimeContext& ctx, const char* op, const Tensor& in, size_t spatial,
              const int64_t (&sizes)[kSpatialDims], Tensor& out, Tensor& indices, const SpanOf& span_of) {
  ET_KERNEL_CHECK_MSG(ctx, indices.scalar_type() == ScalarType::Long, InvalidArgument, , "%s: indices must be Long",
                      op);
  if (!check_resize_volumes(ctx, op, out, in, spatial, sizes) ||
      !check_resize_volumes(ctx, op, indices, in, spatial, sizes)) {
    return;
  }
  ET_KERNEL_CHECK_MSG(ctx, executorch::runtime::tensors_have_same_dim_order(out, indices), InvalidArgument, ,
                      "%s: the two outputs must have the same dim order", op);
  const Volumes from = Volumes::of(in, spatial), to = Volumes::of(out, spatial);
  visit_real(ctx, op, in.scalar_type(), [&](auto tag) {
    using T = typename decltype(tag)::Type;
    for_each_window(from, to, span_of, [&](const Window& window) {
      largest(in.const_data_ptr<T>() + window.in, from, window, out.mutable_data_ptr<T>() + window.out,
              indices.mutable_data_ptr<int64_t>() + window.out);
    });
  });
}

MaxOutputs adaptive_max_pool(KernelRuntimeContext& ctx, const char* op, const Tensor& in, size_t spatial,
                             IntArrayRef output_size, Tensor& out, Tensor& indices) {
  int64_t sizes[kSpatialDims];
  if (check_pool_input(ctx, op, in, spatial, out) && read_output_size(ctx, op, in, spatial, output_size, sizes)) {
    const Volumes from = Volumes::of(in, spatial);
    max_pool(ctx, op, in, spatial, sizes, out, indices,
             [&](size_t axis, int64_t o) { return adaptive_span(from.size[axis], sizes[axis], o); });
  }
  return {out, indices};
}

}  // namespace

Tensor& avg_pool1d_out(KernelRuntimeContext& ctx, const Tensor& in, IntArrayRef kernel_size, IntArrayRef stride,
                       IntArrayRef padding, bool ceil_mode, bool count_include_pad, Tensor& out) {
  const int64_t one = 1;
  return average_pool(ctx, "avg_pool1d.out", in, 1, {kernel_size, stride, padding, IntArrayRef(&one, 1), ceil_mode},
                      count_include_pad, {}, out);
}

Tensor& avg_pool3d_out(KernelRuntimeContext& ctx, const Tensor& in, IntArrayRef kernel_size, IntArrayRef stride,
                       IntArrayRef padding, bool ceil_mode, bool count_include_pad,
                       std::optional<int64_t> divisor_override, Tensor& out) {
  const int64_t one = 1;
  return average_pool(ctx, "avg_pool3d.out", in, 3, {kernel_size, stride, padding, IntArrayRef(&one, 1), ceil_mode},
                      count_include_pad, divisor_override, out);
}

/// indices holds the position (d * H + h) * W + w of each maximum in its channel.
MaxOutputs max_pool3d_with_indices_out(KernelRuntimeContext& ctx, const Tensor& in, IntArrayRef kernel_size,
                                       IntArrayRef stride, IntArrayRef padding, IntArrayRef dilation, bool ceil_mode,
                                       Tensor& out, Tensor& indices) {
  const char* op = "max_pool3d_with_indices.out";
  PoolAxis axes[kSpatialDims];
  int64_t sizes[kSpatialDims];
  if (check_pool_input(ctx, op, in, 3, out) &&
      read_axes(ctx, op, in, 3, {kernel_size, stride, padding, dilation, ceil_mode}, axes, sizes)) {
    max_pool(ctx, op, in, 3, sizes, out, indices, [&](size_t axis, int64_t o) { return window_span(axes[axis], o); });
  }
  return {out, indices};
}

Tensor& adaptive_avg_pool1d_out(KernelRuntimeContext& ctx, const Tensor& in, IntArrayRef output_size, Tensor& out) {
  return adaptive_average_pool(ctx, "adaptive_avg_pool1d.out", in, 1, output_size, out);
}

Tensor& _adaptive_avg_pool3d_out(KernelRuntimeContext& ctx, const Tensor& in, IntArrayRef output_size, Tensor& out) {
  return adaptive_average_pool(ctx, "_adaptive_avg_pool3d.out", in, 3, output_size, out);
}

/// indices holds the position h * W + w of each maximum in its plane.
MaxOutputs adaptive_max_pool2d_out(KernelRuntimeContext& ctx, const Tensor& in, IntArrayRef output_size, Tensor& out,
                                   Tensor& indices) {
  return adaptive_max_pool(ctx, "adaptive_max_pool2d.out", in, 2, output_size, out, indices);
}

MaxOutputs adaptive_max_pool3d_out(KernelRuntimeContext& ctx, const Tensor& in, IntArrayRef output_size, Tensor& out,
                                   Tensor& indices) {
  return adaptive_max_pool(ctx, "adaptive_max_pool3d.out", in, 3, output_size, out, indices);
}

}  // namespace torch::executor::native
