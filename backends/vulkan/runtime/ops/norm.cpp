// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cinttypes>

#include "ops/operands.h"
#include "ops/tables.h"

namespace executorch {
namespace backends {
namespace vulkan {

namespace {

struct Rows {
  int64_t rows, length, period, groups;
};

void normalise(OpContext& c, Tensor& out, Tensor& in, Tensor* weight, Tensor* bias, Tensor* mean, Tensor* rstd,
               const Rows& rows, int64_t weights, double eps, bool is_rms) {
  if (c.failed() || in.count() == 0) {
    return;
  }
  c.check(in.kind != Kind::Int && out.kind == in.kind, "an argument of %s, a result of %s", name_of(in.dtype),
          name_of(out.dtype));
  // Statistics that are not results, or have another dtype, are written to temporary memory.
  const auto statistics = [&](Tensor* tensor, int number) -> Tensor& {
    return tensor != nullptr && tensor->kind == in.kind ? *tensor : c.scratch(number, in.kind, {rows.rows}, rows.rows);
  };
  Tensor& means = statistics(mean, 2);
  Tensor& scales = statistics(rstd, 3);
  gpu::Buffer* weight_memory = operand(c, weight, in.kind, weights, 0);
  gpu::Buffer* bias_memory = operand(c, bias, in.kind, weights, 1);
  if (c.failed()) {
    return;
  }
  gpu::Buffer* any = c.memory(in);
  const Split split = split_of(c, rows.rows, rows.length, 1, 64, 3);
  // The threads that share a row are a workgroup.
  const uint32_t local = split.parts == 1 ? 64 : 1;
  c.run("norm" + kinds({in.kind}),
        {c.memory(out), any, weight_memory == nullptr ? any : weight_memory, bias_memory == nullptr ? any : bias_memory,
         c.memory(means), c.memory(scales)},
        Parameters().i(rows.rows).i(rows.length).i(rows.period).i(rows.groups).f(eps), rows.rows,
        {is_rms ? 1 : 0, weight != nullptr ? 1 : 0, bias != nullptr ? 1 : 0, split.parts, split.shared},
        {local, 1, static_cast<uint32_t>(split.parts)});
  for (auto [from, to] : {std::pair<Tensor*, Tensor*>{&means, mean}, {&scales, rstd}}) {
    if (to != nullptr && from != to) {
      copy_all(c, *to, *from);
    }
  }
}

/// (input, normalized_shape, weight, bias, eps) -> (out, mean, rstd), or only out.
void layer_norm(OpContext& c) {
  Tensor& in = c.tensor(0);
  const std::vector<int64_t> shape = c.integers(1);
  const int last = c.num_args() - 1;
  Tensor* out = nullptr;
  Tensor* mean = nullptr;
  Tensor* rstd = nullptr;
  if (c.is_tensor(last)) {
    out = &c.tensor(last);
  } else {
    const std::vector<Tensor*> outs = c.tensors(last);
    if (!c.check(outs.size() == 3 && outs[0] != nullptr, "it has %zu results, expected 3", outs.size())) {
      return;
    }
    out = outs[0];
    mean = outs[1];
    rstd = outs[2];
  }
  if (!c.check(shape.size() <= in.sizes.size(), "it normalises %zu dimensions of %d", shape.size(), in.rank())) {
    return;
  }
  Sizes statistics = in.sizes;
  int64_t length = 1;
  for (size_t i = 0; i < shape.size(); ++i) {
    const size_t d = in.sizes.size() - shape.size() + i;
    c.check(shape[i] == in.sizes[d], "normalized_shape has %" PRId64 ", the argument %" PRId64, shape[i], in.sizes[d]);
    length *= in.sizes[d];
    statistics[d] = 1;
  }
  c.resize(*out, in.sizes);
  for (Tensor* tensor : {mean, rstd}) {
    if (tensor != nullptr) {
      c.resize(*tensor, statistics);
    }
  }
  normalise(c, *out, in, c.optional_tensor(2), c.optional_tensor(3), mean, rstd,
            {in.count() / std::max<int64_t>(length, 1), length, 1, 0}, length, c.real(4), false);
}

/// (input, weight, bias, N, C, HxW, group, eps) -> (out, mean, rstd).
void group_norm(OpContext& c) {
  Tensor& in = c.tensor(0);
  const std::vector<Tensor*> outs = c.tensors(c.num_args() - 1);
  const int64_t groups = c.integer(6);
  const int64_t channels = in.size(1);
  if (!c.check(outs.size() == 3 && outs[0] != nullptr && in.rank() >= 2 && groups > 0 && channels % groups == 0,
               "%" PRId64 " groups of %" PRId64 " channels", groups, channels)) {
    return;
  }
  c.resize(*outs[0], in.sizes);
  for (Tensor* tensor : {outs[1], outs[2]}) {
    if (tensor != nullptr) {
      c.resize(*tensor, {in.size(0), groups});
    }
  }
  if (in.count() > 0) {
    const int64_t plane = in.count() / in.size(0) / channels;
    normalise(c, *outs[0], in, c.optional_tensor(1), c.optional_tensor(2), outs[1], outs[2],
              {in.size(0) * groups, channels / groups * plane, plane, groups}, channels, c.real(7), false);
  }
}

/// (x, weight, eps).
void rms_norm(OpContext& c) {
  Tensor& in = c.tensor(0);
  Tensor& out = c.tensor(3);
  c.resize(out, in.sizes);
  const int64_t length = in.size(-1);
  normalise(c, out, in, &c.tensor(1), nullptr, nullptr, nullptr,
            {in.count() / std::max<int64_t>(length, 1), length, 1, 0}, length, c.real(2), true);
}

/// (input, weight, bias, mean, var, momentum, eps) -> (out, empty, empty).
void batch_norm(OpContext& c) {
  Tensor& in = c.tensor(0);
  const int last = c.num_args() - 1;
  const std::vector<Tensor*> outs = c.is_tensor(last) ? std::vector<Tensor*>{&c.tensor(last)} : c.tensors(last);
  if (!c.check(!outs.empty() && outs[0] != nullptr && in.rank() >= 2 && in.kind != Kind::Int,
               "an argument of %d dimensions", in.rank())) {
    return;
  }
  Tensor& out = *outs[0];
  c.resize(out, in.sizes);
  if (in.count() == 0) {
    return;
  }
  const int64_t channels = in.size(1);
  Tensor* weight = c.optional_tensor(1);
  Tensor* bias = c.optional_tensor(2);
  gpu::Buffer* any = c.memory(in);
  gpu::Buffer* weights = operand(c, weight, in.kind, channels, 0);
  gpu::Buffer* biases = operand(c, bias, in.kind, channels, 1);
  c.run("batch_norm" + kinds({in.kind}),
        {c.memory(out), any, weights == nullptr ? any : weights, biases == nullptr ? any : biases,
         operand(c, &c.tensor(3), in.kind, channels, 2), operand(c, &c.tensor(4), in.kind, channels, 3)},
        Parameters().i(in.count()).i(in.count() / in.size(0) / channels).i(channels).f(c.real(6)), in.count(),
        {weight != nullptr ? 1 : 0, bias != nullptr ? 1 : 0});
}

constexpr Operator kOperators[] = {
    {"aten.native_layer_norm.default", layer_norm},
    {"aten.layer_norm.default", layer_norm},
    {"aten.native_group_norm.default", group_norm},
    {"et_vk.rms_norm.default", rms_norm},
    {"aten._native_batch_norm_legit_no_training.default", batch_norm},
};

}  // namespace

Operators norm_operators() {
  return {kOperators, sizeof(kOperators) / sizeof(kOperators[0])};
}

}  // namespace vulkan
}  // namespace backends
}  // namespace executorch
