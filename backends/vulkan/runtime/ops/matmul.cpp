// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cinttypes>

#include "ops/operands.h"
#include "ops/tables.h"

namespace executorch {
namespace backends {
namespace vulkan {

namespace {

/// The last two dimensions are multiplied, those before them are equal (bmm) or broadcast (matmul).
void matmul(OpContext& c) {
  Tensor& a = c.tensor(0);
  Tensor& b = c.tensor(1);
  Tensor& out = c.result();
  if (!c.check(a.rank() >= 2 && b.rank() >= 2 && out.kind != Kind::Int, "tensors of %d and %d dimensions", a.rank(),
               b.rank())) {
    return;
  }
  const Sizes a_batch(a.sizes.begin(), a.sizes.end() - 2);
  const Sizes b_batch(b.sizes.begin(), b.sizes.end() - 2);
  Sizes sizes = broadcast_sizes(c, a_batch, b_batch);
  Matmul s;
  s.batch = count_of(sizes);
  s.m = a.size(-2);
  s.k = a.size(-1);
  s.n = b.size(-1);
  c.check(b.size(-2) == s.k, "the depths %" PRId64 " and %" PRId64 " differ", s.k, b.size(-2));
  c.check(count_of(a_batch) == s.batch && count_of(b_batch) == s.batch, "batches that are broadcast; export again");
  sizes.insert(sizes.end(), {s.m, s.n});
  c.resize(out, sizes);
  gpu::Buffer* right = columns(c, b, out.kind, s.batch, s.k, s.n, false, 0);
  run_matmul(c, s, out.kind, c.memory(out), operand(c, &a, out.kind, 0, 1), right, nullptr);
}

/// x [..., k] with a weight [n, k] or (not `is_transposed`) [k, n].
void linear_to(OpContext& c, Tensor& out, Tensor& x, Tensor& weight, Tensor* bias, bool is_transposed, double scale,
               double bias_scale) {
  if (!c.check(x.rank() >= 1 && weight.rank() == 2 && out.kind != Kind::Int, "a weight of %d dimensions",
               weight.rank())) {
    return;
  }
  Matmul s;
  s.k = x.size(-1);
  s.n = weight.size(is_transposed ? 0 : 1);
  c.check(weight.size(is_transposed ? 1 : 0) == s.k, "the depths %" PRId64 " and %" PRId64 " differ", s.k,
          weight.size(is_transposed ? 1 : 0));
  s.m = s.k == 0 ? 0 : x.count() / s.k;
  s.scale = scale;
  s.bias_scale = bias_scale;
  Sizes sizes = x.sizes;
  sizes.back() = s.n;
  c.resize(out, sizes);
  Tensor* full = nullptr;
  if (bias != nullptr) {
    // A bias of one row is added by the kernel, another is expanded first.
    s.bias = 1;
    if (bias->count() != s.n) {
      full = &c.scratch(3, bias->kind, out.sizes, out.capacity);
      copy_view(c, *full, {0, strides_of(out.sizes)}, *bias, {0, broadcast_strides(c, bias->sizes, out.sizes)},
                out.sizes);
      s.bias = 0;
    }
  }
  gpu::Buffer* right = columns(c, weight, out.kind, 1, s.k, s.n, is_transposed, 0);
  gpu::Buffer* biases = bias == nullptr || full != nullptr ? nullptr : operand(c, bias, out.kind, s.n, 2);
  run_matmul(c, s, out.kind, c.memory(out), operand(c, &x, out.kind, 0, 1), right, biases);
  if (full != nullptr) {
    c.check(full->kind == out.kind, "a bias of another dtype");
    c.run("binary" + kinds({out.kind}), {c.memory(out), c.memory(out), c.memory(*full)},
          Parameters().i(out.count()).f(bias_scale).i(1).f(0).i(0).i(0).array({}, 8).array({}, 8).array({}, 8),
          out.count(), {0, 0});
  }
}

void linear(OpContext& c) {
  linear_to(c, c.result(), c.tensor(0), c.tensor(1), c.num_args() > 3 ? c.optional_tensor(2) : nullptr, true, 1, 1);
}

/// (bias, a, b, beta, alpha).
void addmm(OpContext& c) {
  const double beta = c.num_args() > 4 ? c.real(3, 1) : 1;
  const double alpha = c.num_args() > 5 ? c.real(4, 1) : 1;
  linear_to(c, c.result(), c.tensor(1), c.tensor(2), &c.tensor(0), false, alpha, beta);
}

/// The gradient of a linear layer's weight: d_out^T x.
void linear_dw(OpContext& c) {
  Tensor& d_out = c.tensor(0);
  Tensor& x = c.tensor(1);
  Tensor& out = c.tensor(2);
  Matmul s;
  s.m = d_out.size(-1);
  s.n = x.size(-1);
  s.k = s.n == 0 ? 0 : x.count() / s.n;
  c.check(d_out.count() == s.k * s.m, "the rows of its arguments differ");
  c.resize(out, {s.m, s.n});
  Tensor& turned = c.scratch(1, out.kind, {s.m, s.k}, d_out.capacity);
  copy_view(c, turned, {0, {s.k, 1}}, d_out, {0, {1, s.m}}, {s.m, s.k});
  gpu::Buffer* right = columns(c, x, out.kind, 1, s.k, s.n, false, 0);
  run_matmul(c, s, out.kind, c.memory(out), c.memory(turned), right, nullptr);
}

constexpr Operator kOperators[] = {
    {"aten.mm.default", matmul},     {"aten.bmm.default", matmul},  {"aten.matmul.default", matmul},
    {"aten.linear.default", linear}, {"aten.addmm.default", addmm}, {"et_vk.linear_dW.default", linear_dw},
};

}  // namespace

Operators matmul_operators() {
  return {kOperators, sizeof(kOperators) / sizeof(kOperators[0])};
}

}  // namespace vulkan
}  // namespace backends
}  // namespace executorch
