// SPDX-License-Identifier: BSD-3-Clause
// cadence::transposed_convolution, quantized_transposed_conv: convolutions over an input with gaps of stride - 1
// between its elements. Weights are (outputs of a group, inputs, kernel), or with channels last (outputs, kernel,
// inputs).
#include "kernels/cadence/cpu/quantized.h"
#include "kernels/cadence/cpu/window.h"

namespace torch::executor::native {
namespace {

using namespace cadence;

struct Places {
  IntArrayRef stride;
  IntArrayRef padding;
  IntArrayRef dilation;
  IntArrayRef output_padding;
  int64_t groups;
  bool is_last;
};

bool prepare(KernelRuntimeContext& ctx, const char* op, const Tensor& input, const Tensor& weight, const Tensor& bias,
             const Places& places, Window* w, Tensor& out) {
  const size_t rank = static_cast<size_t>(input.dim());
  if (!read_image(ctx, op, input, places.is_last, w)) {
    return false;
  }
  ET_KERNEL_CHECK_MSG(ctx, weight.dim() == input.dim(), InvalidArgument, false,
                      "%s: expected weights of %zu dimensions, found %zd", op, rank,
                      static_cast<ssize_t>(weight.dim()));
  const ssize_t first = places.is_last ? 1 : 2;
  w->kernel[0] = rank == 4 ? weight.size(first) : 1;
  w->kernel[1] = weight.size(first + (rank == 4 ? 1 : 0));
  w->groups = places.groups;
  w->outputs = weight.size(0) * places.groups;
  const int64_t inputs = weight.size(places.is_last ? weight.dim() - 1 : 1);
  const int64_t pixels = w->kernel[0] * w->kernel[1];
  ET_KERNEL_CHECK_MSG(ctx, places.groups > 0 && w->channels % places.groups == 0 && inputs == w->channels,
                      InvalidArgument, false, "%s: expected weights of %lld channels in %lld groups, found %lld", op,
                      static_cast<long long>(w->channels), static_cast<long long>(places.groups),
                      static_cast<long long>(inputs));
  ET_KERNEL_CHECK_MSG(ctx, bias.numel() == w->outputs, InvalidArgument, false,
                      "%s: expected a bias of %lld numbers, found %zd", op, static_cast<long long>(w->outputs),
                      static_cast<ssize_t>(bias.numel()));
  w->weight = places.is_last ? Strides{pixels * inputs, 1, w->kernel[1] * inputs, inputs}
                             : Strides{pixels * inputs, pixels, w->kernel[1], 1};
  int64_t more[2] = {0, 0};
  const size_t count = rank == 4 ? 2 : 1, at = 2 - count;
  if (!read_places(ctx, op, rank, places.stride, places.padding, places.dilation, w) ||
      !read_numbers(ctx, op, "output_padding", places.output_padding, count, 0, more + at)) {
    return false;
  }
  for (size_t d = at; d < 2; ++d) {
    w->results[d] =
        (w->sizes[d] - 1) * w->stride[d] - 2 * w->padding[d] + w->dilation[d] * (w->kernel[d] - 1) + more[d] + 1;
  }
  w->results[0] = rank == 4 ? w->results[0] : 1;
  return check_order(ctx, op, "weights", weight) && resize_image(ctx, op, rank, places.is_last, w, out);
}

// The input index that output index `at` reads through kernel element `k`, or -1.
int64_t source(const Window& w, size_t d, int64_t at, int64_t k) {
  const int64_t stretched = at - (w.kernel[d] - 1 - k) * w.dilation[d] + w.padding[d];
  return stretched >= 0 && stretched % w.stride[d] == 0 && stretched / w.stride[d] < w.sizes[d]
             ? stretched / w.stride[d]
             : -1;
}

// Calls store(index, output, sum) for each element, with the sum of (x - x_zero) * (w - w_zero).
template <typename Sum, typename X, typename W, typename Store>
void convolve(const Window& w, const X* input, Sum x_zero, const W* weights, Sum w_zero, const Store& store) {
  for (int64_t n = 0; n < w.batch; ++n) {
    for (int64_t o = 0; o < w.outputs; ++o) {
      const int64_t first = o / w.outputs_of_group() * w.inputs_of_group();
      for (int64_t y = 0; y < w.results[0]; ++y) {
        for (int64_t x = 0; x < w.results[1]; ++x) {
          Sum sum = 0;
          for (int64_t ky = 0; ky < w.kernel[0]; ++ky) {
            const int64_t in_y = source(w, 0, y, ky);
            for (int64_t kx = 0; in_y >= 0 && kx < w.kernel[1]; ++kx) {
              const int64_t in_x = source(w, 1, x, kx);
              for (int64_t c = first; in_x >= 0 && c < first + w.inputs_of_group(); ++c) {
                const X value = input[n * w.in.outer + c * w.in.channel + in_y * w.in.y + in_x * w.in.x];
                const W weight = weights[o % w.outputs_of_group() * w.weight.outer + c * w.weight.channel +
                                         ky * w.weight.y + kx * w.weight.x];
                sum += (static_cast<Sum>(value) - x_zero) * (static_cast<Sum>(weight) - w_zero);
              }
            }
          }
          store(n * w.out.outer + o * w.out.channel + y * w.out.y + x * w.out.x, o, sum);
        }
      }
    }
  }
}

}  // namespace

Tensor& cadence_transposed_convolution_out(KernelRuntimeContext& ctx, const Tensor& input, const Tensor& weight,
                                           const Tensor& bias, IntArrayRef stride, IntArrayRef padding,
                                           IntArrayRef dilation, IntArrayRef output_padding, int64_t groups,
                                           bool channel_last, Tensor& out) {
  constexpr const char* op = "cadence::transposed_convolution";
  Window w{};
  if (!check_dtype(ctx, op, "an input", input, ScalarType::Float) ||
      !check_dtype(ctx, op, "weights", weight, ScalarType::Float) ||
      !check_dtype(ctx, op, "a bias", bias, ScalarType::Float) || !check_same_dtype(ctx, op, input, out) ||
      !prepare(ctx, op, input, weight, bias, {stride, padding, dilation, output_padding, groups, channel_last}, &w,
               out)) {
    return out;
  }
  const float* const biases = bias.const_data_ptr<float>();
  float* const results = out.mutable_data_ptr<float>();
  convolve<float>(w, input.const_data_ptr<float>(), 0.0f, weight.const_data_ptr<float>(), 0.0f,
                  [&](int64_t at, int64_t o, float sum) { results[at] = sum + biases[o]; });
  return out;
}

Tensor& cadence_quantized_transposed_conv_out(KernelRuntimeContext& ctx, const Tensor& input, const Tensor& weight,
                                              const Tensor& bias, IntArrayRef stride, IntArrayRef padding,
                                              IntArrayRef dilation, IntArrayRef output_padding, int64_t groups,
                                              int64_t input_zero_point, const Tensor& weight_zero_point,
                                              const Tensor& bias_scale, double out_scale, int64_t out_zero_point,
                                              const Tensor& /*out_multiplier*/, const Tensor& /*out_shift*/,
                                              bool channel_last, Tensor& out) {
  constexpr const char* op = "cadence::quantized_transposed_conv";
  Window w{};
  double scale = 0;
  int64_t w_zero = 0;
  if (!read_number(ctx, op, "weight_zero_point", weight_zero_point, &w_zero) ||
      !read_number(ctx, op, "bias_scale", bias_scale, &scale) || !check_scale(ctx, op, "out_scale", out_scale) ||
      !check_zero_point(ctx, op, input_zero_point) || !check_zero_point(ctx, op, w_zero) ||
      !check_dtype(ctx, op, "a bias", bias, ScalarType::Int) || !check_same_dtype(ctx, op, input, out) ||
      !prepare(ctx, op, input, weight, bias, {stride, padding, dilation, output_padding, groups, channel_last}, &w,
               out)) {
    return out;
  }
  const int32_t* const biases = bias.const_data_ptr<int32_t>();
  dispatch<int8_t, uint8_t, int16_t>(ctx, op, "an input", input.scalar_type(), [&](auto zero) {
    using T = decltype(zero);
    dispatch<int8_t, uint8_t, int16_t>(ctx, op, "weights", weight.scalar_type(), [&](auto weight_zero) {
      const Quantizer<T> quantize(inverse(out_scale), out_zero_point);
      T* const results = out.mutable_data_ptr<T>();
      convolve<int64_t>(w, input.const_data_ptr<T>(), input_zero_point, weight.const_data_ptr<decltype(weight_zero)>(),
                        w_zero, [&](int64_t at, int64_t o, int64_t sum) {
                          results[at] = quantize(static_cast<float>(sum + biases[o]) * static_cast<float>(scale));
                        });
    });
  });
  return out;
}

}  // namespace torch::executor::native
