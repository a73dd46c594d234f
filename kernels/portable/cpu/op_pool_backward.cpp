// SPDX-License-Identifier: BSD-3-Clause
// The gradients of pooling: avg_pool2d_backward.grad_input, max_pool2d_with_indices_backward.grad_input,
// _adaptive_avg_pool2d_backward.out.
#include <optional>
#include <type_traits>

#include "kernels/portable/cpu/math/accumulate_type.h"
#include "kernels/portable/cpu/math/pooling.h"
#include "kernels/portable/cpu/math/visit_dtype.h"

namespace torch::executor::native {
namespace {

// Resizes `grad_input` to the shape of `in`. `gradient` must have the batch and channels of `in` and the given spatial
// sizes.
bool prepare(KernelRuntimeContext& ctx, const char* op, const Tensor& gradient, const Tensor& in, int64_t height,
             int64_t width, Tensor& grad_input) {
  bool fits =
      gradient.dim() == in.dim() && gradient.size(in.dim() - 2) == height && gradient.size(in.dim() - 1) == width;
  for (ssize_t d = 0; fits && d < in.dim() - 2; ++d) {
    fits = gradient.size(d) == in.size(d);
  }
  ET_KERNEL_CHECK_MSG(ctx, fits, InvalidArgument, false,
                      "%s: the gradient must have the shape of the result of pooling", op);
  return check_same_dtype(ctx, op, gradient, in) && check_resize_like(ctx, op, grad_input, in);
}

// The windows [begin, end), of `count`, that cover position `p` of an axis.
template <typename SpanOf>
Span windows_over(const SpanOf& span_of, size_t axis, int64_t count, int64_t p) {
  const auto first = [&](const auto& is_beyond) {
    int64_t low = 0, high = count;
    while (low < high) {
      const int64_t middle = low + (high - low) / 2;
      is_beyond(span_of(axis, middle)) ? high = middle : low = middle + 1;
    }
    return low;
  };
  return {first([p](const Span& span) { return span.end > p; }),
          first([p](const Span& span) { return span.begin > p; }), 1};
}

// Sets each element of the result to the sum of share(element of the gradient, its window, position in the plane) over
// the windows that cover it, so that a Half is rounded only once.
template <typename SpanOf, typename Share>
void gather_windows(const Tensor& in, const Tensor& gradient, const SpanOf& span_of, const Share& share) {
  const Volumes to = Volumes::of(in, 2), from = Volumes::of(gradient, 2);
  for (int64_t n = 0; n < to.batch && in.numel() > 0; ++n) {
    for (int64_t c = 0; c < to.channels; ++c) {
      for (int64_t h = 0; h < to.size[1]; ++h) {
        const Span rows = windows_over(span_of, 1, from.size[1], h);
        for (int64_t w = 0; w < to.size[2]; ++w) {
          const Span columns = windows_over(span_of, 2, from.size[2], w);
          share(n * to.batch_stride + c * to.channel_stride + to.at(0, h, w),
                n * from.batch_stride + c * from.channel_stride, rows, columns, to.number(0, h, w), n, c);
        }
      }
    }
  }
}

// Spreads each element of the gradient evenly over its window; a share of an int64 is truncated, as in PyTorch.
template <typename SpanOf, typename DivisorOf>
void spread(KernelRuntimeContext& ctx, const char* op, const Tensor& gradient, Tensor& grad_input,
            const SpanOf& span_of, const DivisorOf& divisor_of) {
  const Volumes from = Volumes::of(gradient, 2);
  const auto spread_in = [&](auto tag) {
    using T = typename decltype(tag)::Type;
    using Sum = AccumulateType<T>;
    gather_windows(
        grad_input, gradient, span_of,
        [&](int64_t target, int64_t channel, const Span& rows, const Span& columns, int64_t, int64_t, int64_t) {
          Sum sum = 0;
          Window window = {};
          for (int64_t h = rows.begin; h < rows.end; ++h) {
            for (int64_t w = columns.begin; w < columns.end; ++w) {
              window.position[1] = h;
              window.position[2] = w;
              window.span[1] = span_of(1, h);
              window.span[2] = span_of(2, w);
              const T value = gradient.const_data_ptr<T>()[channel + from.at(0, h, w)];
              if constexpr (std::is_integral<T>::value) {
                const T divisor = static_cast<T>(divisor_of(window));
                // The one quotient that overflows wraps around.
                sum += divisor == -1 ? Sum(0) - static_cast<Sum>(value) : static_cast<Sum>(value / divisor);
              } else {
                sum += static_cast<Sum>(value) / static_cast<Sum>(divisor_of(window));
              }
            }
          }
          grad_input.mutable_data_ptr<T>()[target] = static_cast<T>(sum);
        });
  };
  if (gradient.scalar_type() == ScalarType::Long) {
    visit_selected<int64_t, is_selected(ScalarType::Long)>(ctx, op, ScalarType::Long, spread_in);
  } else {
    visit_floating(ctx, op, gradient.scalar_type(), spread_in);
  }
}

}  // namespace

Tensor& avg_pool2d_backward_grad_input(KernelRuntimeContext& ctx, const Tensor& grad_output, const Tensor& in,
                                       IntArrayRef kernel_size, IntArrayRef stride, IntArrayRef padding, bool ceil_mode,
                                       bool count_include_pad, std::optional<int64_t> divisor_override,
                                       Tensor& grad_input) {
  const char* op = "avg_pool2d_backward.grad_input";
  const int64_t one = 1;
  const PoolParameters parameters = {kernel_size, stride, padding, IntArrayRef(&one, 1), ceil_mode};
  PoolAxis axes[kSpatialDims];
  ET_KERNEL_CHECK_MSG(ctx, !divisor_override || *divisor_override != 0, InvalidArgument, grad_input,
                      "%s: divisor_override must not be 0", op);
  if (check_pool_input(ctx, op, in, 2, grad_input) && read_pool_axis(ctx, op, in, 2, 0, parameters, &axes[1]) &&
      read_pool_axis(ctx, op, in, 2, 1, parameters, &axes[2]) &&
      prepare(ctx, op, grad_output, in, axes[1].out, axes[2].out, grad_input)) {
    spread(
        ctx, op, grad_output, grad_input, [&](size_t axis, int64_t o) { return window_span(axes[axis], o); },
        [&](const Window& window) {
          int64_t padded = 1;
          for (size_t i = 0; i < kSpatialDims; ++i) {
            padded *= axes[i].padded_end(window.position[i]) - axes[i].start(window.position[i]);
          }
          return divisor_override.value_or(count_include_pad ? padded : window.count());
        });
  }
  return grad_input;
}

Tensor& _adaptive_avg_pool2d_backward_out(KernelRuntimeContext& ctx, const Tensor& grad_output, const Tensor& in,
                                          Tensor& out) {
  const char* op = "_adaptive_avg_pool2d_backward.out";
  if (!check_pool_input(ctx, op, in, 2, out) || !check_pool_input(ctx, op, grad_output, 2, out)) {
    return out;
  }
  const ssize_t rows = grad_output.dim() - 2;
  ET_KERNEL_CHECK_MSG(ctx, grad_output.size(rows) > 0 && grad_output.size(rows + 1) > 0, InvalidArgument, out,
                      "%s: the gradient is empty", op);
  if (prepare(ctx, op, grad_output, in, grad_output.size(rows), grad_output.size(rows + 1), out)) {
    const Volumes to = Volumes::of(out, 2), from = Volumes::of(grad_output, 2);
    spread(
        ctx, op, grad_output, out,
        [&](size_t axis, int64_t o) { return adaptive_span(to.size[axis], from.size[axis], o); },
        [](const Window& window) { return window.count(); });
  }
  return out;
}

Tensor& max_pool2d_with_indices_backward_out(KernelRuntimeContext& ctx, const Tensor& grad_output, const Tensor& in,
                                             IntArrayRef kernel_size, IntArrayRef stride, IntArrayRef padding,
                                             IntArrayRef dilation, bool ceil_mode, const Tensor& indices,
                                             Tensor& grad_input) {
  const char* op = "max_pool2d_with_indices_backward.grad_input";
  const PoolParameters parameters = {kernel_size, stride, padding, dilation, ceil_mode};
  PoolAxis y, x;
  if (!check_pool_input(ctx, op, in, 2, grad_input) || !read_pool_axis(ctx, op, in, 2, 0, parameters, &y) ||
      !read_pool_axis(ctx, op, in, 2, 1, parameters, &x) ||
      !prepare(ctx, op, grad_output, in, y.out, x.out, grad_input)) {
    return grad_input;
  }
  ET_KERNEL_CHECK_MSG(ctx, indices.scalar_type() == ScalarType::Long && indices.sizes() == grad_output.sizes(),
                      InvalidArgument, grad_input, "%s: the indices must be int64 and have the shape of the gradient",
                      op);
  const Volumes from = Volumes::of(grad_output, 2), places = Volumes::of(indices, 2);
  const PoolAxis axes[kSpatialDims] = {PoolAxis(), y, x};
  visit_floating(ctx, op, in.scalar_type(), [&](auto tag) {
    using T = typename decltype(tag)::Type;
    using Sum = AccumulateType<T>;
    gather_windows(
        grad_input, grad_output, [&](size_t axis, int64_t o) { return window_span(axes[axis], o); },
        [&](int64_t target, int64_t channel, const Span& rows, const Span& columns, int64_t number, int64_t n,
            int64_t c) {
          Sum sum = 0;
          const int64_t* place =
              indices.const_data_ptr<int64_t>() + n * places.batch_stride + c * places.channel_stride;
          for (int64_t h = rows.begin; h < rows.end; ++h) {
            for (int64_t w = columns.begin; w < columns.end; ++w) {
              if (place[places.at(0, h, w)] == number) {
                sum += static_cast<Sum>(grad_output.const_data_ptr<T>()[channel + from.at(0, h, w)]);
              }
            }
          }
          grad_input.mutable_data_ptr<T>()[target] = static_cast<T>(sum);
        });
  });
  return grad_input;
}

}  // namespace torch::executor::native
