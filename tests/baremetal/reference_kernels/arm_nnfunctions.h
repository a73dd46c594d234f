// SPDX-License-Identifier: BSD-3-Clause
// The functions of CMSIS-NN that cortex_m's operators call, declared for tests: reference_kernels.c implements them.
#pragma once

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum {
  ARM_CMSIS_NN_SUCCESS = 0,
  ARM_CMSIS_NN_ARG_ERROR = -1,
  ARM_CMSIS_NN_NO_IMPL_ERROR = -2
} arm_cmsis_nn_status;

typedef struct {
  void* buf;
  int32_t size;
} cmsis_nn_context;
typedef struct {
  int32_t n, h, w, c;
} cmsis_nn_dims;
typedef struct {
  int32_t w, h;
} cmsis_nn_tile;
typedef struct {
  int32_t min, max;
} cmsis_nn_activation;
typedef struct {
  int32_t *multiplier, *shift;
} cmsis_nn_per_channel_quant_params;
typedef struct {
  int32_t multiplier, shift;
} cmsis_nn_per_tensor_quant_params;
typedef struct {
  int32_t input_offset, output_offset;
  cmsis_nn_tile stride, padding, dilation;
  cmsis_nn_activation activation;
} cmsis_nn_conv_params;
typedef struct {
  int32_t input_offset, output_offset, ch_mult;
  cmsis_nn_tile stride, padding, dilation;
  cmsis_nn_activation activation;
} cmsis_nn_dw_conv_params;
typedef struct {
  cmsis_nn_tile stride, padding;
  cmsis_nn_activation activation;
} cmsis_nn_pool_params;
typedef struct {
  int32_t input_offset, filter_offset, output_offset;
  cmsis_nn_activation activation;
} cmsis_nn_fc_params;

int32_t arm_convolve_wrapper_s8_get_buffer_size(const cmsis_nn_conv_params* params, const cmsis_nn_dims* in_dims,
                                                const cmsis_nn_dims* filter_dims, const cmsis_nn_dims* out_dims);
arm_cmsis_nn_status arm_convolve_wrapper_s8(const cmsis_nn_context* memory, const cmsis_nn_conv_params* params,
                                            const cmsis_nn_per_channel_quant_params* scales,
                                            const cmsis_nn_dims* in_dims, const int8_t* in,
                                            const cmsis_nn_dims* filter_dims, const int8_t* filter,
                                            const cmsis_nn_dims* bias_dims, const int32_t* bias,
                                            const cmsis_nn_dims* out_dims, int8_t* out);
int32_t arm_depthwise_conv_wrapper_s8_get_buffer_size(const cmsis_nn_dw_conv_params* params,
                                                      const cmsis_nn_dims* in_dims, const cmsis_nn_dims* filter_dims,
                                                      const cmsis_nn_dims* out_dims);
arm_cmsis_nn_status arm_depthwise_conv_wrapper_s8(const cmsis_nn_context* memory, const cmsis_nn_dw_conv_params* params,
                                                  const cmsis_nn_per_channel_quant_params* scales,
                                                  const cmsis_nn_dims* in_dims, const int8_t* in,
                                                  const cmsis_nn_dims* filter_dims, const int8_t* filter,
                                                  const cmsis_nn_dims* bias_dims, const int32_t* bias,
                                                  const cmsis_nn_dims* out_dims, int8_t* out);
int32_t arm_fully_connected_s8_get_buffer_size(const cmsis_nn_dims* filter_dims);
arm_cmsis_nn_status arm_fully_connected_s8(const cmsis_nn_context* memory, const cmsis_nn_fc_params* params,
                                           const cmsis_nn_per_tensor_quant_params* scale, const cmsis_nn_dims* in_dims,
                                           const int8_t* in, const cmsis_nn_dims* filter_dims, const int8_t* filter,
                                           const cmsis_nn_dims* bias_dims, const int32_t* bias,
                                           const cmsis_nn_dims* out_dims, int8_t* out);
int32_t arm_avgpool_s8_get_buffer_size(int out_width, int channels);
arm_cmsis_nn_status arm_avgpool_s8(const cmsis_nn_context* memory, const cmsis_nn_pool_params* params,
                                   const cmsis_nn_dims* in_dims, const int8_t* in, const cmsis_nn_dims* filter_dims,
                                   const cmsis_nn_dims* out_dims, int8_t* out);
arm_cmsis_nn_status arm_max_pool_s8(const cmsis_nn_context* memory, const cmsis_nn_pool_params* params,
                                    const cmsis_nn_dims* in_dims, const int8_t* in, const cmsis_nn_dims* filter_dims,
                                    const cmsis_nn_dims* out_dims, int8_t* out);
void arm_softmax_s8(const int8_t* in, int32_t rows, int32_t row_size, int32_t multiplier, int32_t shift,
                    int32_t diff_min, int8_t* out);

#ifdef __cplusplus
}
#endif
