// SPDX-License-Identifier: BSD-3-Clause
// int8 convolutions with fixed activation scales, and the other operators on int8 tensors. Sums are computed with whole
// numbers.
#include <algorithm>
#include <cinttypes>

#include "ops/convolution.h"
#include "ops/operands.h"
#include "ops/quantize.h"
#include "ops/tables.h"

namespace executorch {
namespace backends {
namespace vulkan {

namespace {

enum class Form { Rows, Depthwise, Transposed };

/// int8 weights as float32 in the layout of the general kernel. Rows are [out, window, in], padded; depthwise ones
/// [window, out].
gpu::Buffer* pack(OpContext& c, Tensor& weight, const Convolution& s, Form form) {
  const int64_t area = s.window.kernel_h * s.window.kernel_w;
  const int64_t row = weight.size(-1);
  const std::string tag = "conv2d_int8/" + std::to_string(static_cast<int>(form)) + "/" + std::to_string(s.groups) +
                          "x" + std::to_string(s.out_channels) + "x" + std::to_string(s.in_channels) + "x" +
                          std::to_string(area) + "x" + std::to_string(row);
  return c.packed(weight, tag, [=](const uint8_t* data) {
    std::vector<uint8_t> image(s.packed_weights() * bytes_of(Kind::Float));
    for (int64_t g = 0; g < s.groups; ++g) {
      for (int64_t o = 0; o < s.out_channels; ++o) {
        for (int64_t i = 0; i < s.in_channels; ++i) {
          for (int64_t w = 0; w < area; ++w) {
            const int64_t out = g * s.out_channels + o;
            const int64_t from = form == Form::Depthwise ? w * row + out : out * row + w * s.in_channels + i;
            put(image, Kind::Float, s.packed_index(g, o, i, w), static_cast<float>(static_cast<int8_t>(data[from])));
          }
        }
      }
    }
    return image;
  });
}

/// (x, scale, zero, weight, sums, scales, out scale, out zero, bias, kernel, stride, padding, [output padding,]
/// dilation, groups, activation).
template <Form kForm>
void convolution(OpContext& c) {
  Tensor& x = c.tensor(0);
  Tensor& weight = c.tensor(3);
  Tensor& scales = c.tensor(5);
  Tensor* bias = c.optional_tensor(8);
  Tensor& out = c.result();
  const std::vector<int64_t> kernel = c.integers(9);
  constexpr int kAt = kForm == Form::Transposed ? 13 : 12;
  const std::string_view activation = c.text(kAt + 2);
  Convolution s;
  s.is_transposed = kForm == Form::Transposed;
  s.groups = c.integer(kAt + 1);
  if (!c.check(x.rank() == 4 && x.kind == Kind::Int && out.kind == Kind::Int && kernel.size() == 2 && s.groups > 0 &&
                   x.size(1) % s.groups == 0 && stored_bytes(weight.dtype) == 1 &&
                   (activation == "none" || activation == "relu"),
               "an argument of %d dimensions and %s", x.rank(), name_of(x.dtype))) {
    return;
  }
  s.window.kernel_h = kernel[0];
  s.window.kernel_w = kernel[1];
  s.window.in_h = x.size(2);
  s.window.in_w = x.size(3);
  s.window.read(c, 2, c.integers(10), c.integers(11), c.integers(kAt));
  if (kForm == Form::Transposed) {
    std::vector<int64_t> extra = c.integers(12);
    extra.resize(2, extra.empty() ? 0 : extra.back());
    s.window.size_transposed(c, extra[0], extra[1]);
  } else {
    s.window.size_results(c, false);
  }
  if (c.failed()) {
    return;
  }
  s.batch = x.size(0);
  s.in_channels = x.size(1) / s.groups;
  const int64_t area = s.window.kernel_h * s.window.kernel_w;
  const int64_t channels = kForm == Form::Depthwise ? x.size(1) : weight.size(0);
  s.out_channels = channels / s.groups;
  c.check(channels % s.groups == 0 && weight.rank() == (kForm == Form::Depthwise ? 3 : 2) &&
              (kForm == Form::Depthwise
                   ? s.groups == x.size(1) && weight.count() == area * weight.size(-1) && weight.size(-1) >= channels
                   : weight.size(1) >= area * s.in_channels),
          "a weight of %" PRId64 " elements for %" PRId64 " channels", weight.count(), channels);
  const Sizes sizes = {s.batch, channels, s.window.out_h, s.window.out_w};
  c.resize(out, sizes);
  // x - zero is a whole number, and so are the sums.
  Tensor& whole = dequantized(c, x, 1, c.integer(2), 0);
  Tensor& sums = c.scratch(1, Kind::Float, sizes, out.capacity);
  gpu::Buffer* weights = pack(c, weight, s, kForm);
  if (c.failed() || out.count() == 0) {
    return;
  }
  run_general_convolution(c, s, Kind::Float, c.memory(sums), c.memory(whole), weights, nullptr);
  Requantization r;
  r.scales = operand(c, &scales, Kind::Float, channels, 2);
  r.bias = operand(c, bias, Kind::Float, channels, 3);
  r.scale = c.real(1);
  r.out_scale = c.real(6);
  r.out_zero = c.integer(7);
  r.inner = s.window.out_h * s.window.out_w;
  r.channels = channels;
  r.relu = activation == "relu";
  requantize(c, out, sums, r);
}

/// (a, b, a scale, a zero, b scale, b zero, out scale, out zero, alpha).
void add(OpContext& c) {
  Tensor& a = c.tensor(0);
  Tensor& b = c.tensor(1);
  c.check(a.sizes == b.sizes && a.kind == Kind::Int && b.kind == Kind::Int, "arguments of other shapes or dtypes");
  Tensor& left = dequantized(c, a, c.real(2), c.integer(3), 0);
  Tensor& right = dequantized(c, b, c.real(4), c.integer(5), 1);
  if (c.failed() || a.count() == 0) {
    return;
  }
  Tensor& sum = c.scratch(2, Kind::Float, a.sizes, a.capacity);
  c.run("binary_float", {c.memory(sum), c.memory(left), c.memory(right)},
        Parameters().i(a.count()).f(c.real(8)).i(1).f(0).i(0).i(0).array({}, 8).array({}, 8).array({}, 8), a.count(),
        {0, 0});
  Requantization r;
  r.out_scale = c.real(6);
  r.out_zero = c.integer(7);
  requantize(c, c.result(), sum, r);
}

/// (x, scale, zero, out scale, out zero).
void relu(OpContext& c) {
  Tensor& x = c.tensor(0);
  c.check(x.kind == Kind::Int, "an argument of %s", name_of(x.dtype));
  Tensor& numbers = dequantized(c, x, c.real(1), c.integer(2), 0);
  Requantization r;
  r.relu = true;
  r.out_scale = c.real(3);
  r.out_zero = c.integer(4);
  requantize(c, c.result(), numbers, r);
}

/// (x, scale, zero, 1 / out scale, out zero, factor).
void pixel_shuffle(OpContext& c) {
  Tensor& x = c.tensor(0);
  Tensor& out = c.result();
  const int64_t r = c.integer(5);
  const double inverse = c.real(3);
  if (!c.check(x.rank() == 4 && x.kind == Kind::Int && r > 0 && r < 65536 && x.size(1) % (r * r) == 0 && inverse > 0,
               "a tensor of %d dimensions and the factor %" PRId64, x.rank(), r)) {
    return;
  }
  Tensor& numbers = dequantized(c, x, c.real(1), c.integer(2), 0);
  const int64_t channels = x.size(1) / (r * r);
  const int64_t h = x.size(2);
  const int64_t w = x.size(3);
  Tensor& shuffled = c.scratch(1, Kind::Float, {x.size(0), channels, h * r, w * r}, x.capacity);
  const Sizes space = {x.size(0) * channels, h, r, w, r};
  copy_view(c, shuffled, {0, strides_of(space)}, numbers, {0, {r * r * h * w, w, r * h * w, 1, h * w}}, space);
  Requantization how;
  how.out_scale = 1 / inverse;
  how.out_zero = c.integer(4);
  requantize(c, out, shuffled, how);
}

constexpr Operator kOperators[] = {
    {"et_vk.q8ta_conv2d.default", convolution<Form::Rows>},
    {"et_vk.q8ta_conv2d_pw.default", convolution<Form::Rows>},
    {"et_vk.q8ta_conv2d_dw.default", convolution<Form::Depthwise>},
    {"et_vk.q8ta_conv2d_transposed.default", convolution<Form::Transposed>},
    {"et_vk.q8ta_add.default", add},
    {"et_vk.q8ta_relu.default", relu},
    {"et_vk.q8ta_pixel_shuffle.default", pixel_shuffle},
};

}  // namespace

Operators quantized_convolution_operators() {
  return {kOperators, sizeof(kOperators) / sizeof(kOperators[0])};
}

}  // namespace vulkan
}  // namespace backends
}  // namespace executorch
