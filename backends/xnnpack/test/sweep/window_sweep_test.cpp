// SPDX-License-Identifier: BSD-3-Clause
// Runs convolutions of each type on numbers of output pixels and channels around those of tiles, and compares them with
// sums in double precision. Together they use all GEMM, IGEMM and depthwise kernels that can be chosen.
#include <gtest/gtest.h>

#include <cstddef>
#include <limits>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "layers.h"
#include "processors.h"

namespace executorch {
namespace backends {
namespace xnnpack {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// Filters of float16 convolutions are float32; XNNPACK converts them.
constexpr LayerTypes kFloat32 = {"f32", xnn_datatype_fp32, xnn_datatype_fp32, xnn_datatype_fp32};
constexpr LayerTypes kFloat16 = {"f16", xnn_datatype_fp16, xnn_datatype_fp32, xnn_datatype_fp16};
constexpr LayerTypes kQs8 = {"qs8", xnn_datatype_qint8, xnn_datatype_qint8, xnn_datatype_qint8};
constexpr LayerTypes kQs8Qc8 = {"qs8_qc8w", xnn_datatype_qint8, xnn_datatype_qcint8, xnn_datatype_qint8};
constexpr LayerTypes kQu8 = {"qu8", xnn_datatype_quint8, xnn_datatype_quint8, xnn_datatype_quint8};
constexpr LayerTypes kQd8Float32 = {"qd8_f32_qc8w", xnn_datatype_qdint8, xnn_datatype_qcint8, xnn_datatype_fp32};
constexpr LayerTypes kQd8Float16 = {"qd8_f16_qc8w", xnn_datatype_qdint8, xnn_datatype_qcint8, xnn_datatype_fp16};

/// The window of a convolution or of a transposed convolution.
struct Window {
  uint32_t height, width, stride, dilation, padding;

  size_t size() const { return size_t{height} * width; }
  /// The number of outputs in a dimension of `in` elements, where the window has `window` elements; 0 if it does not
  /// fit.
  size_t count(size_t in, uint32_t window, bool transposed) const {
    const size_t span = (window - 1) * dilation + 1;
    if (transposed) {
      const size_t whole = (in - 1) * stride + span;
      return whole > 2 * padding ? whole - 2 * padding : 0;
    }
    return in + 2 * padding >= span ? (in + 2 * padding - span) / stride + 1 : 0;
  }
};

enum class Kind { kUsual, kDepthwise, kTransposed };

struct Case {
  Kind kind;
  Window window;
  size_t groups, in, out;  // input and output channels of a group
};

/// The sum of products for each output; images are (batch, height, width, channels).
std::vector<double> convolve(const Case& of, const Dims& dims, const std::vector<double>& image, const Filter& filter,
                             const Dims& out_dims) {
  const Window& window = of.window;
  const bool transposed = of.kind == Kind::kTransposed;
  const size_t channels = of.groups * of.out;
  std::vector<double> sums(product(out_dims));
  for (size_t i = 0; i < sums.size(); ++i) {
    const size_t channel = i % channels, group = channel / of.out;
    const size_t x = i / channels % out_dims[2], y = i / channels / out_dims[2] % out_dims[1],
                 n = i / channels / out_dims[2] / out_dims[1];
    double sum = filter.bias[channel];
    for (size_t tap = 0; tap < window.size(); ++tap) {
      const size_t ky = tap / window.width * window.dilation, kx = tap % window.width * window.dilation;
      // Above and left of the image, these wrap to huge numbers.
      size_t from_y = y * window.stride + ky - window.padding, from_x = x * window.stride + kx - window.padding;
      if (transposed) {
        from_y = y + window.padding - ky;
        from_x = x + window.padding - kx;
        if (from_y % window.stride != 0 || from_x % window.stride != 0) {
          continue;
        }
        from_y /= window.stride;
        from_x /= window.stride;
      }
      if (from_y >= dims[1] || from_x >= dims[2]) {
        continue;
      }
      const double* const from = &image[((n * dims[1] + from_y) * dims[2] + from_x) * dims[3] + group * of.in];
      const double* const by = &filter.elements.reals[(channel * window.size() + tap) * of.in];
      sum = std::inner_product(from, from + of.in, by, sum);
    }
    sums[i] = sum;
  }
  return sums;
}

xnn_status define(const Case& of, const LayerValues& values) {
  const Window& window = of.window;
  const uint32_t pad = window.padding;
  const auto groups = static_cast<uint32_t>(of.groups);
  switch (of.kind) {
    case Kind::kDepthwise:
      return xnn_define_depthwise_convolution_2d(values.graph, pad, pad, pad, pad, window.height, window.width,
                                                 window.stride, window.stride, window.dilation, window.dilation,
                                                 static_cast<uint32_t>(of.out), of.groups, -kInfinity, kInfinity,
                                                 values.in, values.filter, values.bias, values.out, 0);
    case Kind::kTransposed:
      return xnn_define_deconvolution_2d(values.graph, pad, pad, pad, pad, 0, 0, window.height, window.width,
                                         window.stride, window.stride, window.dilation, window.dilation, groups, of.in,
                                         of.out, -kInfinity, kInfinity, values.in, values.filter, values.bias,
                                         values.out, 0);
    default:
      return xnn_define_convolution_2d(values.graph, pad, pad, pad, pad, window.height, window.width, window.stride,
                                       window.stride, window.dilation, window.dilation, groups, of.in, of.out,
                                       -kInfinity, kInfinity, values.in, values.filter, values.bias, values.out, 0);
  }
}

/// Runs a convolution on two images of each height and width.
/// @param special Instead runs once for each of kSpecialNumbers and each channel, with this number in one pixel of each
/// image.
void sweep(const LayerTypes& types, const Case& of, const std::vector<size_t>& heights,
           const std::vector<size_t>& widths, size_t threads = 1, bool special = false) {
  constexpr size_t kBatch = 2;
  const Window& window = of.window;
  const size_t channels = of.groups * of.out;
  const Filter filter = make_filter(types, channels, window.size() * of.in, of.kind == Kind::kDepthwise);
  const auto dims_of = [&](size_t height, size_t width) {
    const bool transposed = of.kind == Kind::kTransposed;
    const Dims in = {kBatch, height, width, of.groups * of.in};
    const Dims out = {kBatch, window.count(height, window.height, transposed),
                      window.count(width, window.width, transposed), channels};
    return std::make_pair(in, out);
  };
  const auto [most_in, most_out] = dims_of(heights.back(), widths.back());
  const Dims filter_dims = of.kind == Kind::kDepthwise ? Dims{1, window.height, window.width, channels}
                                                       : Dims{channels, window.height, window.width, of.in};
  const Layer layer(
      types, most_in, 3, most_out, filter_dims, of.kind == Kind::kDepthwise ? 3 : 0, filter,
      [&](const LayerValues& values) { return define(of, values); }, threads);
  for (const size_t height : heights) {
    for (const size_t width : widths) {
      const auto [in, out] = dims_of(height, width);
      if (!layer.is_supported() || product(out) == 0 || ::testing::Test::HasFailure()) {
        continue;
      }
      Elements image = make_input(types, kBatch, product(in) / kBatch);
      const auto check = [&, in = in, out = out](const std::string& what) {
        const std::vector<double> sums = convolve(of, in, image.reals, filter, out);
        layer.check(in, image.bytes.data(), out, sums.data(),
                    "window " + std::to_string(window.height) + " x " + std::to_string(window.width) + ", stride " +
                        std::to_string(window.stride) + ", dilation " + std::to_string(window.dilation) + ", " +
                        std::to_string(of.groups) + " groups of " + std::to_string(of.in) + " by " +
                        std::to_string(of.out) + " channels, image " + std::to_string(in[1]) + " x " +
                        std::to_string(in[2]) + ", " + std::to_string(threads) + " threads" + what);
      };
      if (!special) {
        check("");
        continue;
      }
      for (const double number : kSpecialNumbers) {
        for (size_t channel = 0; channel < in[3] && !::testing::Test::HasFailure(); ++channel) {
          Elements changed = image;
          set_float(types, changed, channel, number);
          set_float(types, changed, product(in) - in[3] + channel, number);
          std::swap(image, changed);
          check(", " + std::to_string(number) + " in channel " + std::to_string(channel));
          std::swap(image, changed);
        }
      }
    }
  }
}

std::vector<size_t> up_to(size_t most) {
  std::vector<size_t> numbers(most);
  std::iota(numbers.begin(), numbers.end(), size_t{1});
  return numbers;
}

class XnnpackConvolutionSweep : public ::testing::TestWithParam<LayerTypes> {};

TEST_P(XnnpackConvolutionSweep, EachNumberOfPixels) {
  expect_on_each_processor([types = GetParam()] {
    const bool all = sweeps_all();
    // Two images of each width: numbers of pixels around multiples of each tile height up to 24.
    const std::vector<size_t> widths = all ? up_to(49) : std::vector<size_t>{1, 2, 3, 4, 5, 6, 7, 8, 9, 13, 17, 25};
    std::vector<size_t> ins = {3, 8}, outs = {5, 17};
    std::vector<Window> windows = {{1, 1, 1, 1, 0}, {3, 3, 1, 1, 1}, {2, 2, 2, 1, 0}};
    if (all) {
      ins = {1, 2, 3, 4, 5, 8, 9, 16, 17, 33};
      outs = {1, 2, 4, 5, 8, 9, 15, 16, 17, 32, 33, 65};
      windows.insert(windows.end(), {{3, 3, 2, 1, 1}, {3, 3, 1, 2, 1}, {1, 5, 1, 1, 2}});
    }
    for (const Window& window : windows) {
      for (const size_t in : ins) {
        for (const size_t out : outs) {
          sweep(types, {Kind::kUsual, window, 1, in, out}, {1}, widths);
        }
      }
      sweep(types, {Kind::kUsual, window, 2, 5, 19}, {1, 3}, widths);
      for (const size_t threads : {2, 3, 8}) {
        sweep(types, {Kind::kUsual, window, 1, 7, 33}, {2, 6}, {1, 5, 12}, threads);
      }
    }
  });
}

class XnnpackTransposedSweep : public ::testing::TestWithParam<LayerTypes> {};

TEST_P(XnnpackTransposedSweep, EachNumberOfPixels) {
  expect_on_each_processor([types = GetParam()] {
    const bool all = sweeps_all();
    const std::vector<size_t> widths = all ? up_to(26) : std::vector<size_t>{1, 2, 3, 4, 5, 7, 9, 13, 25};
    const std::vector<size_t> ins = all ? std::vector<size_t>{1, 3, 4, 8, 17} : std::vector<size_t>{3, 8};
    const std::vector<size_t> outs = all ? std::vector<size_t>{1, 4, 5, 16, 17, 33} : std::vector<size_t>{5, 17};
    for (const Window& window : {Window{2, 2, 2, 1, 0}, Window{3, 3, 2, 1, 1}, Window{3, 3, 1, 1, 1}}) {
      for (const size_t in : ins) {
        for (const size_t out : outs) {
          sweep(types, {Kind::kTransposed, window, 1, in, out}, {2}, widths);
        }
      }
      sweep(types, {Kind::kTransposed, window, 2, 5, 19}, {2}, widths, 2);
    }
  });
}

class XnnpackDepthwiseSweep : public ::testing::TestWithParam<LayerTypes> {};

TEST_P(XnnpackDepthwiseSweep, EachNumberOfChannels) {
  expect_on_each_processor([types = GetParam()] {
    const bool all = sweeps_all();
    const std::vector<size_t> counts = all ? up_to(67) : std::vector<size_t>{1, 7, 8, 9, 16, 17, 35};
    const std::vector<size_t> widths = all ? up_to(8) : std::vector<size_t>{1, 2, 5};
    // XNNPACK has unipass kernels for windows of up to 3, 4, 9 and 25 elements, and multipass kernels for larger ones.
    for (const auto& [height, width] : {std::pair<uint32_t, uint32_t>{1, 3}, {2, 2}, {3, 3}, {5, 5}, {7, 7}}) {
      for (const uint32_t stride : {1, 2}) {
        for (const uint32_t dilation : {1, 2}) {
          for (const size_t count : counts) {
            const Window window = {height, width, stride, dilation, height == 2 ? 0 : height / 2};
            sweep(types, {Kind::kDepthwise, window, count, 1, 1}, {5}, widths, dilation == 2 ? 2 : 1);
          }
        }
      }
    }
  });
}

/// NaN and infinity in each channel of a pixel, with filters that contain zeros. The numbers of channels are those
/// around which XNNPACK changes the kernel (XNN-14).
TEST(XnnpackWindowSpecialNumbers, InEachChannel) {
  expect_on_each_processor([] {
    const bool all = sweeps_all();
    const Window one = {1, 1, 1, 1, 0}, three = {3, 3, 1, 1, 1}, two = {2, 2, 2, 1, 0};
    for (const LayerTypes& types : {kFloat32, kFloat16}) {
      for (const size_t in : all ? up_to(9) : std::vector<size_t>{1, 3, 4, 6}) {
        for (const size_t out : all ? up_to(33) : std::vector<size_t>{3, 33}) {
          for (const Window& window : {one, three}) {
            sweep(types, {Kind::kUsual, window, 1, in, out}, {1}, {3}, 1, true);
            sweep(types, {Kind::kTransposed, window, 1, in, out}, {1}, {3}, 1, true);
          }
        }
      }
      for (const size_t count : all ? up_to(33) : std::vector<size_t>{1, 3, 4, 6, 9, 17}) {
        for (const Window& window :
             {one, Window{1, 3, 1, 1, 1}, two, three, Window{5, 5, 1, 1, 2}, Window{7, 7, 1, 1, 3}}) {
          sweep(types, {Kind::kDepthwise, window, count, 1, 1}, {2}, {2}, 1, true);
        }
      }
    }
  });
}

std::string name_of(const ::testing::TestParamInfo<LayerTypes>& info) {
  return info.param.name;
}

INSTANTIATE_TEST_SUITE_P(Types, XnnpackConvolutionSweep,
                         ::testing::Values(kFloat32, kFloat16, kQs8, kQs8Qc8, kQu8, kQd8Float32, kQd8Float16), name_of);
INSTANTIATE_TEST_SUITE_P(Types, XnnpackTransposedSweep,
                         ::testing::Values(kFloat32, kFloat16, kQs8, kQs8Qc8, kQu8, kQd8Float32), name_of);
INSTANTIATE_TEST_SUITE_P(Types, XnnpackDepthwiseSweep, ::testing::Values(kFloat32, kFloat16, kQs8, kQs8Qc8, kQu8),
                         name_of);

}  // namespace
}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch
