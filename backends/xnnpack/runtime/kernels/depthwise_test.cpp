// SPDX-License-Identifier: BSD-3-Clause
#include "kernels/depthwise.h"

#include <gtest/gtest.h>
#include <xnnpack.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <random>
#include <type_traits>
#include <vector>

#include <executorch/runtime/core/exec_aten/exec_aten.h>

#include "private/xnnpack_kernels.h"

namespace executorch {
namespace backends {
namespace xnnpack {
namespace {

#ifdef EXECUTORCH_XNNPACK_DEPTHWISE

struct Geometry {
  size_t channels, width, height, stride, dilation;  // width: of the results; height: of the image
};

std::ostream& operator<<(std::ostream& out, const Geometry& of) {
  return out << of.channels << " channels, " << of.width << " places, height " << of.height << ", stride " << of.stride
             << ", dilation " << of.dilation;
}

/// The first row of a convolution that is padded on all sides, as XNNPACK's operators lay it out for their kernels.
template <typename T>
class Row {
 public:
  static constexpr size_t kOffset = 4096, kGap = 3;  // bytes; unused channels after each output pixel

  Row(const DepthwiseKernel& kernel, const Geometry& geometry, T zero, std::mt19937& random)
      : geometry_(geometry), zero_(geometry.channels + XNN_EXTRA_BYTES, zero) {
    const size_t window = kernel.taps == 9 ? 3 : 5, pad = window / 2 * geometry.dilation;
    const size_t image_width = (geometry.width - 1) * geometry.stride + 1;
    for (size_t i = 0; i < image_width * geometry.height; ++i) {
      pixels_.emplace_back(geometry.channels + XNN_EXTRA_BYTES);  // XNNPACK's kernels read past the end
      for (T& element : pixels_.back()) {
        element = any(random);
      }
    }
    const size_t step = geometry.dilation == 1 ? std::min(geometry.stride, window) : window;
    stride_ = static_cast<intptr_t>(step * window * sizeof(void*));
    table_.resize((geometry.width - 1) * step * window + kernel.taps);
    for (size_t x = 0; x < geometry.width; ++x) {
      for (size_t tap = 0; tap < kernel.taps; ++tap) {
        const size_t from_x = x * geometry.stride + tap / window * geometry.dilation - pad;
        const size_t from_y = tap % window * geometry.dilation - pad;  // wraps in the padding
        table_[x * step * window + tap] =
            from_x < image_width && from_y < geometry.height
                ? reinterpret_cast<const void*>(
                      reinterpret_cast<uintptr_t>(pixels_[from_y * image_width + from_x].data()) - kOffset)
                : zero_.data();
      }
    }
  }

  std::vector<T> run(DepthwiseFunction function, const void* packed, const void* params) {
    std::vector<T> output(geometry_.width * (geometry_.channels + kGap), T(77));
    function(geometry_.channels, geometry_.width, table_.data(), packed, output.data(), stride_, kGap * sizeof(T),
             kOffset, zero_.data(), params);
    return output;
  }

 private:
  static T any(std::mt19937& random) {
    if constexpr (!std::is_integral_v<T>) {
      return T(std::uniform_real_distribution<float>(-1, 1)(random));
    } else {
      return static_cast<T>(random());
    }
  }

  Geometry geometry_;
  std::vector<T> zero_;
  std::vector<std::vector<T>> pixels_;
  std::vector<const void*> table_;
  intptr_t stride_;
};

/// Blocks of packed weights, aligned as XNNPACK's kernels require.
class Packed {
 public:
  explicit Packed(size_t size) : memory_(size + kAlignment) {
    void* start = memory_.data();
    size_t space = memory_.size();
    next_ = static_cast<char*>(std::align(kAlignment, size, start, space));
    data_ = next_;
  }

  template <typename T>
  void add(T value) {
    std::memcpy(next_, &value, sizeof(value));
    next_ += sizeof(value);
  }

  const void* data() const { return data_; }

 private:
  static constexpr size_t kAlignment = 64;
  std::vector<char> memory_;
  char *next_, *data_;
};

template <typename Function>
void for_geometries(const DepthwiseKernel& kernel, const Function& function) {
  const size_t tile = kernel.channel_tile;
  for (const size_t channels : {size_t(1), size_t(7), tile - 1, tile, tile + 1, 2 * tile, 3 * tile + 5, 4 * tile}) {
    for (const size_t width : {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 32, 33, 70}) {
      for (const size_t stride : {1, 2, 3}) {
        for (const size_t dilation : {1, 2}) {
          function(Geometry{channels, width, 1 + width % 3, stride, dilation});
        }
      }
    }
  }
}

/// Params: XNNPACK's limits of results of the type T. Returns the number of kernels.
template <typename T, typename Params>
size_t compare_bits(Elements elements) {
  std::mt19937 random(1);
  std::uniform_real_distribution<float> any(-1, 1);
  size_t kernels = 0;
  for (const DepthwiseKernel& kernel : depthwise_kernels()) {
    if (kernel.elements != elements) {
      continue;
    }
    ++kernels;
    for_geometries(kernel, [&](const Geometry& geometry) {
      Packed packed((geometry.channels + kernel.channel_tile) * (1 + kernel.taps) * sizeof(T));
      for (size_t i = 0; i < (geometry.channels + kernel.channel_tile - 1) / kernel.channel_tile; ++i) {
        for (size_t j = 0; j < kernel.channel_tile * (1 + kernel.taps); ++j) {
          packed.add(T(any(random)));
        }
      }
      Params params;
      params.scalar.min = geometry.width % 2 == 0 ? -0.5f : -std::numeric_limits<float>::infinity();
      params.scalar.max = geometry.width % 2 == 0 ? 0.75f : std::numeric_limits<float>::infinity();
      Row<T> row(kernel, geometry, T(0.0f), random);
      const auto found = row.run(kernel.function, packed.data(), &params);
      const auto expected = row.run(kernel.theirs, packed.data(), &params);
      EXPECT_EQ(std::memcmp(found.data(), expected.data(), found.size() * sizeof(T)), 0)
          << kernel.instructions << ", " << kernel.taps << " taps, " << geometry;
    });
  }
  return kernels;
}

TEST(XnnpackDepthwise, FloatsAreTheSameBits) {
  compare_bits<float, xnn_f32_minmax_params>(Elements::Float32);
}

TEST(XnnpackDepthwise, HalvesAreTheSameBits) {
  const size_t kernels = compare_bits<runtime::etensor::Half, xnn_f16_minmax_params>(Elements::Float16);
#ifdef EXECUTORCH_XNNPACK_NEON_KERNELS
  EXPECT_EQ(kernels, xnn_init_hardware_config()->use_arm_neon_fp16_arith ? 1u : 0u);
#else
  EXPECT_EQ(kernels, 0u);
#endif
}

TEST(XnnpackDepthwise, IntegersAreTheSame) {
  std::mt19937 random(2);
  for (const DepthwiseKernel& kernel : depthwise_kernels()) {
    if (kernel.elements != Elements::Int8) {
      continue;
    }
    for_geometries(kernel, [&](const Geometry& geometry) {
      Packed packed((geometry.channels + kernel.channel_tile) * (kernel.taps + sizeof(int32_t) + sizeof(float)));
      for (size_t i = 0; i < (geometry.channels + kernel.channel_tile - 1) / kernel.channel_tile; ++i) {
        for (size_t j = 0; j < kernel.channel_tile; ++j) {
          const auto bias = static_cast<int32_t>(random());
          packed.add(j % 3 == 0 ? bias : bias % 4096);
        }
        for (size_t j = 0; j < kernel.channel_tile * kernel.taps; ++j) {
          packed.add(j % 5 == 0 ? int8_t(-128) : static_cast<int8_t>(random()));
        }
        for (size_t j = 0; j < kernel.channel_tile; ++j) {
          packed.add(static_cast<float>(random() % 4096) / (1 << 22));
        }
      }
      for (const int zero_point : {-128, 0, 127}) {
        xnn_qs8_qc8w_conv_minmax_params params;
        params.fp32_scalar.output_zero_point = static_cast<int16_t>(zero_point);
        params.fp32_scalar.output_min = geometry.width % 2 == 0 ? -100 : -128;
        params.fp32_scalar.output_max = geometry.width % 2 == 0 ? 90 : 127;
        Row<int8_t> row(kernel, geometry, static_cast<int8_t>(zero_point), random);
        EXPECT_EQ(row.run(kernel.function, packed.data(), &params), row.run(kernel.theirs, packed.data(), &params))
            << kernel.instructions << ", " << kernel.taps << " taps, " << geometry << ", zero point " << zero_point;
      }
    });
  }
}

#endif

#ifdef EXECUTORCH_XNNPACK_NEON_KERNELS

/// Whether the configuration for 9 taps has a kernel of ours.
bool has_ours(const xnn_dwconv_config* configs, size_t count, Elements elements) {
  const std::vector<DepthwiseKernel> ours = depthwise_kernels();
  const auto is_ours = [&](const xnn_dwconv_config& config) {
    return config.primary_tile == 9 && std::any_of(ours.begin(), ours.end(), [&](const DepthwiseKernel& kernel) {
             return kernel.elements == elements && kernel.function == config.minmax.unipass;
           });
  };
  return configs != nullptr && std::any_of(configs, configs + count, is_ours);
}

/// On each processor, whichever kernel XNNPACK chooses for it.
TEST(XnnpackDepthwise, TakesThePlaceOfXnnpacks) {
  ASSERT_EQ(xnn_initialize(nullptr), xnn_status_success);
  use_depthwise();
  EXPECT_TRUE(has_ours(xnn_init_f32_dwconv_config(), XNN_MAX_F32_DWCONV_UKERNELS, Elements::Float32));
  EXPECT_EQ(has_ours(xnn_init_f16_dwconv_config(), XNN_MAX_F16_DWCONV_UKERNELS, Elements::Float16),
            xnn_init_hardware_config()->use_arm_neon_fp16_arith);
}

#endif

/// Convolves two images, so that the second has an offset. Sums of small integers are exact.
TEST(XnnpackDepthwise, FloatWindowsWithPadding) {
  constexpr uint32_t kBatch = 2, kHeight = 4, kWindow = 3, kPad = 1;
  ASSERT_EQ(xnn_initialize(nullptr), xnn_status_success);
  use_depthwise();
  for (const uint32_t channels : {1, 8, 15, 16, 17, 40}) {
    for (const uint32_t stride : {1, 2, 3}) {
      for (const uint32_t dilation : {1, 2}) {
        std::vector<float> weights(channels * kWindow * kWindow), bias(channels);
        for (size_t i = 0; i < weights.size(); ++i) {
          weights[i] = static_cast<float>(i * 5 % 7) - 3;
        }
        for (size_t i = 0; i < channels; ++i) {
          bias[i] = static_cast<float>(i % 5);
        }
        xnn_operator_t op = nullptr;
        ASSERT_EQ(xnn_create_convolution2d_nhwc_f32(kPad, kPad, kPad, kPad, kWindow, kWindow, stride, stride, dilation,
                                                    dilation, channels, 1, 1, channels, channels, weights.data(),
                                                    bias.data(), -20.0f, 30.0f, 0, nullptr, nullptr, &op),
                  xnn_status_success);
        for (size_t width = dilation == 1 ? 1 : 3; width <= 10; ++width) {
          std::vector<float> input(kBatch * kHeight * width * channels + XNN_EXTRA_BYTES / sizeof(float));
          for (size_t i = 0; i < input.size(); ++i) {
            input[i] = static_cast<float>((i * 3 + i / 11) % 7) - 3;
          }
          size_t workspace_size = 0, alignment = 0, height_out = 0, width_out = 0;
          ASSERT_EQ(xnn_reshape_convolution2d_nhwc_f32(op, kBatch, kHeight, width, &workspace_size, &alignment,
                                                       &height_out, &width_out, nullptr),
                    xnn_status_success);
          std::vector<char> workspace(workspace_size + 64);
          std::vector<float> output(kBatch * height_out * width_out * channels + 1, -1e6f);
          ASSERT_EQ(xnn_setup_convolution2d_nhwc_f32(op, workspace.data(), input.data(), output.data()),
                    xnn_status_success);
          ASSERT_EQ(xnn_run_operator(op, nullptr), xnn_status_success);
          for (size_t i = 0; i + 1 < output.size(); ++i) {
            const size_t channel = i % channels, x = i / channels % width_out,
                         y = i / channels / width_out % height_out, image = i / channels / width_out / height_out;
            float sum = bias[channel];
            for (size_t tap = 0; tap < kWindow * kWindow; ++tap) {
              const size_t from_y = y * stride + tap / kWindow * dilation - kPad,
                           from_x = x * stride + tap % kWindow * dilation - kPad;  // wraps in the padding
              if (from_y < kHeight && from_x < width) {
                sum += input[((image * kHeight + from_y) * width + from_x) * channels + channel] *
                       weights[channel * kWindow * kWindow + tap];
              }
            }
            ASSERT_EQ(output[i], std::clamp(sum, -20.0f, 30.0f))
                << channels << " channels, stride " << stride << ", dilation " << dilation << ", width " << width
                << ", element " << i;
          }
          ASSERT_EQ(output.back(), -1e6f) << "written past the end";
        }
        xnn_delete_operator(op);
      }
    }
  }
}

}  // namespace
}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch
