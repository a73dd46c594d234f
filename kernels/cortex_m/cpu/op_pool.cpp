// SPDX-License-Identifier: BSD-3-Clause
// cortex_m::quantized_avg_pool2d, quantized_max_pool2d
#include "kernels/cortex_m/cpu/cmsis_nn.h"

namespace torch::executor::native {
namespace {

using namespace cortex_m;

bool check_pool(KernelRuntimeContext& ctx, const char* op, const Tensor& in, IntArrayRef kernel_size,
                IntArrayRef stride, IntArrayRef padding, IntArrayRef dilation, Window* window) {
  int64_t kernel[2];
  if (!check_image(ctx, op, "an input", in) || !check_pair(ctx, op, "kernel size", kernel_size, 1, kernel) ||
      !check_window(ctx, op, in, kernel, stride.empty() ? kernel_size : stride, padding, dilation, window)) {
    return false;
  }
  for (const Axis& axis : {window->height, window->width}) {
    // With such padding, each window without dilation has a pixel of the image.
    ET_KERNEL_CHECK_MSG(ctx, axis.padding <= axis.spread() / 2, InvalidArgument, false,
                        "%s: expected a padding of at most half of the kernel, found %lld and %lld", op,
                        static_cast<long long>(axis.padding), static_cast<long long>(axis.spread()));
  }
  return true;
}

// Stores result(visit) for each window and channel: visit(take) calls take with each element of the window that is in
// the image.
template <typename Result>
void pool(const Tensor& input, Tensor& out, const Window& window, const Result& result) {
  const auto channels = static_cast<size_t>(input.size(1));
  const auto image_size = channels * static_cast<size_t>(input.size(2) * input.size(3));
  const int8_t* const values = input.const_data_ptr<int8_t>();
  int8_t* const results = out.mutable_data_ptr<int8_t>();
  for_each_window(out, window, [&](size_t n, const Taps& rows, const Taps& columns, size_t pixel) {
    const int8_t* const image = values + n * image_size;
    for (size_t channel = 0; channel < channels; ++channel) {
      results[pixel * channels + channel] = static_cast<int8_t>(result([&](const auto& take) {
        window.for_each(rows, columns, [&](size_t, size_t, size_t at) { take(image[at * channels + channel]); });
      }));
    }
  });
}

}  // namespace

/// The mean of the elements in the image, not of the padding, rounded to nearest, ties away from zero. The result has
/// the scale and the zero point of the input, so that neither they nor the multiplier change it.
Tensor& cortex_m_quantized_avg_pool2d_out(KernelRuntimeContext& ctx, const Tensor& input, IntArrayRef kernel_size,
                                          IntArrayRef stride, IntArrayRef padding, int64_t zero_point,
                                          int64_t multiplier, int64_t shift, const Tensor& scratch, Tensor& out) {
  constexpr const char* op = "cortex_m::quantized_avg_pool2d";
  constexpr int64_t kDense[] = {1};
  Window window{};
  if (!check_pool(ctx, op, input, kernel_size, stride, padding, IntArrayRef(kDense, 1), &window) ||
      !check_offset(ctx, op, "a zero point", zero_point) || !check_multiplier(ctx, op, multiplier, shift) ||
      !check_resize_image(ctx, op, out, input.size(0), input.size(1), window.height.windows(),
                          window.width.windows()) ||
      cmsis_nn::avg_pool(ctx, {op, input, window}, scratch, out)) {
    return out;
  }
  pool(input, out, window, [](const auto& visit) {
    int32_t sum = 0;
    int32_t count = 0;
    visit([&](int32_t value) {
      sum += value;
      ++count;
    });
    sum += sum > 0 ? count / 2 : -(count / 2);
    return sum / count;
  });
  return out;
}

Tensor& cortex_m_quantized_max_pool2d_out(KernelRuntimeContext& ctx, const Tensor& input, IntArrayRef kernel_size,
                                          IntArrayRef stride, IntArrayRef padding, IntArrayRef dilation, bool ceil_mode,
                                          int64_t input_zero_point, int64_t output_zero_point, int64_t activation_min,
                                          int64_t activation_max, Tensor& out) {
  constexpr const char* op = "cortex_m::quantized_max_pool2d";
  Window window{};
  Int8Output output{};
  if (!check_pool(ctx, op, input, kernel_size, stride, padding, dilation, &window) ||
      !check_output(ctx, op, output_zero_point, activation_min, activation_max, &output)) {
    return out;
  }
  ET_KERNEL_CHECK_MSG(ctx, input_zero_point == output_zero_point, InvalidArgument, out,
                      "%s: expected one zero point for the input and the output, found %lld and %lld", op,
                      static_cast<long long>(input_zero_point), static_cast<long long>(output_zero_point));
  const int64_t height = ceil_mode ? window.height.windows_rounded_up() : window.height.windows();
  const int64_t width = ceil_mode ? window.width.windows_rounded_up() : window.width.windows();
  if (!check_resize_image(ctx, op, out, input.size(0), input.size(1), height, width) ||
      cmsis_nn::max_pool(ctx, {op, input, window}, output, out)) {
    return out;
  }
  pool(input, out, window, [&](const auto& visit) {
    int32_t largest = INT8_MIN;
    visit([&](int32_t value) { largest = value > largest ? value : largest; });
    return clamp(largest, output.min, output.max);
  });
  return out;
}

}  // namespace torch::executor::native
