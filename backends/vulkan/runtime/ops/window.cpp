// SPDX-License-Identifier: BSD-3-Clause
// Pools, and operators that resize images.
#include "ops/window.h"

#include <algorithm>
#include <cinttypes>

#include "ops/tables.h"
#include "ops/views.h"

namespace executorch {
namespace backends {
namespace vulkan {

namespace {

/// Larger numbers could overflow the kernels' 32 bits.
constexpr int64_t kMostSteps = 1 << 14;

}  // namespace

void Window::read(OpContext& c, int dims, std::vector<int64_t> stride, std::vector<int64_t> padding,
                  std::vector<int64_t> dilation) {
  if (stride.empty()) {
    stride = {kernel_h, kernel_w};
    stride.erase(stride.begin(), stride.begin() + (2 - dims));
  }
  const auto spread = [&](std::vector<int64_t> values, int64_t missing, int64_t least, int64_t* h, int64_t* w) {
    c.check(values.size() <= 2, "%zu numbers for %d dimensions", values.size(), dims);
    *w = values.empty() ? missing : values.back();
    *h = dims == 1 ? missing : values.empty() ? missing : values.front();
    c.check(*h >= least && *w >= least && *h <= kMostSteps && *w <= kMostSteps,
            "a stride, padding or dilation of %" PRId64 " and %" PRId64, *h, *w);
  };
  spread(std::move(stride), 1, 1, &stride_h, &stride_w);
  spread(std::move(padding), 0, 0, &pad_h, &pad_w);
  spread(std::move(dilation), 1, 1, &dilation_h, &dilation_w);
  c.check(kernel_h > 0 && kernel_w > 0 && kernel_h <= kMostSteps && kernel_w <= kMostSteps,
          "a window of %" PRId64 " x %" PRId64, kernel_h, kernel_w);
}

void Window::size_results(OpContext& c, bool is_ceil) {
  if (c.failed()) {
    return;
  }
  const auto size = [&](int64_t in, int64_t kernel, int64_t stride, int64_t pad, int64_t dilation) {
    const int64_t room = in + 2 * pad - dilation * (kernel - 1) - 1;
    c.check(room >= 0, "a window of %" PRId64 " does not fit %" PRId64 " elements", kernel, in + 2 * pad);
    int64_t out = (room + (is_ceil ? stride - 1 : 0)) / stride + 1;
    // The last window must begin inside of the image or its left padding.
    out -= is_ceil && (out - 1) * stride >= in + pad ? 1 : 0;
    return out;
  };
  out_h = size(in_h, kernel_h, stride_h, pad_h, dilation_h);
  out_w = size(in_w, kernel_w, stride_w, pad_w, dilation_w);
}

void Window::size_transposed(OpContext& c, int64_t extra_h, int64_t extra_w) {
  if (c.failed()) {
    return;
  }
  out_h = (in_h - 1) * stride_h - 2 * pad_h + dilation_h * (kernel_h - 1) + extra_h + 1;
  out_w = (in_w - 1) * stride_w - 2 * pad_w + dilation_w * (kernel_w - 1) + extra_w + 1;
  c.check(extra_h >= 0 && extra_w >= 0 && extra_h < kMostSteps && extra_w < kMostSteps && out_h > 0 && out_w > 0,
          "a result of %" PRId64 " x %" PRId64, out_h, out_w);
}

namespace {

enum : int32_t { kAverage, kLargest, kLargestWithIndex };

template <int32_t kMode>
void pool(OpContext& c) {
  Tensor& x = c.tensor(0);
  const int last = c.num_args() - 1;
  Tensor* index = nullptr;
  Tensor* out = nullptr;
  if (kMode == kLargestWithIndex) {
    const std::vector<Tensor*> outs = c.tensors(last);
    c.check(outs.size() == 2 && outs[0] != nullptr, "it has %zu results, expected 2", outs.size());
    out = c.failed() ? nullptr : outs[0];
    index = c.failed() ? nullptr : outs[1];
  } else {
    out = &c.tensor(last);
  }
  if (!c.check(out != nullptr && (x.rank() == 3 || x.rank() == 4) && x.kind != Kind::Int && out->kind == x.kind,
               "an argument of %d dimensions and dtype %s", x.rank(), name_of(x.dtype))) {
    return;
  }
  const std::vector<int64_t> kernel = c.integers(1);
  Window w;
  if (!c.check(!kernel.empty(), "it has no window")) {
    return;
  }
  w.kernel_h = kernel.front();
  w.kernel_w = kernel.back();
  w.in_h = x.size(-2);
  w.in_w = x.size(-1);
  const auto list = [&](int arg) { return arg < last ? c.integers(arg) : std::vector<int64_t>(); };
  w.read(c, 2, list(2), list(3), kMode == kAverage ? std::vector<int64_t>() : list(4));
  const int ceil_at = kMode == kAverage ? 4 : 5;
  w.size_results(c, ceil_at < last && c.boolean(ceil_at));
  const bool counts = kMode != kAverage || last <= 5 || c.boolean(5);
  const int64_t divisor = kMode == kAverage && last > 6 ? c.integer(6, 0) : 0;
  Sizes sizes = x.sizes;
  sizes[sizes.size() - 2] = w.out_h;
  sizes[sizes.size() - 1] = w.out_w;
  c.resize(*out, sizes);
  if (index != nullptr) {
    c.resize(*index, sizes);
    c.check(index->kind == Kind::Int, "indices of %s", name_of(index->dtype));
  }
  const bool with_index = index != nullptr;
  c.check_iterations(w.kernel_h * (w.kernel_w + 1));
  c.run("pool2d" + kinds({x.kind}), {c.memory(*out), with_index ? c.memory(*index) : nullptr, c.memory(x)},
        Parameters()
            .i(out->count())
            .i(w.in_h)
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
            .i(counts ? 1 : 0)
            .i(divisor),
        out->count(),
        {kMode == kAverage ? kAverage
         : with_index      ? kLargestWithIndex
                           : kLargest});
}

/// Adaptive average pools whose windows are equal.
void adaptive_pool(OpContext& c) {
  Tensor& x = c.tensor(0);
  Tensor& out = c.result();
  const std::vector<int64_t> sizes = c.integers(1);
  if (!c.check(x.rank() >= 3 && !sizes.empty() && sizes.front() > 0 && sizes.back() > 0 &&
                   x.size(-2) % sizes.front() == 0 && x.size(-1) % sizes.back() == 0 && x.kind != Kind::Int &&
                   out.kind == x.kind,
               "windows of different sizes")) {
    return;
  }
  Sizes result = x.sizes;
  result[result.size() - 2] = sizes.front();
  result[result.size() - 1] = sizes.back();
  c.resize(out, result);
  const int64_t h = x.size(-2) / sizes.front();
  const int64_t w = x.size(-1) / sizes.back();
  c.check_iterations(h * (w + 1));
  c.run("pool2d" + kinds({x.kind}), {c.memory(out), nullptr, c.memory(x)},
        Parameters()
            .i(out.count())
            .i(x.size(-2))
            .i(x.size(-1))
            .i(sizes.front())
            .i(sizes.back())
            .i(h)
            .i(w)
            .i(h)
            .i(w)
            .i(0)
            .i(0)
            .i(1)
            .i(1)
            .i(1)
            .i(0),
        out.count(), {kAverage});
}

/// upsample_*.vec: (x, output_size, [align_corners,] scale_factors).
template <int32_t kMode>
void resize(OpContext& c) {
  Tensor& x = c.tensor(0);
  const int last = c.num_args() - 1;
  Tensor& out = c.tensor(last);
  if (!c.check(x.rank() == 4 && x.kind != Kind::Int && out.kind == x.kind, "an argument of %d dimensions", x.rank())) {
    return;
  }
  const bool aligns = kMode == 1 && c.boolean(2);
  const int factors_at = kMode == 1 ? 3 : 2;
  std::vector<int64_t> size = c.integers(1);
  const std::vector<double> factors =
      factors_at < last && !c.is_null(factors_at) ? c.reals(factors_at) : std::vector<double>();
  const int64_t in[] = {x.size(2), x.size(3)};
  double scale[2];
  if (!c.check(size.size() == 2 || factors.size() == 2, "it has neither a size nor factors")) {
    return;
  }
  for (size_t d = 0; d < 2; ++d) {
    const bool has_factor = factors.size() == 2;
    if (has_factor) {
      if (!c.check(factors[d] > 1.0 / 65536 && factors[d] < 65536, "the factor %g", factors[d])) {
        return;
      }
    }
    const int64_t out_size = size.size() == 2 ? size[d] : static_cast<int64_t>(static_cast<double>(in[d]) * factors[d]);
    c.check(out_size > 0 && in[d] > 0, "a size of %" PRId64, out_size);
    if (c.failed()) {
      return;
    }
    scale[d] = aligns       ? (out_size > 1 ? static_cast<double>(in[d] - 1) / static_cast<double>(out_size - 1) : 0)
               : has_factor ? 1 / factors[d]
                            : static_cast<double>(in[d]) / static_cast<double>(out_size);
    if (size.size() != 2) {
      size.push_back(0);
    }
  }
  const int64_t h =
      c.integers(1).size() == 2 ? c.integers(1)[0] : static_cast<int64_t>(static_cast<double>(in[0]) * factors[0]);
  const int64_t w =
      c.integers(1).size() == 2 ? c.integers(1)[1] : static_cast<int64_t>(static_cast<double>(in[1]) * factors[1]);
  c.resize(out, {x.size(0), x.size(1), h, w});
  c.run("resize2d" + kinds({x.kind}), {c.memory(out), c.memory(x)},
        Parameters().i(out.count()).i(in[0]).i(in[1]).i(h).i(w).f(scale[0]).f(scale[1]).i(aligns ? 1 : 0), out.count(),
        {kMode});
}

void grid_sample(OpContext& c) {
  Tensor& x = c.tensor(0);
  Tensor& grid = c.tensor(1);
  Tensor& out = c.result();
  const int64_t mode = c.integer(2);
  const int64_t padding = c.integer(3);
  if (!c.check(x.rank() == 4 && grid.rank() == 4 && grid.size(3) == 2 && grid.size(0) == x.size(0) &&
                   x.kind != Kind::Int && x.kind == grid.kind && out.kind == x.kind && mode >= 0 && mode <= 1 &&
                   padding >= 0 && padding <= 2,
               "mode %" PRId64 " with padding %" PRId64, mode, padding)) {
    return;
  }
  c.resize(out, {x.size(0), x.size(1), grid.size(1), grid.size(2)});
  c.run("grid_sample" + kinds({x.kind}), {c.memory(out), c.memory(x), c.memory(grid)},
        Parameters()
            .i(out.count())
            .i(x.size(1))
            .i(x.size(2))
            .i(x.size(3))
            .i(grid.size(1))
            .i(grid.size(2))
            .i(padding)
            .i(c.boolean(4) ? 1 : 0),
        out.count(), {static_cast<int32_t>(mode)});
}

void grid_priors(OpContext& c) {
  const Tensor& x = c.tensor(0);
  Tensor& out = c.tensor(3);
  c.resize(out, {x.size(-1) * x.size(-2), 2});
  c.check(out.kind != Kind::Int, "a result of %s", name_of(out.dtype));
  c.run("grid_priors" + kinds({out.kind}), {c.memory(out)},
        Parameters().i(out.count()).i(x.size(-1)).f(c.real(2)).f(c.real(1)), out.count());
}

constexpr Operator kOperators[] = {
    {"aten.avg_pool2d.default", pool<kAverage>},
    {"aten.max_pool2d.default", pool<kLargest>},
    {"aten.max_pool2d_with_indices.default", pool<kLargestWithIndex>},
    {"aten._adaptive_avg_pool2d.default", adaptive_pool},
    {"aten.adaptive_avg_pool2d.default", adaptive_pool},
    {"aten.upsample_nearest2d.vec", resize<0>},
    {"aten.upsample_bilinear2d.vec", resize<1>},
    {"aten.grid_sampler_2d.default", grid_sample},
    {"et_vk.grid_priors.default", grid_priors},
};

}  // namespace

Operators window_operators() {
  return {kOperators, sizeof(kOperators) / sizeof(kOperators[0])};
}

}  // namespace vulkan
}  // namespace backends
}  // namespace executorch
