// SPDX-License-Identifier: BSD-3-Clause
// cadence::quantized_max_pool2d_nchw, quantized_max_pool2d_nhwc, avg_pool2d
#include "kernels/cadence/cpu/quantized.h"
#include "kernels/cadence/cpu/window.h"

namespace torch::executor::native {
namespace {

using namespace cadence;

// The number of windows along a dimension. With ceil_mode, the last one may begin in the input or its left padding and
// end after the right padding.
int64_t windows(const Window& w, size_t d, bool ceil_mode) {
  const int64_t room = w.sizes[d] + 2 * w.padding[d] - w.dilation[d] * (w.kernel[d] - 1) - 1;
  int64_t count = (room + (ceil_mode ? w.stride[d] - 1 : 0)) / w.stride[d] + 1;
  if (ceil_mode && (count - 1) * w.stride[d] >= w.sizes[d] + w.padding[d]) {
    --count;
  }
  return count;
}

struct Pool {
  IntArrayRef kernel;
  IntArrayRef stride;  // empty means the size of the kernel
  IntArrayRef padding;
  IntArrayRef dilation;
  bool ceil_mode;
};

bool prepare(KernelRuntimeContext& ctx, const char* op, const Tensor& input, const Pool& pool, bool is_last, Window* w,
             Tensor& out) {
  ET_KERNEL_CHECK_MSG(ctx, input.dim() == 4, InvalidArgument, false, "%s: expected an image of 4 dimensions, found %zd",
                      op, static_cast<ssize_t>(input.dim()));
  const int64_t zero = 0;
  if (!read_image(ctx, op, input, is_last, w) || !read_numbers(ctx, op, "kernel_size", pool.kernel, 2, 1, w->kernel) ||
      !read_places(ctx, op, 4, pool.stride.empty() ? pool.kernel : pool.stride,
                   pool.padding.empty() ? IntArrayRef(&zero, 1) : pool.padding, pool.dilation, w)) {
    return false;
  }
  for (size_t d = 0; d < 2; ++d) {
    ET_KERNEL_CHECK_MSG(ctx, w->padding[d] * 2 <= w->kernel[d], InvalidArgument, false,
                        "%s: expected a padding of at most half the kernel, found %lld for %lld", op,
                        static_cast<long long>(w->padding[d]), static_cast<long long>(w->kernel[d]));
    const int64_t room = w->sizes[d] + 2 * w->padding[d] - w->dilation[d] * (w->kernel[d] - 1) - 1;
    ET_KERNEL_CHECK_MSG(ctx, room >= 0, InvalidArgument, false, "%s: expected a kernel within the padded image", op);
    w->results[d] = windows(*w, d, pool.ceil_mode);
  }
  return check_same_dtype(ctx, op, input, out) && resize_image(ctx, op, 4, is_last, w, out);
}

// Calls visit(value) for each element of a window that is in the image.
template <typename T, typename Visit>
void for_each_in_window(const Window& w, const T* plane, int64_t y, int64_t x, const Visit& visit) {
  for (int64_t ky = 0; ky < w.kernel[0]; ++ky) {
    const int64_t in_y = y * w.stride[0] - w.padding[0] + ky * w.dilation[0];
    for (int64_t kx = 0; in_y >= 0 && in_y < w.sizes[0] && kx < w.kernel[1]; ++kx) {
      const int64_t in_x = x * w.stride[1] - w.padding[1] + kx * w.dilation[1];
      if (in_x >= 0 && in_x < w.sizes[1]) {
        visit(plane[in_y * w.in.y + in_x * w.in.x]);
      }
    }
  }
}

// Calls compute(plane, y, x) for each element of the output and stores it.
template <typename T, typename Compute>
void for_each_result(const Window& w, const T* input, T* results, const Compute& compute) {
  for (int64_t n = 0; n < w.batch; ++n) {
    for (int64_t c = 0; c < w.channels; ++c) {
      for (int64_t y = 0; y < w.results[0]; ++y) {
        for (int64_t x = 0; x < w.results[1]; ++x) {
          results[n * w.out.outer + c * w.out.channel + y * w.out.y + x * w.out.x] =
              compute(input + n * w.in.outer + c * w.in.channel, y, x);
        }
      }
    }
  }
}

Tensor& max_pool(KernelRuntimeContext& ctx, const char* op, const Tensor& input, const Pool& pool, bool is_last,
                 Tensor& out) {
  Window w{};
  if (!prepare(ctx, op, input, pool, is_last, &w, out)) {
    return out;
  }
  dispatch<int8_t, uint8_t, int16_t>(ctx, op, "an input", input.scalar_type(), [&](auto zero) {
    using T = decltype(zero);
    for_each_result(w, input.const_data_ptr<T>(), out.mutable_data_ptr<T>(), [&](const T* plane, int64_t y, int64_t x) {
      T most = std::numeric_limits<T>::min();
      for_each_in_window(w, plane, y, x, [&](T value) { most = value > most ? value : most; });
      return most;
    });
  });
  return out;
}

// The number of elements of a window between the borders of the padding.
int64_t padded_count(const Window& w, int64_t y, int64_t x) {
  const int64_t at[2] = {y, x};
  int64_t count = 1;
  for (size_t d = 0; d < 2; ++d) {
    const int64_t start = at[d] * w.stride[d] - w.padding[d];
    const int64_t end = start + w.kernel[d], most = w.sizes[d] + w.padding[d];
    count *= (end < most ? end : most) - start;
  }
  return count;
}

}  // namespace

Tensor& cadence_quantized_max_pool2d_nchw_out(KernelRuntimeContext& ctx, const Tensor& input, IntArrayRef kernel_size,
                                              IntArrayRef stride, IntArrayRef padding, IntArrayRef dilation,
                                              bool ceil_mode, Tensor& out) {
  return max_pool(ctx, "cadence::quantized_max_pool2d_nchw", input, {kernel_size, stride, padding, dilation, ceil_mode},
                  false, out);
}

Tensor& cadence_quantized_max_pool2d_nhwc_out(KernelRuntimeContext& ctx, const Tensor& input, IntArrayRef kernel_size,
                                              IntArrayRef stride, IntArrayRef padding, IntArrayRef dilation,
                                              bool ceil_mode, Tensor& out) {
  return max_pool(ctx, "cadence::quantized_max_pool2d_nhwc", input, {kernel_size, stride, padding, dilation, ceil_mode},
                  true, out);
}

/// Means of floats, or, with a zero point, of integers, rounded to nearest even. Means of integers include the border,
/// whose elements are the zero point, or 0 without count_include_pad.
Tensor& cadence_avg_pool2d_out(KernelRuntimeContext& ctx, const Tensor& input, IntArrayRef kernel_size,
                               IntArrayRef stride, IntArrayRef padding, bool ceil_mode, bool count_include_pad,
                               std::optional<int64_t> divisor_override, const std::optional<Tensor>& in_zero_point,
                               bool channel_last, Tensor& out) {
  constexpr const char* op = "cadence::avg_pool2d";
  const int64_t one = 1;
  Window w{};
  double border = 0;
  ET_KERNEL_CHECK_MSG(ctx, !channel_last, InvalidArgument, out, "%s: expected channel_last=False", op);
  ET_KERNEL_CHECK_MSG(ctx, !divisor_override.has_value() || *divisor_override != 0, InvalidArgument, out,
                      "%s: expected a divisor that is not 0", op);
  if ((in_zero_point.has_value() && !read_number(ctx, op, "in_zero_point", *in_zero_point, &border)) ||
      !prepare(ctx, op, input, {kernel_size, stride, padding, IntArrayRef(&one, 1), ceil_mode}, false, &w, out)) {
    return out;
  }
  border = count_include_pad ? border : 0;
  const bool is_quantized = in_zero_point.has_value();
  const auto divisor = [&](int64_t y, int64_t x, int64_t valid) {
    const bool counts = is_quantized || count_include_pad;
    return divisor_override.has_value() ? *divisor_override : counts ? padded_count(w, y, x) : valid;
  };
  if (!is_quantized) {
    dispatch<float>(ctx, op, "an input without a zero point", input.scalar_type(), [&](auto) {
      for_each_result(w, input.const_data_ptr<float>(), out.mutable_data_ptr<float>(),
                      [&](const float* plane, int64_t y, int64_t x) {
                        float sum = 0;
                        int64_t valid = 0;
                        for_each_in_window(w, plane, y, x, [&](float value) { sum += value, ++valid; });
                        return sum / static_cast<float>(divisor(y, x, valid));
                      });
    });
    return out;
  }
  dispatch<int8_t, uint8_t, int16_t>(ctx, op, "an input with a zero point", input.scalar_type(), [&](auto zero) {
    using T = decltype(zero);
    const Quantizer<T> round(1.0f, 0);
    for_each_result(w, input.const_data_ptr<T>(), out.mutable_data_ptr<T>(), [&](const T* plane, int64_t y, int64_t x) {
      int64_t sum = 0, valid = 0;
      for_each_in_window(w, plane, y, x, [&](T value) { sum += value, ++valid; });
      const double total = static_cast<double>(sum) + border * static_cast<double>(padded_count(w, y, x) - valid);
      return round(static_cast<float>(total) / static_cast<float>(divisor(y, x, valid)));
    });
  });
  return out;
}

}  // namespace torch::executor::native
