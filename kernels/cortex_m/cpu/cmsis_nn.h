// SPDX-License-Identifier: BSD-3-Clause
// CMSIS-NN for convolutions, linear layers, pools and softmax, in builds with CMSIS_NN_LOCAL_PATH. A function returns
// whether the call is done: computed, or failed with an error in the context. The kernels here compute what CMSIS-NN
// lacks: groups, offsets of more than 8 bits, pools with dilation, scales for each output of a linear layer.
#pragma once

#include "kernels/cortex_m/cpu/convolution.h"

#if defined(EXECUTORCH_CORTEX_M_CMSIS_NN)
#include <arm_nnfunctions.h>
#endif

namespace torch::executor::native::cortex_m::cmsis_nn {

/// A call of a pool. Its input and its output have the same scale and zero point.
struct Pool {
  const char* op;
  const Tensor& in;
  const Window& window;
};

/// A call of a linear layer with symmetric weights and one scale.
struct Linear {
  const char* op;
  const Tensor& in;
  const Tensor& weights;
  const std::optional<Tensor>& added;  // to the sums: the bias, or the sums that the program has
  int32_t input_offset;
  bool is_summed;  // then the input offset is 0
  Int8Output output;
  int64_t multiplier;
  int64_t shift;
};

#if defined(EXECUTORCH_CORTEX_M_CMSIS_NN)

inline int32_t narrow(int64_t value) {
  return static_cast<int32_t>(value);
}

/// Whether all numbers of an axis fit int16, which CMSIS-NN has for some indices and offsets.
inline bool is_small(const Axis& axis) {
  return axis.in <= INT16_MAX && axis.kernel <= INT16_MAX && axis.stride <= INT16_MAX && axis.padding <= INT16_MAX &&
         axis.dilation <= INT16_MAX && axis.spread() <= INT16_MAX;
}

inline bool is_small(const Window& window, const Tensor& out) {
  return is_small(window.height) && is_small(window.width) && out.size(2) <= INT16_MAX && out.size(3) <= INT16_MAX;
}

/// Whether an input offset is the negative of an int8, as CMSIS-NN expects.
inline bool is_zero_point(int32_t offset) {
  return offset >= -INT8_MAX && offset <= -INT8_MIN;
}

/// A tensor with the channels in its second dimension and last in memory.
inline cmsis_nn_dims image_dims(const Tensor& image, int64_t batch) {
  return {narrow(batch), narrow(image.size(2)), narrow(image.size(3)), narrow(image.size(1))};
}

/// Memory for a call: the memory that the program has planned for it if that is enough, else temporary memory.
inline bool find_memory(KernelRuntimeContext& ctx, const char* op, const Tensor& scratch, int32_t size,
                        cmsis_nn_context* found) {
  *found = {nullptr, size};
  if (size <= 0) {
    return true;
  }
  const auto bytes = static_cast<size_t>(size);
  if (scratch.nbytes() >= bytes) {
    found->buf = scratch.mutable_data_ptr();
    return true;
  }
  const auto memory = ctx.allocate_temp(bytes);
  ET_KERNEL_CHECK_MSG(ctx, memory.ok(), MemoryAllocationFailed, false,
                      "%s: CMSIS-NN needs %zu bytes, and the program has planned %zu: give the method a larger "
                      "temporary allocator",
                      op, bytes, scratch.nbytes());
  found->buf = *memory;
  return true;
}

/// False if CMSIS-NN does not support the call, so that our kernel has to do it. If the call failed, fails the context.
inline bool finish(KernelRuntimeContext& ctx, const char* op, arm_cmsis_nn_status status) {
  if (status == ARM_CMSIS_NN_NO_IMPL_ERROR) {
    return false;
  }
  ET_KERNEL_CHECK_MSG(ctx, status == ARM_CMSIS_NN_SUCCESS, Internal, true, "%s: CMSIS-NN refused the call: status %d",
                      op, static_cast<int>(status));
  return true;
}

/// The fields that the parameters of both kinds of convolutions have.
template <typename Params>
Params params_of(const Convolution& conv) {
  const Axis& height = conv.window.height;
  const Axis& width = conv.window.width;
  Params params{};
  params.input_offset = conv.input_offset;
  params.output_offset = conv.output.zero_point;
  params.stride = {narrow(width.stride), narrow(height.stride)};
  params.padding = {narrow(width.padding), narrow(height.padding)};
  params.dilation = {narrow(width.dilation), narrow(height.dilation)};
  params.activation = {conv.output.min, conv.output.max};
  return params;
}

/// The multipliers and shifts of the channels, which CMSIS-NN does not change.
inline cmsis_nn_per_channel_quant_params scales_of(const Convolution& conv) {
  return {const_cast<int32_t*>(conv.channels.multipliers), const_cast<int32_t*>(conv.channels.shifts)};
}

inline bool convolve(KernelRuntimeContext& ctx, const Convolution& conv, const Tensor& scratch, Tensor& out) {
  if (conv.weight.size(3) != conv.in.size(1) || !is_zero_point(conv.input_offset) || !is_small(conv.window, out)) {
    return false;
  }
  const auto params = params_of<cmsis_nn_conv_params>(conv);
  const auto scales = scales_of(conv);
  const cmsis_nn_dims in = image_dims(conv.in, conv.in.size(0));
  const cmsis_nn_dims results = image_dims(out, out.size(0));
  const cmsis_nn_dims filter = {results.c, narrow(conv.window.height.kernel), narrow(conv.window.width.kernel), in.c};
  const cmsis_nn_dims bias = {1, 1, 1, results.c};
  cmsis_nn_context memory;
  if (!find_memory(ctx, conv.op, scratch, arm_convolve_wrapper_s8_get_buffer_size(&params, &in, &filter, &results),
                   &memory)) {
    return true;
  }
  return finish(ctx, conv.op,
                arm_convolve_wrapper_s8(&memory, &params, &scales, &in, conv.pixels(0), &filter,
                                        conv.weight.const_data_ptr<int8_t>(), &bias, conv.bias_of(0), &results,
                                        out.mutable_data_ptr<int8_t>()));
}

inline bool convolve_depthwise(KernelRuntimeContext& ctx, const Convolution& conv, int64_t multiplier,
                               const Tensor& scratch, Tensor& out) {
  if (!is_zero_point(conv.input_offset) || !is_small(conv.window, out) || out.size(1) > INT16_MAX) {
    return false;
  }
  auto params = params_of<cmsis_nn_dw_conv_params>(conv);
  params.ch_mult = narrow(multiplier);
  const auto scales = scales_of(conv);
  const cmsis_nn_dims in = image_dims(conv.in, conv.in.size(0));
  const cmsis_nn_dims results = image_dims(out, out.size(0));
  const cmsis_nn_dims filter = {1, narrow(conv.window.height.kernel), narrow(conv.window.width.kernel), results.c};
  const cmsis_nn_dims bias = {1, 1, 1, results.c};
  cmsis_nn_context memory;
  if (!find_memory(ctx, conv.op, scratch,
                   arm_depthwise_conv_wrapper_s8_get_buffer_size(&params, &in, &filter, &results), &memory)) {
    return true;
  }
  return finish(ctx, conv.op,
                arm_depthwise_conv_wrapper_s8(&memory, &params, &scales, &in, conv.pixels(0), &filter,
                                              conv.weight.const_data_ptr<int8_t>(), &bias, conv.bias_of(0), &results,
                                              out.mutable_data_ptr<int8_t>()));
}

/// Releases of CMSIS-NN expect different contents in the memory of a linear layer for Helium: sums of weights, which
/// they multiply by the input offset, or the product. If a program has the sums, the offset is 0, so one array works
/// for all releases.
inline bool linear(KernelRuntimeContext& ctx, const Linear& layer, Tensor& out) {
  const int64_t outputs = layer.weights.size(0);
  const int64_t inputs = layer.weights.size(1);
  const cmsis_nn_dims filter = {narrow(inputs), 1, 1, narrow(outputs)};
  const bool needs_sums = arm_fully_connected_s8_get_buffer_size(&filter) > 0;
  if (!is_zero_point(layer.input_offset) || inputs == 0 || outputs == 0 || (needs_sums && !layer.is_summed)) {
    return false;
  }
  const int32_t* const added = layer.added.has_value() ? layer.added->const_data_ptr<int32_t>() : nullptr;
  cmsis_nn_fc_params params{};
  params.input_offset = layer.input_offset;
  params.output_offset = layer.output.zero_point;
  params.activation = {layer.output.min, layer.output.max};
  const cmsis_nn_per_tensor_quant_params scale = {narrow(layer.multiplier), narrow(layer.shift)};
  const cmsis_nn_dims in = {narrow(layer.in.numel() / inputs), 1, 1, narrow(inputs)};
  const cmsis_nn_dims bias = {1, 1, 1, filter.c};
  const cmsis_nn_dims results = {in.n, 1, 1, filter.c};
  const cmsis_nn_context sums = {const_cast<int32_t*>(layer.is_summed ? added : nullptr), filter.c * 4};
  return finish(ctx, layer.op,
                arm_fully_connected_s8(&sums, &params, &scale, &in, layer.in.const_data_ptr<int8_t>(), &filter,
                                       layer.weights.const_data_ptr<int8_t>(), &bias, added, &results,
                                       out.mutable_data_ptr<int8_t>()));
}

/// Calls pool(input dims, pixels, filter dims, output dims, results) for each image, because the first releases accept
/// one image.
template <typename Function>
bool pool_images(KernelRuntimeContext& ctx, const Pool& pool, Tensor& out, const Function& function) {
  const cmsis_nn_dims in = image_dims(pool.in, 1);
  const cmsis_nn_dims results = image_dims(out, 1);
  const cmsis_nn_dims filter = {1, narrow(pool.window.height.kernel), narrow(pool.window.width.kernel), 1};
  const int64_t step = pool.in.size(1) * pool.in.size(2) * pool.in.size(3);
  const int64_t out_step = out.size(1) * out.size(2) * out.size(3);
  arm_cmsis_nn_status status = ARM_CMSIS_NN_SUCCESS;
  for (int64_t n = 0; n < pool.in.size(0) && status == ARM_CMSIS_NN_SUCCESS; ++n) {
    status = function(in, pool.in.const_data_ptr<int8_t>() + n * step, filter, results,
                      out.mutable_data_ptr<int8_t>() + n * out_step);
  }
  return finish(ctx, pool.op, status);
}

inline cmsis_nn_pool_params params_of(const Pool& pool, int32_t min, int32_t max) {
  const Axis& height = pool.window.height;
  const Axis& width = pool.window.width;
  cmsis_nn_pool_params params{};
  params.stride = {narrow(width.stride), narrow(height.stride)};
  params.padding = {narrow(width.padding), narrow(height.padding)};
  params.activation = {min, max};
  return params;
}

inline bool avg_pool(KernelRuntimeContext& ctx, const Pool& pool, const Tensor& scratch, Tensor& out) {
  cmsis_nn_context memory;
  if (!is_small(pool.window, out)) {
    return false;
  }
  const int32_t size = arm_avgpool_s8_get_buffer_size(narrow(out.size(3)), narrow(out.size(1)));
  if (!find_memory(ctx, pool.op, scratch, size, &memory)) {
    return true;
  }
  const cmsis_nn_pool_params params = params_of(pool, INT8_MIN, INT8_MAX);
  return pool_images(
      ctx, pool, out,
      [&](const cmsis_nn_dims& in, const int8_t* pixels, const cmsis_nn_dims& filter, const cmsis_nn_dims& sizes,
          int8_t* results) { return arm_avgpool_s8(&memory, &params, &in, pixels, &filter, &sizes, results); });
}

inline bool max_pool(KernelRuntimeContext& ctx, const Pool& pool, const Int8Output& output, Tensor& out) {
  if (pool.window.height.dilation != 1 || pool.window.width.dilation != 1 || !is_small(pool.window, out)) {
    return false;
  }
  const cmsis_nn_pool_params params = params_of(pool, output.min, output.max);
  const cmsis_nn_context memory = {nullptr, 0};
  return pool_images(
      ctx, pool, out,
      [&](const cmsis_nn_dims& in, const int8_t* pixels, const cmsis_nn_dims& filter, const cmsis_nn_dims& sizes,
          int8_t* results) { return arm_max_pool_s8(&memory, &params, &in, pixels, &filter, &sizes, results); });
}

inline bool softmax(const Tensor& in, size_t along, int32_t multiplier, int32_t shift, int32_t least, Tensor& out) {
  const auto last = static_cast<size_t>(in.dim()) - 1;
  if (in.dim() == 0 || along != last || in.numel() == 0 || !executorch::runtime::tensor_is_default_dim_order(in) ||
      !executorch::runtime::tensor_is_default_dim_order(out)) {
    return false;
  }
  const int64_t size = in.size(static_cast<ssize_t>(last));
  arm_softmax_s8(in.const_data_ptr<int8_t>(), narrow(in.numel() / size), narrow(size), multiplier, shift, least,
                 out.mutable_data_ptr<int8_t>());
  return true;
}

#else

inline bool convolve(KernelRuntimeContext&, const Convolution&, const Tensor&, Tensor&) {
  return false;
}
inline bool convolve_depthwise(KernelRuntimeContext&, const Convolution&, int64_t, const Tensor&, Tensor&) {
  return false;
}
inline bool linear(KernelRuntimeContext&, const Linear&, Tensor&) {
  return false;
}
inline bool avg_pool(KernelRuntimeContext&, const Pool&, const Tensor&, Tensor&) {
  return false;
}
inline bool max_pool(KernelRuntimeContext&, const Pool&, const Int8Output&, Tensor&) {
  return false;
}
inline bool softmax(const Tensor&, size_t, int32_t, int32_t, int32_t, Tensor&) {
  return false;
}

#endif

}  // namespace torch::executor::native::cortex_m::cmsis_nn
