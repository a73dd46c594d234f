// SPDX-License-Identifier: BSD-3-Clause
// Convolution in which every output channel reads one input channel. That is too little arithmetic for a GEMM, so the
// inner loops run along output rows, or along channels if those are contiguous.
#include <kernels/portable/cpu/convolution/convolution.h>
#include <kernels/portable/cpu/math/gemm.h>
#include <kernels/portable/cpu/math/simd.h>

namespace torch {
namespace executor {
namespace {

// The numbers of outputs of a row, and of channels, that are accumulated on the stack at a time.
constexpr int64_t kRowChunk = kGemmPanelFloats / 32;
constexpr int64_t kChannelChunk = kGemmPanelFloats / 64;
// The largest filter of convolve_channels_last(): 3 x 3 x 3 weights.
constexpr int64_t kMaxTaps = 27;

int64_t larger(int64_t a, int64_t b) {
  return a > b ? a : b;
}
int64_t smaller(int64_t a, int64_t b) {
  return a < b ? a : b;
}
int64_t divide_up(int64_t a, int64_t b) {
  return a >= 0 ? (a + b - 1) / b : -(-a / b);
}

template <int kStep>
ET_ALWAYS_INLINE void add_scaled(float* sum, const float* in, float weight, int64_t count, int64_t step) {
  const int64_t distance = kStep == 0 ? step : kStep;
  for (int64_t j = 0; j < count; ++j) {
    sum[j] += weight * in[j * distance];
  }
}

// One input plane, one filter, one output plane; rows are contiguous.
ET_ALWAYS_INLINE void convolve_plane_body(const Convolution& shape, const float* in, const float* weight, float bias,
                                          float* out) {
  float sum[kRowChunk];
  const int64_t step = shape.stride[2];
  for (int64_t od = 0; od < shape.out_size[0]; ++od) {
    for (int64_t oh = 0; oh < shape.out_size[1]; ++oh) {
      float* out_row = out + od * shape.out_stride[0] + oh * shape.out_stride[1];
      for (int64_t start = 0; start < shape.out_size[2]; start += kRowChunk) {
        const int64_t count = smaller(kRowChunk, shape.out_size[2] - start);
        for (int64_t j = 0; j < count; ++j) {
          sum[j] = bias;
        }
        for (int64_t kd = 0; kd < shape.kernel_size[0]; ++kd) {
          const int64_t id = shape.input_position(0, od, kd);
          for (int64_t kh = 0; id >= 0 && kh < shape.kernel_size[1]; ++kh) {
            const int64_t ih = shape.input_position(1, oh, kh);
            if (ih < 0) {
              continue;
            }
            const float* in_row = in + id * shape.in_stride[0] + ih * shape.in_stride[1];
            const float* taps = weight + kd * shape.weight_stride[0] + kh * shape.weight_stride[1];
            for (int64_t kw = 0; kw < shape.kernel_size[2]; ++kw) {
              // Output position start + j reads input position first + j * step.
              const int64_t first = start * step - shape.padding[2] + kw * shape.dilation[2];
              const int64_t begin = larger(0, divide_up(-first, step));
              const int64_t end = smaller(count, divide_up(shape.in_size[2] - first, step));
              if (end <= begin) {
                continue;
              }
              const float* source = in_row + first + begin * step;
              const float tap = taps[kw * shape.weight_stride[2]];
              if (step == 1) {
                add_scaled<1>(sum + begin, source, tap, end - begin, step);
              } else if (step == 2) {
                add_scaled<2>(sum + begin, source, tap, end - begin, step);
              } else {
                add_scaled<0>(sum + begin, source, tap, end - begin, step);
              }
            }
          }
        }
        for (int64_t j = 0; j < count; ++j) {
          out_row[start + j] = sum[j];
        }
      }
    }
  }
}
ET_MULTIVERSION(static, convolve_plane,
                (const Convolution& shape, const float* in, const float* weight, float bias, float* out),
                (shape, in, weight, bias, out))

// All pixels of `channels` (at most kChannelChunk) contiguous channels; weight[tap * kChannelChunk + channel].
ET_ALWAYS_INLINE void convolve_channels_body(const Convolution& shape, const float* in, const float* weight,
                                             const float* bias, float* out, int64_t channels) {
  float sum[kChannelChunk];
  for (int64_t od = 0; od < shape.out_size[0]; ++od) {
    for (int64_t oh = 0; oh < shape.out_size[1]; ++oh) {
      for (int64_t ow = 0; ow < shape.out_size[2]; ++ow) {
        for (int64_t c = 0; c < channels; ++c) {
          sum[c] = bias == nullptr ? 0.0f : bias[c];
        }
        const float* taps = weight;
        for (int64_t kd = 0; kd < shape.kernel_size[0]; ++kd) {
          const int64_t id = shape.input_position(0, od, kd);
          for (int64_t kh = 0; kh < shape.kernel_size[1]; ++kh) {
            const int64_t ih = shape.input_position(1, oh, kh);
            for (int64_t kw = 0; kw < shape.kernel_size[2]; ++kw, taps += kChannelChunk) {
              const int64_t iw = shape.input_position(2, ow, kw);
              if (id < 0 || ih < 0 || iw < 0) {
                continue;
              }
              const float* x = in + id * shape.in_stride[0] + ih * shape.in_stride[1] + iw * shape.in_stride[2];
              for (int64_t c = 0; c < channels; ++c) {
                sum[c] += taps[c] * x[c];
              }
            }
          }
        }
        float* pixel = out + od * shape.out_stride[0] + oh * shape.out_stride[1] + ow * shape.out_stride[2];
        for (int64_t c = 0; c < channels; ++c) {
          pixel[c] = sum[c];
        }
      }
    }
  }
}
ET_MULTIVERSION(static, convolve_channels,
                (const Convolution& shape, const float* in, const float* weight, const float* bias, float* out,
                 int64_t channels),
                (shape, in, weight, bias, out, channels))

void convolve_channels_last(const Convolution& shape, const float* in, const float* weight, const float* bias,
                            float* out) {
  float taps[kMaxTaps * kChannelChunk];
  for (int64_t begin = 0; begin < shape.out_channels; begin += kChannelChunk) {
    const int64_t channels = smaller(kChannelChunk, shape.out_channels - begin);
    float* tap = taps;
    for (int64_t kd = 0; kd < shape.kernel_size[0]; ++kd) {
      for (int64_t kh = 0; kh < shape.kernel_size[1]; ++kh) {
        for (int64_t kw = 0; kw < shape.kernel_size[2]; ++kw, tap += kChannelChunk) {
          const float* source = weight + begin * shape.weight_stride0 + kd * shape.weight_stride[0] +
                                kh * shape.weight_stride[1] + kw * shape.weight_stride[2];
          for (int64_t c = 0; c < channels; ++c) {
            tap[c] = source[c * shape.weight_stride0];
          }
        }
      }
    }
    for (int64_t n = 0; n < shape.batch; ++n) {
      convolve_channels(shape, in + n * shape.in_batch_stride + begin, taps, bias == nullptr ? nullptr : bias + begin,
                        out + n * shape.out_batch_stride + begin, channels);
    }
  }
}

}  // namespace

bool convolve_depthwise(const Convolution& shape, const float* in, const float* weight, const float* bias, float* out) {
  if (shape.transposed || shape.in_group() != 1) {
    return false;
  }
  if (shape.out_group() == 1 && shape.in_channel_stride == 1 && shape.out_channel_stride == 1 &&
      shape.in_channels > 1 && shape.taps() <= kMaxTaps) {
    convolve_channels_last(shape, in, weight, bias, out);
    return true;
  }
  if (shape.in_stride[2] != 1 || shape.out_stride[2] != 1) {
    return false;
  }
  // With many filters for each input channel, a GEMM reads the input less often.
  if (shape.out_group() >= 4) {
    return false;
  }
  for (int64_t n = 0; n < shape.batch; ++n) {
    for (int64_t oc = 0; oc < shape.out_channels; ++oc) {
      convolve_plane(shape, in + n * shape.in_batch_stride + oc / shape.out_group() * shape.in_channel_stride,
                     weight + oc * shape.weight_stride0, bias == nullptr ? 0.0f : bias[oc],
                     out + n * shape.out_batch_stride + oc * shape.out_channel_stride);
    }
  }
  return true;
}

}  // namespace executor
}  // namespace torch
