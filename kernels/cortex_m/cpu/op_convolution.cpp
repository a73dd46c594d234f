// SPDX-License-Identifier: BSD-3-Clause
// cortex_m::quantized_conv2d, quantized_depthwise_conv2d, quantized_transpose_conv2d. Weights are symmetric. `scratch`
// is memory for kernels of CMSIS-NN; the kernels here need none.
#include "kernels/cortex_m/cpu/cmsis_nn.h"
#include "kernels/cortex_m/cpu/convolution.h"

namespace torch::executor::native {
namespace {

using namespace cortex_m;

// Checks everything but the sizes of channels. `outputs` is the number of output channels.
bool check_convolution(KernelRuntimeContext& ctx, Convolution& conv, IntArrayRef stride, IntArrayRef padding,
                       IntArrayRef dilation, int64_t input_offset, int64_t output_offset, const Tensor& multipliers,
                       const Tensor& shifts, int64_t min, int64_t max, size_t outputs_dim) {
  const char* op = conv.op;
  if (!check_image(ctx, op, "an input", conv.in)) {
    return false;
  }
  ET_KERNEL_CHECK_MSG(ctx, conv.weight.dim() == 4 && executorch::runtime::tensor_is_default_dim_order(conv.weight),
                      InvalidArgument, false,
                      "%s: expected weights of 4 dimensions in the default dim order, found %zd", op,
                      static_cast<ssize_t>(conv.weight.dim()));
  conv.input_offset = static_cast<int32_t>(input_offset);
  const int64_t outputs = conv.weight.size(static_cast<ssize_t>(outputs_dim));
  return check_dtype(ctx, op, "weights", conv.weight, ScalarType::Char) &&
         check_int32s(ctx, op, "the bias", conv.bias, outputs) &&
         conv.channels.read(ctx, op, multipliers, shifts, outputs) &&
         check_offset(ctx, op, "an input offset", input_offset) &&
         check_output(ctx, op, output_offset, min, max, &conv.output) &&
         check_window(ctx, op, conv.in, {conv.weight.size(1), conv.weight.size(2)}, stride, padding, dilation,
                      &conv.window);
}

// The weights (outputs, height, width, inputs of a group) of a convolution.
class Filters {
 public:
  Filters(const Tensor& weight, size_t inputs)
      : weights_(weight.const_data_ptr<int8_t>()),
        outputs_(static_cast<size_t>(weight.size(0))),
        width_(static_cast<size_t>(weight.size(2))),
        depth_(static_cast<size_t>(weight.size(3))),
        inputs_(inputs),
        size_(static_cast<size_t>(weight.size(1)) * width_ * depth_),
        outputs_of_group_(outputs_ / (inputs / depth_)) {}

  /// The results of one window for all channels.
  void apply(const Convolution& conv, const int8_t* image, const Taps& rows, const Taps& columns,
             int8_t* results) const {
    for (size_t group = 0; group < inputs_ / depth_; ++group) {
      const size_t end = (group + 1) * outputs_of_group_;
      size_t channel = group * outputs_of_group_;
      for (; channel + kRows <= end; channel += kRows) {
        apply<kRows>(conv, image + group * depth_, rows, columns, channel, results);
      }
      for (; channel < end; ++channel) {
        apply<1>(conv, image + group * depth_, rows, columns, channel, results);
      }
    }
  }

 private:
  template <size_t kCount>
  void apply(const Convolution& conv, const int8_t* group, const Taps& rows, const Taps& columns, size_t channel,
             int8_t* results) const {
    uint32_t sums[kCount];
    const int32_t* const bias = conv.bias_of(channel);
    for (size_t i = 0; i < kCount; ++i) {
      sums[i] = bias == nullptr ? 0 : static_cast<uint32_t>(bias[i]);
    }
    // If the pixels of a row are contiguous, the row is one sum.
    const bool is_joined = depth_ == inputs_ && columns.step == 1;
    const Taps first = {columns.first, is_joined ? columns.first + 1 : columns.last, columns.position, columns.step};
    const size_t length = is_joined ? columns.count() * depth_ : depth_;
    conv.window.for_each(rows, columns.count() == 0 ? columns : first, [&](size_t ky, size_t kx, size_t at) {
      const int8_t* const kernel = weights_ + channel * size_ + (ky * width_ + kx) * depth_;
      fast::dot_products({group + at * inputs_, conv.input_offset, kernel, size_, 0, length}, sums);
    });
    fast::store(sums, conv.outputs_from(channel), results + channel);
  }

  const int8_t* weights_;
  size_t outputs_;
  size_t width_;
  size_t depth_;
  size_t inputs_;
  size_t size_;
  size_t outputs_of_group_;
};

// A depthwise convolution with one output for each input; weights (1, height, width, channels).
template <typename Sums>
void depthwise(const Convolution& conv, const int8_t* image, const Taps& rows, const Taps& columns, int8_t* results) {
  const auto channels = static_cast<size_t>(conv.weight.size(3));
  const auto width = static_cast<size_t>(conv.weight.size(2));
  const int8_t* const weights = conv.weight.const_data_ptr<int8_t>();
  for (size_t channel = 0; channel < channels; channel += Sums::kChannels) {
    Sums sums(conv.bias_of(channel), channels - channel);
    conv.window.for_each(rows, columns, [&](size_t ky, size_t kx, size_t at) {
      sums.add({image + at * channels + channel, conv.input_offset, weights + (ky * width + kx) * channels + channel});
    });
    sums.store(conv.outputs_from(channel), results + channel);
  }
}

// Like the function above, with several outputs for each input.
void depthwise_with_multiplier(const Convolution& conv, const int8_t* image, const Taps& rows, const Taps& columns,
                               size_t multiplier, int8_t* results) {
  const auto outputs = static_cast<size_t>(conv.weight.size(3));
  const auto width = static_cast<size_t>(conv.weight.size(2));
  const auto inputs = static_cast<size_t>(conv.in.size(1));
  const int8_t* const weights = conv.weight.const_data_ptr<int8_t>();
  for (size_t channel = 0; channel < outputs; ++channel) {
    portable::ChannelSums sums(conv.bias_of(channel), 1);
    conv.window.for_each(rows, columns, [&](size_t ky, size_t kx, size_t at) {
      sums.add({image + at * inputs + channel / multiplier, conv.input_offset,
                weights + (ky * width + kx) * outputs + channel});
    });
    sums.store(conv.outputs_from(channel), results + channel);
  }
}

}  // namespace

/// Weights (outputs, height, width, inputs of a group).
Tensor& cortex_m_quantized_conv2d_out(KernelRuntimeContext& ctx, const Tensor& input, const Tensor& weight,
                                      const std::optional<Tensor>& bias, IntArrayRef stride, IntArrayRef padding,
                                      IntArrayRef dilation, int64_t input_offset, int64_t output_offset,
                                      const Tensor& requantize_multipliers, const Tensor& requantize_shifts,
                                      int64_t activation_min, int64_t activation_max, const Tensor& scratch,
                                      Tensor& out) {
  Convolution conv{"cortex_m::quantized_conv2d", input, weight, bias, {}, {}, 0, {}};
  if (!check_convolution(ctx, conv, stride, padding, dilation, input_offset, output_offset, requantize_multipliers,
                         requantize_shifts, activation_min, activation_max, 0)) {
    return out;
  }
  const int64_t inputs = input.size(1);
  const int64_t outputs = weight.size(0);
  const int64_t depth = weight.size(3);
  const bool fits = depth > 0 && inputs % depth == 0 && inputs > 0 && outputs % (inputs / depth) == 0;
  ET_KERNEL_CHECK_MSG(
      ctx, fits, InvalidArgument, out,
      "%s: expected weights of groups that divide %lld inputs and %lld outputs, found %lld inputs of a group", conv.op,
      static_cast<long long>(inputs), static_cast<long long>(outputs), static_cast<long long>(depth));
  if (!check_resize_image(ctx, conv.op, out, input.size(0), outputs, conv.window.height.windows(),
                          conv.window.width.windows()) ||
      cmsis_nn::convolve(ctx, conv, scratch, out)) {
    return out;
  }
  int8_t* const results = out.mutable_data_ptr<int8_t>();
  const Filters filters(weight, static_cast<size_t>(inputs));
  for_each_window(out, conv.window, [&](size_t n, const Taps& rows, const Taps& columns, size_t pixel) {
    filters.apply(conv, conv.pixels(n), rows, columns, results + pixel * static_cast<size_t>(outputs));
  });
  return out;
}

/// Weights (1, height, width, outputs); output c is of input c / depth_multiplier.
Tensor& cortex_m_quantized_depthwise_conv2d_out(KernelRuntimeContext& ctx, const Tensor& input, const Tensor& weight,
                                                const std::optional<Tensor>& bias, IntArrayRef stride,
                                                IntArrayRef padding, IntArrayRef dilation, int64_t depth_multiplier,
                                                int64_t input_offset, int64_t output_offset,
                                                const Tensor& requantize_multipliers, const Tensor& requantize_shifts,
                                                int64_t activation_min, int64_t activation_max, const Tensor& scratch,
                                                Tensor& out) {
  Convolution conv{"cortex_m::quantized_depthwise_conv2d", input, weight, bias, {}, {}, 0, {}};
  if (!check_convolution(ctx, conv, stride, padding, dilation, input_offset, output_offset, requantize_multipliers,
                         requantize_shifts, activation_min, activation_max, 3)) {
    return out;
  }
  const int64_t inputs = input.size(1);
  const int64_t outputs = weight.size(3);
  const bool fits = weight.size(0) == 1 && depth_multiplier > 0 && depth_multiplier <= outputs &&
                    inputs * depth_multiplier == outputs;
  ET_KERNEL_CHECK_MSG(ctx, fits, InvalidArgument, out,
                      "%s: expected weights (1, height, width, %lld inputs * %lld), found %zd kernels of %lld outputs",
                      conv.op, static_cast<long long>(inputs), static_cast<long long>(depth_multiplier),
                      static_cast<ssize_t>(weight.size(0)), static_cast<long long>(outputs));
  if (!check_resize_image(ctx, conv.op, out, input.size(0), outputs, conv.window.height.windows(),
                          conv.window.width.windows()) ||
      cmsis_nn::convolve_depthwise(ctx, conv, depth_multiplier, scratch, out)) {
    return out;
  }
  int8_t* const results = out.mutable_data_ptr<int8_t>();
  for_each_window(out, conv.window, [&](size_t n, const Taps& rows, const Taps& columns, size_t pixel) {
    int8_t* const to = results + pixel * static_cast<size_t>(outputs);
    if (depth_multiplier == 1) {
      depthwise<fast::ChannelSums>(conv, conv.pixels(n), rows, columns, to);
    } else {
      depthwise_with_multiplier(conv, conv.pixels(n), rows, columns, static_cast<size_t>(depth_multiplier), to);
    }
  });
  return out;
}

/// Weights (outputs, height, width, inputs).
Tensor& cortex_m_quantized_transpose_conv2d_out(KernelRuntimeContext& ctx, const Tensor& input, const Tensor& weight,
                                                const std::optional<Tensor>& bias, IntArrayRef stride,
                                                IntArrayRef padding, IntArrayRef output_padding, IntArrayRef dilation,
                                                int64_t input_offset, int64_t output_offset,
                                                const Tensor& requantize_multipliers, const Tensor& requantize_shifts,
                                                int64_t activation_min, int64_t activation_max,
                                                const Tensor& /*scratch*/, const Tensor& /*output_scratch*/,
                                                Tensor& out) {
  Convolution conv{"cortex_m::quantized_transpose_conv2d", input, weight, bias, {}, {}, 0, {}};
  int64_t extra[2];
  if (!check_convolution(ctx, conv, stride, padding, dilation, input_offset, output_offset, requantize_multipliers,
                         requantize_shifts, activation_min, activation_max, 0) ||
      !check_pair(ctx, conv.op, "output padding", output_padding, 0, extra)) {
    return out;
  }
  const int64_t inputs = input.size(1);
  const int64_t outputs = weight.size(0);
  ET_KERNEL_CHECK_MSG(ctx, weight.size(3) == inputs, InvalidArgument, out,
                      "%s: expected weights of %lld inputs, found %zd (groups are not supported)", conv.op,
                      static_cast<long long>(inputs), static_cast<ssize_t>(weight.size(3)));
  const Axis& height = conv.window.height;
  const Axis& width = conv.window.width;
  const auto grown = [](const Axis& axis, int64_t more) {
    return (axis.in - 1) * axis.stride - 2 * axis.padding + axis.spread() + more;
  };
  if (!check_resize_image(ctx, conv.op, out, input.size(0), outputs, grown(height, extra[0]), grown(width, extra[1]))) {
    return out;
  }
  // Returns the element of the input that kernel element `k` moves to position `to`; -1 if there is no such element.
  const auto source = [](const Axis& axis, int64_t to, int64_t k) {
    const int64_t steps = to + axis.padding - k * axis.dilation;
    return steps >= 0 && steps % axis.stride == 0 && steps / axis.stride < axis.in ? steps / axis.stride : -1;
  };
  int8_t* const results = out.mutable_data_ptr<int8_t>();
  const int8_t* const weights = weight.const_data_ptr<int8_t>();
  for_each_pixel(out, [&](int64_t n, int64_t y, int64_t x, int64_t pixel) {
    const int8_t* const image = conv.pixels(static_cast<size_t>(n));
    for (int64_t channel = 0; channel < outputs; ++channel) {
      const int8_t* const kernel = weights + channel * height.kernel * width.kernel * inputs;
      const int32_t* const bias = conv.bias_of(static_cast<size_t>(channel));
      uint32_t sums[1] = {bias == nullptr ? 0 : static_cast<uint32_t>(*bias)};
      for (int64_t ky = 0; ky < height.kernel; ++ky) {
        const int64_t row = source(height, y, ky);
        for (int64_t kx = 0; row >= 0 && kx < width.kernel; ++kx) {
          const int64_t column = source(width, x, kx);
          if (column >= 0) {
            fast::dot_products({image + (row * width.in + column) * inputs, conv.input_offset,
                                kernel + (ky * width.kernel + kx) * inputs, 0, 0, static_cast<size_t>(inputs)},
                               sums);
          }
        }
      }
      fast::store(sums, conv.outputs_from(static_cast<size_t>(channel)), results + pixel * outputs + channel);
    }
  });
  return out;
}

}  // namespace torch::executor::native
