// SPDX-License-Identifier: BSD-3-Clause
// CMSIS-NN's functions by the portable kernels of ESP-NN, which have the loops of the reference kernels of TensorFlow
// Lite Micro: a peer whose instructions are counted.
#include <stddef.h>

#include "arm_nnfunctions.h"
#include "esp_nn_ansi_headers.h"

static data_dims_t esp_dims(const cmsis_nn_dims* dims) {
  const data_dims_t made = {dims->w, dims->h, dims->c, 1};
  return made;
}

static data_2d_t pair(cmsis_nn_tile tile) {
  const data_2d_t made = {tile.w, tile.h};
  return made;
}

static int has_dilation(cmsis_nn_tile dilation) {
  return dilation.w != 1 || dilation.h != 1;
}

static ptrdiff_t image_size(const cmsis_nn_dims* dims) {
  return (ptrdiff_t)dims->h * dims->w * dims->c;
}

int32_t arm_convolve_wrapper_s8_get_buffer_size(const cmsis_nn_conv_params* params, const cmsis_nn_dims* in_dims,
                                                const cmsis_nn_dims* filter_dims, const cmsis_nn_dims* out_dims) {
  (void)params, (void)in_dims, (void)filter_dims, (void)out_dims;
  return 0;
}

arm_cmsis_nn_status arm_convolve_wrapper_s8(const cmsis_nn_context* memory, const cmsis_nn_conv_params* params,
                                            const cmsis_nn_per_channel_quant_params* scales,
                                            const cmsis_nn_dims* in_dims, const int8_t* in,
                                            const cmsis_nn_dims* filter_dims, const int8_t* filter,
                                            const cmsis_nn_dims* bias_dims, const int32_t* bias,
                                            const cmsis_nn_dims* out_dims, int8_t* out) {
  (void)memory, (void)bias_dims;
  if (has_dilation(params->dilation)) {
    return ARM_CMSIS_NN_NO_IMPL_ERROR;
  }
  const data_dims_t from = esp_dims(in_dims), window = esp_dims(filter_dims), to = esp_dims(out_dims);
  const conv_params_t made = {params->input_offset,   params->output_offset,
                              pair(params->stride),   pair(params->padding),
                              pair(params->dilation), {params->activation.min, params->activation.max}};
  const quant_data_t quant = {scales->shift, scales->multiplier};
  for (int32_t n = 0; n < in_dims->n; ++n) {
    esp_nn_conv_s8_ansi(&from, in + n * image_size(in_dims), &window, filter, bias, &to, out + n * image_size(out_dims),
                        &made, &quant);
  }
  return ARM_CMSIS_NN_SUCCESS;
}

int32_t arm_depthwise_conv_wrapper_s8_get_buffer_size(const cmsis_nn_dw_conv_params* params,
                                                      const cmsis_nn_dims* in_dims, const cmsis_nn_dims* filter_dims,
                                                      const cmsis_nn_dims* out_dims) {
  (void)params, (void)in_dims, (void)filter_dims, (void)out_dims;
  return 0;
}

arm_cmsis_nn_status arm_depthwise_conv_wrapper_s8(const cmsis_nn_context* memory, const cmsis_nn_dw_conv_params* params,
                                                  const cmsis_nn_per_channel_quant_params* scales,
                                                  const cmsis_nn_dims* in_dims, const int8_t* in,
                                                  const cmsis_nn_dims* filter_dims, const int8_t* filter,
                                                  const cmsis_nn_dims* bias_dims, const int32_t* bias,
                                                  const cmsis_nn_dims* out_dims, int8_t* out) {
  (void)memory, (void)bias_dims;
  if (has_dilation(params->dilation)) {
    return ARM_CMSIS_NN_NO_IMPL_ERROR;
  }
  const data_dims_t from = esp_dims(in_dims), window = esp_dims(filter_dims), to = esp_dims(out_dims);
  const dw_conv_params_t made = {params->input_offset,
                                 params->output_offset,
                                 params->ch_mult,
                                 pair(params->stride),
                                 pair(params->padding),
                                 pair(params->dilation),
                                 {params->activation.min, params->activation.max}};
  const quant_data_t quant = {scales->shift, scales->multiplier};
  for (int32_t n = 0; n < in_dims->n; ++n) {
    esp_nn_depthwise_conv_s8_ansi(&from, in + n * image_size(in_dims), &window, filter, bias, &to,
                                  out + n * image_size(out_dims), &made, &quant);
  }
  return ARM_CMSIS_NN_SUCCESS;
}

int32_t arm_fully_connected_s8_get_buffer_size(const cmsis_nn_dims* filter_dims) {
  (void)filter_dims;
  return 0;
}

arm_cmsis_nn_status arm_fully_connected_s8(const cmsis_nn_context* memory, const cmsis_nn_fc_params* params,
                                           const cmsis_nn_per_tensor_quant_params* scale, const cmsis_nn_dims* in_dims,
                                           const int8_t* in, const cmsis_nn_dims* filter_dims, const int8_t* filter,
                                           const cmsis_nn_dims* bias_dims, const int32_t* bias,
                                           const cmsis_nn_dims* out_dims, int8_t* out) {
  (void)memory, (void)bias_dims;
  for (int32_t n = 0; n < in_dims->n; ++n) {
    esp_nn_fully_connected_s8_ansi(in + (ptrdiff_t)n * filter_dims->n, params->input_offset, (uint16_t)filter_dims->n,
                                   filter, params->filter_offset, bias, out + (ptrdiff_t)n * out_dims->c,
                                   (uint16_t)out_dims->c, params->output_offset, scale->shift, scale->multiplier,
                                   params->activation.min, params->activation.max);
  }
  return ARM_CMSIS_NN_SUCCESS;
}

int32_t arm_avgpool_s8_get_buffer_size(int out_width, int channels) {
  (void)out_width, (void)channels;
  return 0;
}

typedef void (*pool_t)(const int8_t*, uint16_t, uint16_t, int8_t*, uint16_t, uint16_t, uint16_t, uint16_t, uint16_t,
                       uint16_t, uint16_t, uint16_t, int32_t, int32_t, uint16_t);

static arm_cmsis_nn_status run_pool(pool_t pool, const cmsis_nn_pool_params* params, const cmsis_nn_dims* in_dims,
                                    const int8_t* in, const cmsis_nn_dims* filter_dims, const cmsis_nn_dims* out_dims,
                                    int8_t* out) {
  pool(in, (uint16_t)in_dims->w, (uint16_t)in_dims->h, out, (uint16_t)out_dims->w, (uint16_t)out_dims->h,
       (uint16_t)params->stride.w, (uint16_t)params->stride.h, (uint16_t)filter_dims->w, (uint16_t)filter_dims->h,
       (uint16_t)params->padding.w, (uint16_t)params->padding.h, params->activation.min, params->activation.max,
       (uint16_t)in_dims->c);
  return ARM_CMSIS_NN_SUCCESS;
}

arm_cmsis_nn_status arm_avgpool_s8(const cmsis_nn_context* memory, const cmsis_nn_pool_params* params,
                                   const cmsis_nn_dims* in_dims, const int8_t* in, const cmsis_nn_dims* filter_dims,
                                   const cmsis_nn_dims* out_dims, int8_t* out) {
  (void)memory;
  return run_pool(esp_nn_avg_pool_s8_ansi, params, in_dims, in, filter_dims, out_dims, out);
}

arm_cmsis_nn_status arm_max_pool_s8(const cmsis_nn_context* memory, const cmsis_nn_pool_params* params,
                                    const cmsis_nn_dims* in_dims, const int8_t* in, const cmsis_nn_dims* filter_dims,
                                    const cmsis_nn_dims* out_dims, int8_t* out) {
  (void)memory;
  return run_pool(esp_nn_max_pool_s8_ansi, params, in_dims, in, filter_dims, out_dims, out);
}

void arm_softmax_s8(const int8_t* in, int32_t rows, int32_t row_size, int32_t multiplier, int32_t shift,
                    int32_t diff_min, int8_t* out) {
  esp_nn_softmax_s8_ansi(in, rows, row_size, multiplier, shift, diff_min, out);
}
