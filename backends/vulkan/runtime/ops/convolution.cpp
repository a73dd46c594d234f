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

gpu::Buffer* pack_weights(OpContext& c, Tensor& weight, const Convolution& s, Kind kind) {
  const int64_t area = s.window.kernel_h * s.window.kernel_w;
  const VkDataType dtype = weight.dtype;
  const std::string tag = "conv2d/" + std::to_string(s.groups) + "x" + std::to_string(s.out_channels) + "x" +
                          std::to_string(s.in_channels) + "x" + std::to_string(area) + (s.is_transposed ? "t" : "") +
                          name_of(kind);
  return c.packed(weight, tag, [=](const uint8_t* data) {
    std::vector<float> numbers(static_cast<size_t>(s.groups * s.out_channels * s.in_channels * area));
    copy_to_kind(data, dtype, numbers.size(), Kind::Float, numbers.data());
    std::vector<uint8_t> image(s.packed_weights() * bytes_of(kind));
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
            put(image, kind, s.packed_index(g, out, in, w), numbers[from++]);
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

/// The part of a result that a thread computes, and the workgroup in x.
struct Tile {
  int64_t size = 1;
  int64_t threads = 1;
  uint32_t local = 64;
};

/**
 * The tile with which all threads together read least, including threads outside of the image. A larger tile reads less
 * for each result; a smaller one makes enough threads for a GPU and fills its workgroups.
 *
 * @param planes The threads in y and z.
 * @param threads_in_x The threads in x, given the results of a tile.
 * @param reads The reads of a thread, given the results of a tile.
 * @param largest The most results of a tile on a device that is a CPU.
 */
template <typename ThreadsInX, typename Reads>
Tile tile_of(const OpContext& c, int64_t planes, const ThreadsInX& threads_in_x, const Reads& reads, int64_t largest) {
  const int64_t least = c.features().least_threads;
  // A CPU, where spilled registers cost little, needs only one thread.
  const bool is_processor = least <= 1;
  largest = is_processor ? largest : 4;
  Tile best;
  int64_t fewest = std::numeric_limits<int64_t>::max();
  for (int64_t size = 1; size <= largest; ++size) {
    const int64_t threads = threads_in_x(size);
    if (size > 1 && threads * planes < least) {
      break;
    }
    const uint32_t local = is_processor ? 8 : threads >= 64 ? 64 : threads >= 32 ? 32 : 16;
    const int64_t all = (threads + local - 1) / local * local * reads(size);
    if (all <= fewest) {
      fewest = all;
      best = {size, threads, local};
    }
  }
  return best;
}

void run_depthwise(OpContext& c, const Convolution& s, Kind kind, gpu::Buffer* out, gpu::Buffer* in,
                   gpu::Buffer* weights, gpu::Buffer* bias) {
  const Window& w = s.window;
  // Rows that a thread's results share are read once.
  const bool shares = w.kernel_h <= 7 && w.stride_h <= 2 && w.dilation_h == 1;
  const Tile tile = tile_of(
      c, s.groups * s.out_channels * s.batch, [&](int64_t rows) { return (w.out_h + rows - 1) / rows * w.out_w; },
      [&](int64_t rows) { return w.kernel_h + (shares ? (rows - 1) * w.stride_h + w.kernel_h : rows * w.kernel_h); },
      8);
  c.check_iterations(w.kernel_w * (shares ? 1 : w.kernel_h + 1));
  Parameters p;
  p.i(s.groups * s.out_channels).i(s.groups);
  c.run("conv2d_depthwise" + kinds({kind}), {out, in, weights, bias == nullptr ? in : bias}, geometry(p, s),
        Threads{tile.threads, s.groups * s.out_channels, s.batch},
        {bias != nullptr ? 1 : 0, static_cast<int32_t>(tile.size), shares ? static_cast<int32_t>(w.kernel_h) : 0,
         shares ? static_cast<int32_t>(w.stride_h) : 0},
        {tile.local, 1, 1});
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
  // On a CPU, vectors in memory gain nothing, and larger tiles gain much.
  if (is_pointwise && c.features().least_threads > 1) {
    // For images of every size, because weights cannot be packed again when the size changes.
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
  if (is_depthwise) {
    return run_depthwise(c, s, kind, c.memory(out), in,
                         operand(c, &weight, kind, channels * w.kernel_h * w.kernel_w, 0), biases);
  }
  run_general_convolution(c, s, kind, c.memory(out), in, pack_weights(c, weight, s, kind), biases);
}

}  // namespace

int64_t Convolution::products() const {
  return batch * groups * out_channels * window.out_h * window.out_w * in_channels * window.kernel_h * window.kernel_w;
}

size_t Convolution::packed_weights() const {
  return static_cast<size_t>(groups * ((out_channels + 3) / 4) * in_channels * window.kernel_h * window.kernel_w * 4);
}

size_t Convolution::packed_index(int64_t group, int64_t out, int64_t in, int64_t position) const {
  constexpr int64_t kSlice = 4;
  const int64_t blocks = (out_channels + 3) / 4;
  const int64_t block = out / 4;
  const int64_t slice = block / kSlice * kSlice;
  const int64_t row = position * in_channels + in;
  const int64_t rows = in_channels * window.kernel_h * window.kernel_w;
  return static_cast<size_t>(
      ((group * blocks + slice) * rows + row * std::min(kSlice, blocks - slice) + block - slice) * 4 + out % 4);
}

void run_general_convolution(OpContext& c, const Convolution& s, Kind kind, gpu::Buffer* out, gpu::Buffer* in,
                             gpu::Buffer* weights, gpu::Buffer* bias) {
  const int64_t pixels = s.window.out_h * s.window.out_w;
  const int64_t all = (s.out_channels + 3) / 4;
  const int64_t planes = s.batch * s.groups;
  int32_t blocks = static_cast<int32_t>(std::min<int64_t>(all, 4));
  const auto in_y = [&] { return (all + blocks - 1) / blocks; };
  // Drivers for CPUs take tenths of a second to compile the largest tile, too long for small images.
  const int64_t largest = std::clamp<int64_t>(s.products() >> 17, 1, 8);
  const Tile tile = tile_of(
      c, planes * in_y(), [&](int64_t size) { return (pixels + size - 1) / size; },
      [&](int64_t size) { return size + 4 * blocks; }, largest);
  const Split split = split_of(c, tile.threads * planes * in_y(), s.in_channels + 2, tile.local, 16,
                               s.window.kernel_h * s.window.kernel_w);
  while (blocks > 1 && tile.threads * planes * in_y() * split.parts < c.features().least_threads) {
    blocks /= 2;
  }
  Parameters p;
  p.i(s.groups).i(s.in_channels).i(s.out_channels);
  c.run("conv2d" + kinds({kind}), {out, in, weights, bias == nullptr ? in : bias}, geometry(p, s),
        Threads{tile.threads, in_y(), planes * split.parts},
        {blocks, static_cast<int32_t>(tile.size), bias != nullptr ? 1 : 0, s.is_transposed ? 1 : 0, split.parts,
         split.shared},
        {tile.local, 1, static_cast<uint32_t>(split.parts)});
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
