// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cinttypes>
#include <limits>

#include "graph/host_copy.h"
#include "ops/convolution.h"
#include "ops/operands.h"
#include "ops/tables.h"

namespace executorch {
namespace backends {
namespace vulkan {

namespace {

/// [group, block of 4 results, channel, window, result in the block].
gpu::Buffer* pack_weights(OpContext& c, Tensor& weight, const Convolution& s, Kind kind) {
  const int64_t area = s.window.kernel_h * s.window.kernel_w;
  const int64_t blocks = (s.out_channels + 3) / 4;
  const VkDataType dtype = weight.dtype;
  const std::string tag = "conv2d/" + std::to_string(s.groups) + "x" + std::to_string(s.out_channels) + "x" +
                          std::to_string(s.in_channels) + "x" + std::to_string(area) + (s.is_transposed ? "t" : "") +
                          name_of(kind);
  return c.packed(weight, tag, [=](const uint8_t* data) {
    std::vector<float> numbers(static_cast<size_t>(s.groups * s.out_channels * s.in_channels * area));
    copy_to_kind(data, dtype, numbers.size(), Kind::Float, numbers.data());
    std::vector<uint8_t> image(static_cast<size_t>(s.groups * blocks * s.in_channels * area * 4) * bytes_of(kind));
    size_t from = 0;
    // [groups * out, in, window], or [groups * in, out, window] if transposed.
    const int64_t outer = s.is_transposed ? s.in_channels : s.out_channels;
    const int64_t inner = s.is_transposed ? s.out_channels : s.in_channels;
    for (int64_t g = 0; g < s.groups; ++g) {
      for (int64_t a = 0; a < outer; ++a) {
        for (int64_t b = 0; b < inner; ++b) {
          for (int64_t w = 0; w < area; ++w) {
            const int64_t out = s.is_transposed ? b : a;
            const int64_t in = s.is_transposed ? a : b;
            put(image, kind,
                static_cast<size_t>((((g * blocks + out / 4) * s.in_channels + in) * area + w) * 4 + out % 4),
                numbers[from++]);
          }
        }
      }
    }
    return image;
  });
}

Parameters& geometry(Parameters& p, const Convolution& s) {
  const Window& w = s.window;
  return p.i(w.in_h)
      .i(w.in_w)
      .i(w.out_h)
      .i(w.out_w)
      .i(w.kernel_h)
      .i(w.kernel_w)
      .i(w.stride_h)
      .i(w.stride_w)
      .i(w.pad_h)
      .i(w.pad_w)
      .i(w.dilation_h)
      .i(w.dilation_w)
      .f(s.low)
      .f(s.high);
}

void run_convolution(OpContext& c, Tensor& out, Tensor& x, Tensor& weight, Tensor* bias, const Convolution& s) {
  const Kind kind = out.kind;
  const Window& w = s.window;
  const int64_t channels = s.groups * s.out_channels;
  const bool is_depthwise = s.in_channels == 1 && !s.is_transposed && s.groups > 1;
  const bool is_pointwise = w.kernel_h == 1 && w.kernel_w == 1 && w.stride_h == 1 && w.stride_w == 1 && w.pad_h == 0 &&
                            w.pad_w == 0 && s.groups == 1 && !s.is_transposed;
  gpu::Buffer* biases = operand(c, bias, kind, channels, 2);
  if (c.failed() || out.count() == 0) {
    return;
  }
  if (is_pointwise) {
    // For every size of the image, because weights cannot be packed anew when it changes.
    Matmul m;
    m.batch = s.batch;
    m.m = channels;
    m.k = s.in_channels;
    m.n = w.in_h * w.in_w;
    m.bias = bias != nullptr ? 2 : 0;
    m.clamps = true;
    m.low = s.low;
    m.high = s.high;
    m.a_is_shared = true;
    return run_matmul(c, m, kind, c.memory(out), operand(c, &weight, kind, channels * s.in_channels, 0),
                      columns(c, x, kind, s.batch, m.k, m.n, false, 1), biases);
  }
  gpu::Buffer* in = operand(c, &x, kind, 0, 1);
  const int64_t pixels = w.out_h * w.out_w;
  const uint32_t local = pixels >= 64 ? 64 : pixels >= 32 ? 32 : 16;
  Parameters p;
  if (is_depthwise) {
    p.i(channels).i(s.groups);
    return c.run("conv2d_depthwise" + kinds({kind}),
                 {c.memory(out), in, operand(c, &weight, kind, channels * w.kernel_h * w.kernel_w, 0),
                  biases == nullptr ? in : biases},
                 geometry(p, s), Threads{pixels, channels, s.batch}, {bias != nullptr ? 1 : 0}, {local, 1, 1});
  }
  run_general_convolution(c, s, kind, c.memory(out), in, pack_weights(c, weight, s, kind), biases);
}

}  // namespace

void run_general_convolution(OpContext& c, const Convolution& s, Kind kind, gpu::Buffer* out, gpu::Buffer* in,
                             gpu::Buffer* weights, gpu::Buffer* bias) {
  const int64_t pixels = s.window.out_h * s.window.out_w;
  const uint32_t local = pixels >= 64 ? 64 : pixels >= 32 ? 32 : 16;
  const int64_t all = (s.out_channels + 3) / 4;
  int32_t blocks = all >= 4 ? 4 : static_cast<int32_t>(all);
  const int64_t planes = s.batch * s.groups;
  const auto threads = [&] { return pixels * planes * ((all + blocks - 1) / blocks); };
  const Split split = split_of(c, threads(), s.in_channels, local);
  while (blocks > 1 && threads() * split.parts < c.features().least_threads) {
    blocks /= 2;
  }
  Parameters p;
  p.i(s.groups).i(s.in_channels).i(s.out_channels);
  c.run("conv2d" + kinds({kind}), {out, in, weights, bias == nullptr ? in : bias}, geometry(p, s),
        Threads{pixels, (all + blocks - 1) / blocks, planes * split.parts},
        {blocks, bias != nullptr ? 1 : 0, s.is_transposed ? 1 : 0, split.parts, split.shared},
        {local, 1, static_cast<uint32_t>(split.parts)});
}

namespace {

/// (x, weight, bias, stride, padding, dilation, transposed, output_padding, groups[, low, high]) in one or two
/// dimensions.
void convolution(OpContext& c) {
  Tensor& x = c.tensor(0);
  Tensor& weight = c.tensor(1);
  Tensor* bias = c.optional_tensor(2);
  Tensor& out = c.result();
  const int dims = weight.rank() - 2;
  if (!c.check((dims == 1 || dims == 2) && x.rank() == weight.rank() && out.kind != Kind::Int && x.kind != Kind::Int,
               "an argument of %d and a weight of %d dimensions, expected 3 or 4", x.rank(), weight.rank())) {
    return;
  }
  Convolution s;
  s.is_transposed = c.boolean(6);
  s.groups = c.integer(8);
  s.batch = x.size(0);
  s.window.kernel_h = dims == 2 ? weight.size(2) : 1;
  s.window.kernel_w = weight.size(-1);
  s.window.in_h = dims == 2 ? x.size(2) : 1;
  s.window.in_w = x.size(-1);
  s.window.read(c, dims, c.integers(3), c.integers(4), c.integers(5));
  if (!c.check(s.groups > 0 && x.size(1) % s.groups == 0 && weight.size(0) % s.groups == 0 && weight.count() > 0,
               "%" PRId64 " groups of %" PRId64 " channels", s.groups, x.size(1))) {
    return;
  }
  s.in_channels = s.is_transposed ? weight.size(0) / s.groups : weight.size(1);
  s.out_channels = s.is_transposed ? weight.size(1) : weight.size(0) / s.groups;
  c.check(s.in_channels * s.groups == x.size(1), "%" PRId64 " channels for a weight of %" PRId64, x.size(1),
          s.in_channels * s.groups);
  if (s.is_transposed) {
    std::vector<int64_t> extra = c.integers(7);
    extra.resize(static_cast<size_t>(dims), extra.empty() ? 0 : extra.back());
    s.window.size_transposed(c, dims == 2 ? extra[0] : 0, extra.back());
  } else {
    s.window.size_results(c, false);
  }
  const int rest = c.num_args() - 10;
  if (rest >= 2) {
    s.low = c.real(9, s.low);
    s.high = c.real(10, s.high);
  }
  const int64_t channels = s.groups * s.out_channels;
  c.resize(out, dims == 2 ? Sizes{s.batch, channels, s.window.out_h, s.window.out_w}
                          : Sizes{s.batch, channels, s.window.out_w});
  run_convolution(c, out, x, weight, bias, s);
}

constexpr Operator kOperators[] = {
    {"aten.convolution.default", convolution},
    {"et_vk.conv_with_clamp.default", convolution},
};

}  // namespace

Operators convolution_operators() {
  return {kOperators, sizeof(kOperators) / sizeof(kOperators[0])};
}

}  // namespace vulkan
}  // namespace backends
}  // namespace executorch
