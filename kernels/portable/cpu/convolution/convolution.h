// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

namespace torch {
namespace executor {

/// A convolution of any rank as one of rank 3: missing leading spatial dimensions have size 1, stride 1 and no padding.
/// Strides are in elements and follow the tensors' dim orders, so every layout is covered.
struct Convolution {
  static constexpr int kDims = 3;  // depth, height, width

  bool transposed = false;
  int64_t batch = 0;
  int64_t groups = 1;
  int64_t in_channels = 0;
  int64_t out_channels = 0;
  int64_t in_size[kDims] = {1, 1, 1};
  int64_t kernel_size[kDims] = {1, 1, 1};
  int64_t out_size[kDims] = {1, 1, 1};
  int64_t stride[kDims] = {1, 1, 1};
  int64_t padding[kDims] = {0, 0, 0};
  int64_t dilation[kDims] = {1, 1, 1};

  int64_t in_batch_stride = 0;
  int64_t in_channel_stride = 0;
  int64_t in_stride[kDims] = {0, 0, 0};
  int64_t out_batch_stride = 0;
  int64_t out_channel_stride = 0;
  int64_t out_stride[kDims] = {0, 0, 0};
  /// Strides of the weight's dimensions 0 and 1: output and input channel, or the reverse if transposed.
  int64_t weight_stride0 = 0;
  int64_t weight_stride1 = 0;
  int64_t weight_stride[kDims] = {0, 0, 0};

  int64_t in_group() const { return in_channels / groups; }
  int64_t out_group() const { return out_channels / groups; }
  int64_t out_pixels() const { return out_size[0] * out_size[1] * out_size[2]; }
  int64_t in_pixels() const { return in_size[0] * in_size[1] * in_size[2]; }
  int64_t taps() const { return kernel_size[0] * kernel_size[1] * kernel_size[2]; }

  /// The position on axis `d` of the input that output position `out` reads through kernel position `tap`, or -1 for
  /// none.
  int64_t input_position(int d, int64_t out, int64_t tap) const {
    int64_t in;
    if (transposed) {
      in = out + padding[d] - tap * dilation[d];
      if (in < 0 || in % stride[d] != 0) {
        return -1;
      }
      in /= stride[d];
    } else {
      in = out * stride[d] - padding[d] + tap * dilation[d];
    }
    return in >= 0 && in < in_size[d] ? in : -1;
  }
};

/// Fast algorithms for float. Each returns false, and does nothing, if it does not support the shape or the layout.
/// bias is nullptr or has out_channels elements.
bool convolve_depthwise(const Convolution& shape, const float* in, const float* weight, const float* bias, float* out);
bool convolve_gemm(const Convolution& shape, const float* in, const float* weight, const float* bias, float* out);
bool convolve_transposed_gemm(const Convolution& shape, const float* in, const float* weight, const float* bias,
                              float* out);

/// Direct convolution for any dtype and layout, which accumulates in Sum.
template <typename T, typename Sum>
void convolve_direct(const Convolution& shape, const T* in, const T* weight, const T* bias, T* out) {
  const int64_t in_group = shape.in_group(), out_group = shape.out_group();
  for (int64_t n = 0; n < shape.batch; ++n) {
    for (int64_t oc = 0; oc < shape.out_channels; ++oc) {
      const int64_t group = oc / out_group;
      const T* in_channels = in + n * shape.in_batch_stride + group * in_group * shape.in_channel_stride;
      const T* weights =
          shape.transposed ? weight + group * in_group * shape.weight_stride0 + (oc % out_group) * shape.weight_stride1
                           : weight + oc * shape.weight_stride0;
      const int64_t weight_channel_stride = shape.transposed ? shape.weight_stride0 : shape.weight_stride1;
      T* out_channel = out + n * shape.out_batch_stride + oc * shape.out_channel_stride;
      for (int64_t pixel = 0; pixel < shape.out_pixels(); ++pixel) {
        const int64_t ow = pixel % shape.out_size[2];
        const int64_t oh = pixel / shape.out_size[2] % shape.out_size[1];
        const int64_t od = pixel / (shape.out_size[2] * shape.out_size[1]);
        Sum sum = bias == nullptr ? Sum(0) : static_cast<Sum>(bias[oc]);
        for (int64_t kd = 0; kd < shape.kernel_size[0]; ++kd) {
          const int64_t id = shape.input_position(0, od, kd);
          for (int64_t kh = 0; id >= 0 && kh < shape.kernel_size[1]; ++kh) {
            const int64_t ih = shape.input_position(1, oh, kh);
            for (int64_t kw = 0; ih >= 0 && kw < shape.kernel_size[2]; ++kw) {
              const int64_t iw = shape.input_position(2, ow, kw);
              if (iw < 0) {
                continue;
              }
              const T* x = in_channels + id * shape.in_stride[0] + ih * shape.in_stride[1] + iw * shape.in_stride[2];
              const T* w =
                  weights + kd * shape.weight_stride[0] + kh * shape.weight_stride[1] + kw * shape.weight_stride[2];
              for (int64_t ic = 0; ic < in_group; ++ic) {
                sum +=
                    static_cast<Sum>(x[ic * shape.in_channel_stride]) * static_cast<Sum>(w[ic * weight_channel_stride]);
              }
            }
          }
        }
        out_channel[od * shape.out_stride[0] + oh * shape.out_stride[1] + ow * shape.out_stride[2]] =
            static_cast<T>(sum);
      }
    }
  }
}

}  // namespace executor
}  // namespace torch
