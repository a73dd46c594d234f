// SPDX-License-Identifier: BSD-3-Clause
// cadence::quantized_conv1d and conv2d, channels first (ncl, nchw) or last (nlc, nhwc), depthwise or not. Weights are
// (outputs, inputs of a group, kernel), or (outputs, kernel, inputs), or (kernel, outputs) of a depthwise convolution.
#include "kernels/cadence/cpu/convolution_8bit.h"
#include "kernels/cadence/cpu/window.h"

namespace torch::executor::native {
namespace {

using namespace cadence;

struct Numbers {
  int64_t input_zero_point;
  int64_t weight_zero_point;
  double bias_scale;
  double out_scale;
  int64_t out_zero_point;
};

// Stores the sizes and strides of the weights.
bool read_weights(KernelRuntimeContext& ctx, const char* op, const Tensor& weight, size_t rank, bool is_last,
                  int64_t groups, Window* w) {
  const bool is_short = is_last && groups > 1 && groups == w->channels && static_cast<size_t>(weight.dim()) + 1 == rank;
  ET_KERNEL_CHECK_MSG(ctx, is_short || static_cast<size_t>(weight.dim()) == rank, InvalidArgument, false,
                      "%s: expected weights of %zu dimensions, found %zd", op, rank,
                      static_cast<ssize_t>(weight.dim()));
  const ssize_t last = weight.dim() - 1;
  const ssize_t first = is_short ? 0 : (is_last ? 1 : 2);
  w->kernel[0] = rank == 4 ? weight.size(first) : 1;
  w->kernel[1] = weight.size(first + (rank == 4 ? 1 : 0));
  w->outputs = weight.size(is_short ? last : 0);
  w->groups = groups;
  const int64_t inputs = is_short ? 1 : weight.size(is_last ? last : 1);
  ET_KERNEL_CHECK_MSG(
      ctx, groups > 0 && w->channels % groups == 0 && w->outputs % groups == 0 && inputs == w->channels / groups,
      InvalidArgument, false, "%s: expected weights of %lld channels / %lld groups, found %lld for %lld outputs", op,
      static_cast<long long>(w->channels), static_cast<long long>(groups), static_cast<long long>(inputs),
      static_cast<long long>(w->outputs));
  const int64_t pixels = w->kernel[0] * w->kernel[1];
  if (is_short) {
    w->weight = {1, 0, w->kernel[1] * w->outputs, w->outputs};
  } else if (is_last) {
    w->weight = {pixels * inputs, 1, w->kernel[1] * inputs, inputs};
  } else {
    w->weight = {inputs * pixels, pixels, w->kernel[1], 1};
  }
  return check_order(ctx, op, "weights", weight);
}

// The exact sum for one element of the output.
template <typename X, typename W>
int64_t sum_at(const Window& w, const X* image, const W* weights, int64_t x_zero, int64_t w_zero, int64_t y,
               int64_t x) {
  int64_t sum = 0;
  for (int64_t ky = 0; ky < w.kernel[0]; ++ky) {
    const int64_t in_y = y * w.stride[0] - w.padding[0] + ky * w.dilation[0];
    if (in_y < 0 || in_y >= w.sizes[0]) {
      continue;
    }
    for (int64_t kx = 0; kx < w.kernel[1]; ++kx) {
      const int64_t in_x = x * w.stride[1] - w.padding[1] + kx * w.dilation[1];
      if (in_x < 0 || in_x >= w.sizes[1]) {
        continue;
      }
      sum += sum_of_products(image + in_y * w.in.y + in_x * w.in.x, x_zero, weights + ky * w.weight.y + kx * w.weight.x,
                             w_zero, w.inputs_of_group());
    }
  }
  return sum;
}

// The columns [first, last) of a row of the output whose input at `kx` exists.
void valid_range(const Window& w, int64_t kx, int64_t* first, int64_t* last) {
  const int64_t start = kx * w.dilation[1] - w.padding[1];  // of output 0
  *first = start >= 0 ? 0 : (-start + w.stride[1] - 1) / w.stride[1];
  const int64_t room = w.sizes[1] - 1 - start;
  const int64_t end = room < 0 ? 0 : room / w.stride[1] + 1;
  *last = end < w.results[1] ? end : w.results[1];
}

// Rows of an image with channels first: a tile of the row's sums is kept, so that the inner loop reads neighbours.
template <typename X, typename W, typename T>
void convolve_row(const Window& w, const X* image, const W* weights, int64_t x_zero, int64_t w_zero, int64_t y,
                  int32_t bias, float bias_scale, const Quantizer<T>& quantize, T* results) {
  constexpr int64_t kTile = 64;
  for (int64_t start = 0; start < w.results[1]; start += kTile) {
    const int64_t count = w.results[1] - start < kTile ? w.results[1] - start : kTile;
    int64_t sums[kTile] = {};
    for (int64_t c = 0; c < w.inputs_of_group(); ++c) {
      for (int64_t ky = 0; ky < w.kernel[0]; ++ky) {
        const int64_t in_y = y * w.stride[0] - w.padding[0] + ky * w.dilation[0];
        if (in_y < 0 || in_y >= w.sizes[0]) {
          continue;
        }
        for (int64_t kx = 0; kx < w.kernel[1]; ++kx) {
          int64_t first = 0, last = 0;
          valid_range(w, kx, &first, &last);
          first = first > start ? first : start;
          last = last < start + count ? last : start + count;
          const int64_t factor = static_cast<int64_t>(weights[c * w.weight.channel + ky * w.weight.y + kx]) - w_zero;
          const X* const line = image + c * w.in.channel + in_y * w.in.y - w.padding[1] + kx * w.dilation[1];
          for (int64_t x = first; x < last; ++x) {
            sums[x - start] += factor * (static_cast<int64_t>(line[x * w.stride[1]]) - x_zero);
          }
        }
      }
    }
    for (int64_t x = 0; x < count; ++x) {
      results[start + x] = quantize(static_cast<float>(sums[x] + bias) * bias_scale);
    }
  }
}

template <typename T, typename W>
void convolve_images(const Window& w, const Numbers& numbers, const T* input, const W* weights, const int32_t* biases,
                     T* results) {
  const Quantizer<T> quantize(inverse(numbers.out_scale), numbers.out_zero_point);
  const float bias_scale = static_cast<float>(numbers.bias_scale);
  if constexpr (sizeof(T) + sizeof(W) == 2) {
    const Convolution8bit<T, W> convolution{
        w, input, weights, numbers.input_zero_point, numbers.weight_zero_point, biases, bias_scale, quantize, results};
    if (convolution.store()) {
      return;
    }
  }
  const int64_t x_zero = numbers.input_zero_point, w_zero = numbers.weight_zero_point;
  for (int64_t n = 0; n < w.batch; ++n) {
    for (int64_t o = 0; o < w.outputs; ++o) {
      const int64_t group = o / w.outputs_of_group();
      const T* const image = input + n * w.in.outer + group * w.inputs_of_group() * w.in.channel;
      const W* const kernel = weights + o * w.weight.outer;
      T* const place = results + n * w.out.outer + o * w.out.channel;
      for (int64_t y = 0; y < w.results[0]; ++y) {
        if (w.in.x == 1 && w.out.x == 1 && w.weight.x == 1) {
          convolve_row(w, image, kernel, x_zero, w_zero, y, biases[o], bias_scale, quantize, place + y * w.out.y);
          continue;
        }
        for (int64_t x = 0; x < w.results[1]; ++x) {
          const int64_t sum = sum_at(w, image, kernel, x_zero, w_zero, y, x) + biases[o];
          place[y * w.out.y + x * w.out.x] = quantize(static_cast<float>(sum) * bias_scale);
        }
      }
    }
  }
}

struct Places {
  IntArrayRef stride;
  IntArrayRef padding;
  IntArrayRef dilation;
  int64_t groups;
};

Tensor& convolve(KernelRuntimeContext& ctx, const char* op, bool is_last, const Tensor& input, const Tensor& weight,
                 const Tensor& bias, const Places& places, const Numbers& numbers, Tensor& out) {
  Window w{};
  const size_t rank = static_cast<size_t>(input.dim());
  if (!read_image(ctx, op, input, is_last, &w) || !read_weights(ctx, op, weight, rank, is_last, places.groups, &w) ||
      !read_places(ctx, op, rank, places.stride, places.padding, places.dilation, &w) ||
      !check_dtype(ctx, op, "a bias", bias, ScalarType::Int) || !check_same_dtype(ctx, op, input, out) ||
      !check_zero_point(ctx, op, numbers.input_zero_point) || !check_zero_point(ctx, op, numbers.weight_zero_point) ||
      !check_scale(ctx, op, "bias_scale", numbers.bias_scale) ||
      !check_scale(ctx, op, "out_scale", numbers.out_scale) || !resize_to_windows(ctx, op, rank, is_last, &w, out)) {
    return out;
  }
  ET_KERNEL_CHECK_MSG(ctx, bias.numel() == w.outputs, InvalidArgument, out,
                      "%s: expected a bias of %lld numbers, found %zd", op, static_cast<long long>(w.outputs),
                      static_cast<ssize_t>(bias.numel()));
  dispatch<int8_t, uint8_t, int16_t>(ctx, op, "an input", input.scalar_type(), [&](auto zero) {
    using T = decltype(zero);
    dispatch<int8_t, uint8_t, int16_t>(ctx, op, "weights", weight.scalar_type(), [&](auto weight_zero) {
      convolve_images(w, numbers, input.const_data_ptr<T>(), weight.const_data_ptr<decltype(weight_zero)>(),
                      bias.const_data_ptr<int32_t>(), out.mutable_data_ptr<T>());
    });
  });
  return out;
}

Tensor& of_tensors(KernelRuntimeContext& ctx, const char* op, bool is_last, const Tensor& input, const Tensor& weight,
                   const Tensor& bias, const Places& places, const Tensor& weight_zero_point, const Tensor& bias_scale,
                   Numbers numbers, Tensor& out) {
  if (read_number(ctx, op, "weight_zero_point", weight_zero_point, &numbers.weight_zero_point) &&
      read_number(ctx, op, "bias_scale", bias_scale, &numbers.bias_scale)) {
    convolve(ctx, op, is_last, input, weight, bias, places, numbers, out);
  }
  return out;
}

}  // namespace

// The multiplier and shift of these schemas are bias_scale / out_scale; the reference computes with the scales.

Tensor& cadence_quantized_conv_first_per_tensor_out(KernelRuntimeContext& ctx, const Tensor& input,
                                                    const Tensor& weight, const Tensor& bias, IntArrayRef stride,
                                                    IntArrayRef padding, IntArrayRef dilation, int64_t groups,
                                                    int64_t input_zero_point, int64_t weight_zero_point,
                                                    double bias_scale, double out_scale, int64_t out_zero_point,
                                                    int64_t /*out_multiplier*/, int64_t /*out_shift*/, Tensor& out) {
  return convolve(ctx, "cadence::quantized_conv (channels first)", false, input, weight, bias,
                  {stride, padding, dilation, groups},
                  {input_zero_point, weight_zero_point, bias_scale, out_scale, out_zero_point}, out);
}

Tensor& cadence_quantized_conv_first_out(KernelRuntimeContext& ctx, const Tensor& input, const Tensor& weight,
                                         const Tensor& bias, IntArrayRef stride, IntArrayRef padding,
                                         IntArrayRef dilation, int64_t groups, int64_t input_zero_point,
                                         const Tensor& weight_zero_point, const Tensor& bias_scale, double out_scale,
                                         int64_t out_zero_point, const Tensor& /*out_multiplier*/,
                                         const Tensor& /*out_shift*/, Tensor& out) {
  return of_tensors(ctx, "cadence::quantized_conv (channels first)", false, input, weight, bias,
                    {stride, padding, dilation, groups}, weight_zero_point, bias_scale,
                    {input_zero_point, 0, 0, out_scale, out_zero_point}, out);
}

Tensor& cadence_quantized_conv_last_per_tensor_out(KernelRuntimeContext& ctx, const Tensor& input, const Tensor& weight,
                                                   const Tensor& bias, IntArrayRef stride, IntArrayRef padding,
                                                   IntArrayRef dilation, int64_t groups, int64_t input_zero_point,
                                                   int64_t weight_zero_point, double bias_scale, double out_scale,
                                                   int64_t out_zero_point, int64_t /*out_multiplier*/,
                                                   int64_t /*out_shift*/, Tensor& out) {
  return convolve(ctx, "cadence::quantized_conv (channels last)", true, input, weight, bias,
                  {stride, padding, dilation, groups},
                  {input_zero_point, weight_zero_point, bias_scale, out_scale, out_zero_point}, out);
}

/// `offset` is for vendors' kernels: a number that is computed from the weights ahead of time.
Tensor& cadence_quantized_conv_last_offset_per_tensor_out(KernelRuntimeContext& ctx, const Tensor& input,
                                                          const Tensor& weight, const Tensor& bias, IntArrayRef stride,
                                                          IntArrayRef padding, IntArrayRef dilation, int64_t groups,
                                                          int64_t input_zero_point, int64_t weight_zero_point,
                                                          double bias_scale, double out_scale, int64_t out_zero_point,
                                                          int64_t out_multiplier, int64_t out_shift,
                                                          const std::optional<Tensor>& /*offset*/, Tensor& out) {
  return cadence_quantized_conv_last_per_tensor_out(ctx, input, weight, bias, stride, padding, dilation, groups,
                                                    input_zero_point, weight_zero_point, bias_scale, out_scale,
                                                    out_zero_point, out_multiplier, out_shift, out);
}

Tensor& cadence_quantized_conv_last_out(KernelRuntimeContext& ctx, const Tensor& input, const Tensor& weight,
                                        const Tensor& bias, IntArrayRef stride, IntArrayRef padding,
                                        IntArrayRef dilation, int64_t groups, int64_t input_zero_point,
                                        const Tensor& weight_zero_point, const Tensor& bias_scale, double out_scale,
                                        int64_t out_zero_point, const Tensor& /*out_multiplier*/,
                                        const Tensor& /*out_shift*/, Tensor& out) {
  return of_tensors(ctx, "cadence::quantized_conv (channels last)", true, input, weight, bias,
                    {stride, padding, dilation, groups}, weight_zero_point, bias_scale,
                    {input_zero_point, 0, 0, out_scale, out_zero_point}, out);
}

}  // namespace torch::executor::native
