// SPDX-License-Identifier: BSD-3-Clause
#include "ops/quantize.h"

#include <algorithm>
#include <cinttypes>
#include <limits>

#include "ops/tables.h"
#include "ops/views.h"

namespace executorch {
namespace backends {
namespace vulkan {

namespace {

/// The modes of shaders/quantize.glsl and choose_qparams.glsl.
enum : int32_t { kQuantize, kDequantize };
enum : int32_t { kLeast, kBalanced, kSymmetric };

/// The distances between the scales of an element's blocks.
struct Blocks {
  std::vector<int64_t> blocks, strides;
};

Blocks per_channel(const Tensor& x, int axis) {
  Blocks b{std::vector<int64_t>(x.sizes.size(), 1), std::vector<int64_t>(x.sizes.size(), 0)};
  if (static_cast<size_t>(axis) < b.strides.size()) {
    b.strides[static_cast<size_t>(axis)] = 1;
  }
  return b;
}

Blocks per_token(const Tensor& x) {
  Blocks b{std::vector<int64_t>(x.sizes.size(), 1), strides_of(x.sizes)};
  const int64_t last = std::max<int64_t>(x.size(-1), 1);
  for (size_t d = 0; d < b.strides.size(); ++d) {
    b.strides[d] = d + 1 == b.strides.size() ? 0 : b.strides[d] / last;
  }
  return b;
}

Blocks per_block(OpContext& c, const Tensor& x, const std::vector<int64_t>& sizes) {
  Blocks b{sizes, {}};
  if (!c.check(sizes.size() == x.sizes.size(), "blocks of %zu dimensions for %d", sizes.size(), x.rank())) {
    return per_channel(x, x.rank());
  }
  Sizes counts;
  for (size_t d = 0; d < sizes.size(); ++d) {
    // In a dynamic dimension, a block may have the largest size of the dimension, and so be larger than it is now.
    b.blocks[d] =
        std::min(std::max<int64_t>(sizes[d] <= 0 ? x.sizes[d] : sizes[d], 1), std::max<int64_t>(x.sizes[d], 1));
    counts.push_back((x.sizes[d] + b.blocks[d] - 1) / b.blocks[d]);
  }
  b.strides = strides_of(counts);
  return b;
}

void convert(OpContext& c, int32_t mode, Tensor& out, Tensor& x, const Blocks& blocks, Tensor* scale, Tensor* zero,
             double number, int64_t zero_number, double low, double high) {
  c.resize(out, x.sizes);
  if (c.failed() || x.count() == 0) {
    return;
  }
  int64_t scales = 1;
  for (size_t d = 0; d < x.sizes.size(); ++d) {
    scales += (x.sizes[d] - 1) / blocks.blocks[d] * blocks.strides[d];
  }
  c.check(scale == nullptr || (scale->kind == Kind::Float && scale->count() >= scales),
          "%" PRId64 " scales, expected %" PRId64, scale == nullptr ? 0 : scale->count(), scales);
  c.check(zero == nullptr || (zero->kind == Kind::Int && zero->count() >= scales),
          "zero points of another number or dtype");
  c.check((mode == kQuantize ? out.kind : x.kind) == Kind::Int, "quantised values of %s",
          name_of(mode == kQuantize ? out.dtype : x.dtype));
  gpu::Buffer* any = c.memory(x);
  c.run("quantize" + kinds({out.kind, x.kind}),
        {c.memory(out), any, scale == nullptr ? any : c.memory(*scale), zero == nullptr ? any : c.memory(*zero)},
        Parameters()
            .i(x.count())
            .i(x.rank())
            .f(number)
            .i(zero_number)
            .f(low)
            .f(high)
            .array(x.sizes, 8, 1)
            .array(blocks.blocks, 8, 1)
            .array(blocks.strides, 8),
        x.count(),
        {mode, scale == nullptr  ? 0
               : zero == nullptr ? 2
                                 : 1});
}

/// (x, scale, zero, low, high, dtype); the scale and zero point are numbers or tensors.
template <int32_t kMode>
void per_tensor(OpContext& c) {
  Tensor& x = c.tensor(0);
  const bool is_tensor = c.is_tensor(1);
  convert(c, kMode, c.result(), x, per_channel(x, x.rank()), is_tensor ? &c.tensor(1) : nullptr,
          is_tensor ? &c.tensor(2) : nullptr, is_tensor ? 1 : c.real(1), is_tensor ? 0 : c.integer(2), c.real(3),
          c.real(4));
}

/// (x, scales, zeros, axis, low, high, dtype).
template <int32_t kMode>
void channelwise(OpContext& c) {
  Tensor& x = c.tensor(0);
  convert(c, kMode, c.result(), x, per_channel(x, c.dim(3, x.rank())), &c.tensor(1), c.optional_tensor(2), 1, 0,
          c.real(4), c.real(5));
}

/// (x, scales, zeros, low, high, dtype).
template <int32_t kMode>
void tokenwise(OpContext& c) {
  Tensor& x = c.tensor(0);
  convert(c, kMode, c.result(), x, per_token(x), &c.tensor(1), &c.tensor(2), 1, 0, c.real(3), c.real(4));
}

/// (x, block_size, scale, zero, dtype, low, high, ...).
template <int32_t kMode>
void affine(OpContext& c) {
  Tensor& x = c.tensor(0);
  const int limits = 5;
  convert(c, kMode, c.result(), x, per_block(c, x, c.integers(1)), &c.tensor(2), c.optional_tensor(3), 1, 0,
          c.real(limits, -128), c.real(limits + 1, 127));
}

void choose(OpContext& c, Tensor& x, const Sizes& sizes, int64_t rows, int32_t mode, double low, double high,
            double eps) {
  const std::vector<Tensor*> outs = c.tensors(c.num_args() - 1);
  if (!c.check(outs.size() == 2 && outs[0] != nullptr && outs[1] != nullptr && outs[0]->kind == Kind::Float &&
                   outs[1]->kind == Kind::Int && x.kind != Kind::Int && rows > 0 && high > low,
               "results of other dtypes")) {
    return;
  }
  c.resize(*outs[0], sizes);
  c.resize(*outs[1], sizes);
  c.check(outs[0]->count() == rows, "%" PRId64 " scales for %" PRId64 " rows", outs[0]->count(), rows);
  c.check_iterations(x.count() / rows);
  c.run("choose_qparams" + kinds({x.kind}), {c.memory(*outs[0]), c.memory(*outs[1]), c.memory(x)},
        Parameters().i(rows).i(x.count() / rows).f(low).f(high).f(eps), rows, {mode});
}

/// (x, low, high, eps, dtype).
void choose_per_tensor(OpContext& c) {
  choose(c, c.tensor(0), {1}, 1, kLeast, c.real(1), c.real(2), c.real(3));
}

/// (x, dtype).
void choose_per_token(OpContext& c) {
  Tensor& x = c.tensor(0);
  Sizes sizes = x.sizes;
  if (c.check(!sizes.empty(), "a tensor without dimensions")) {
    sizes.back() = 1;
    choose(c, x, sizes, count_of(sizes), kBalanced, -128, 127, std::numeric_limits<float>::epsilon());
  }
}

/// (x, mapping, block_size, dtype, low, high, eps, ...): blocks of whole rows.
void choose_affine(OpContext& c) {
  Tensor& x = c.tensor(0);
  const std::string_view mapping = c.text(1);
  const std::vector<int64_t> block = c.integers(2);
  Sizes sizes;
  int64_t rows = 1;
  bool inside = false;
  for (size_t d = 0; d < x.sizes.size() && block.size() == x.sizes.size(); ++d) {
    // A block is a row: one element in the first dimensions, and all elements in the last ones.
    const bool whole = block[d] != 1 || x.sizes[d] == 1;
    c.check(!whole || block[d] >= x.sizes[d] || x.sizes[d] == 1, "blocks that divide a dimension");
    c.check(!inside || whole, "blocks that are not rows");
    inside = inside || (whole && x.sizes[d] != 1);
    rows *= whole ? 1 : x.sizes[d];
    sizes.push_back(whole ? 1 : x.sizes[d]);
  }
  c.check(block.size() == x.sizes.size() && (mapping == "ASYMMETRIC" || mapping == "SYMMETRIC"), "the mapping %.*s",
          static_cast<int>(mapping.size()), mapping.data());
  const std::vector<Tensor*> outs = c.tensors(c.num_args() - 1);
  const bool keeps = !outs.empty() && outs[0] != nullptr && outs[0]->max_sizes.size() == sizes.size();
  if (!keeps) {
    sizes.erase(std::remove(sizes.begin(), sizes.end(), 1), sizes.end());
    sizes = count_of(sizes) == rows && !outs.empty() && outs[0] != nullptr && sizes.size() == outs[0]->max_sizes.size()
                ? sizes
                : Sizes{rows};
  }
  choose(c, x, sizes, rows, mapping == "SYMMETRIC" ? kSymmetric : kLeast, c.real(4, -128), c.real(5, 127),
         c.real(6, std::numeric_limits<float>::epsilon()));
}

constexpr Operator kOperators[] = {
    {"quantized_decomposed.quantize_per_tensor.default", per_tensor<kQuantize>},
    {"quantized_decomposed.quantize_per_tensor.tensor", per_tensor<kQuantize>},
    {"quantized_decomposed.dequantize_per_tensor.default", per_tensor<kDequantize>},
    {"quantized_decomposed.dequantize_per_tensor.tensor", per_tensor<kDequantize>},
    {"quantized_decomposed.quantize_per_channel.default", channelwise<kQuantize>},
    {"quantized_decomposed.dequantize_per_channel.default", channelwise<kDequantize>},
    {"quantized_decomposed.quantize_per_token.default", tokenwise<kQuantize>},
    {"quantized_decomposed.dequantize_per_token.default", tokenwise<kDequantize>},
    {"torchao.quantize_affine.default", affine<kQuantize>},
    {"torchao.dequantize_affine.default", affine<kDequantize>},
    {"quantized_decomposed.choose_qparams.tensor", choose_per_tensor},
    {"quantized_decomposed.choose_qparams_per_token_asymmetric.default", choose_per_token},
    {"torchao.choose_qparams_affine.default", choose_affine},
};

}  // namespace

gpu::Buffer* quantized_and_back(OpContext& c, Tensor& x, double scale, int64_t zero, Tensor* scales, Tensor* zeros,
                                int number) {
  Tensor& out = c.scratch(number, x.kind, x.sizes, x.capacity);
  if (c.failed()) {
    return nullptr;
  }
  const Blocks blocks = scales == nullptr || scales->count() == 1 ? per_channel(x, x.rank()) : per_token(x);
  c.check(scales == nullptr || (scales->kind == Kind::Float && zeros != nullptr && zeros->kind == Kind::Int &&
                                zeros->count() == scales->count() &&
                                (scales->count() == 1 || scales->count() * x.size(-1) >= x.count())),
          "scales that do not fit the activations");
  gpu::Buffer* any = c.memory(x);
  c.run("quantize" + kinds({x.kind}),
        {c.memory(out), any, scales == nullptr ? any : c.memory(*scales), scales == nullptr ? any : c.memory(*zeros)},
        Parameters()
            .i(x.count())
            .i(x.rank())
            .f(scale)
            .i(zero)
            .f(-128)
            .f(127)
            .array(x.sizes, 8, 1)
            .array(blocks.blocks, 8, 1)
            .array(blocks.strides, 8),
        x.count(), {2, scales == nullptr ? 0 : 1});
  return c.memory(out);
}

Tensor& dequantized(OpContext& c, Tensor& x, double scale, int64_t zero, int number) {
  Tensor& out = c.scratch(number, Kind::Float, x.sizes, x.capacity);
  convert(c, kDequantize, out, x, per_channel(x, x.rank()), nullptr, nullptr, scale, zero, -128, 127);
  return out;
}

void requantize(OpContext& c, Tensor& out, Tensor& x, const Requantization& r) {
  c.resize(out, x.sizes);
  c.check(out.kind == Kind::Int && r.out_scale > 0, "an output scale of %g", r.out_scale);
  if (c.failed() || x.count() == 0) {
    return;
  }
  gpu::Buffer* any = c.memory(x);
  c.run("requantize", {c.memory(out), any, r.scales == nullptr ? any : r.scales, r.bias == nullptr ? any : r.bias},
        Parameters().i(x.count()).i(r.inner).i(r.channels).i(r.out_zero).f(r.scale).f(1 / r.out_scale), x.count(),
        {r.scales != nullptr ? 1 : 0, r.bias != nullptr ? 1 : 0, r.relu ? 1 : 0});
}

Operators quantize_operators() {
  return {kOperators, sizeof(kOperators) / sizeof(kOperators[0])};
}

}  // namespace vulkan
}  // namespace backends
}  // namespace executorch
