// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cinttypes>

#include "ops/operands.h"
#include "ops/tables.h"
#include "ops/views.h"

namespace executorch {
namespace backends {
namespace vulkan {

namespace {

/// The values of OP in shaders/reduce.glsl.
enum : int32_t { kSum, kMean, kMax, kMin, kArgMax, kArgMin, kVar, kAny, kAll };

void reduce_to(OpContext& c, int32_t op, Tensor& out, Tensor& in, std::vector<int64_t> dims, bool keeps_dims,
               int64_t correction = 0) {
  const size_t rank = in.sizes.size();
  std::vector<bool> is_reduced(rank, dims.empty());
  for (const int64_t dim : dims) {
    const size_t d = static_cast<size_t>(c.wrap(dim, in.rank()));
    if (d < rank) {
      is_reduced[d] = true;
    }
  }
  const std::vector<int64_t> strides = strides_of(in.sizes);
  Sizes sizes, kept, reduced;
  std::vector<int64_t> kept_strides, reduced_strides;
  for (size_t d = 0; d < rank; ++d) {
    (is_reduced[d] ? reduced : kept).push_back(in.sizes[d]);
    (is_reduced[d] ? reduced_strides : kept_strides).push_back(strides[d]);
    if (!is_reduced[d] || keeps_dims) {
      sizes.push_back(is_reduced[d] ? 1 : in.sizes[d]);
    }
  }
  c.resize(out, sizes);
  const int64_t length = count_of(reduced);
  c.check(length > 0 || (op != kMax && op != kMin && op != kArgMax && op != kArgMin), "it reduces no elements");
  if (c.failed() || out.count() == 0) {
    return;
  }
  merge_dims(kept, {&kept_strides});
  merge_dims(reduced, {&reduced_strides});
  const bool to_int = op == kArgMax || op == kArgMin || op == kAny || op == kAll;
  c.check((out.kind == Kind::Int) == (to_int || in.kind == Kind::Int), "a result of %s for an argument of %s",
          name_of(out.dtype), name_of(in.dtype));
  // Per element: the outer loop and the check of the inner one are one iteration each; each reduced dim adds another.
  const int64_t repeats = 2 + (reduced.size() > 1 ? static_cast<int64_t>(reduced.size()) : 0);
  const Split split = split_of(c, out.count(), length, 1, 64, repeats);
  // The threads that share a result are a workgroup.
  const uint32_t local = split.parts == 1 ? 64 : 1;
  c.run("reduce" + kinds({out.kind, in.kind}), {c.memory(out), c.memory(in)},
        Parameters()
            .i(out.count())
            .i(static_cast<int64_t>(kept.size()))
            .i(length)
            .i(reduced.empty() ? 1 : reduced_strides.back())
            .i(static_cast<int64_t>(std::max<size_t>(reduced.size(), 1)))
            .i(correction)
            .array(kept, 8, 1)
            .array(kept_strides, 8)
            .array(reduced, 8, 1)
            .array(reduced_strides, 8),
        out.count(), {op, split.parts, split.shared}, {local, 1, static_cast<uint32_t>(split.parts)});
}

/// (self, dims, keepdim, ...).
template <int32_t kOp>
void reduce(OpContext& c) {
  const bool has_keep = c.num_args() > 3;
  reduce_to(c, kOp, c.result(), c.tensor(0), c.num_args() > 2 ? c.integers(1) : std::vector<int64_t>(),
            has_keep && c.boolean(2));
}

/// (self, dims, correction, keepdim). A null correction is 1.
void var_correction(OpContext& c) {
  reduce_to(c, kVar, c.result(), c.tensor(0), c.integers(1), c.num_args() > 4 && c.boolean(3),
            c.num_args() > 3 ? c.integer(2, 1) : 1);
}

/// (self, dims, unbiased, keepdim).
void var_dim(OpContext& c) {
  reduce_to(c, kVar, c.result(), c.tensor(0), c.integers(1), c.num_args() > 4 && c.boolean(3),
            c.num_args() > 3 ? (c.boolean(2) ? 1 : 0) : 1);
}

template <Softmax kMode>
void softmax(OpContext& c) {
  Tensor& in = c.tensor(0);
  Tensor& out = c.result();
  const int dim = c.dim(1, in.rank());
  c.resize(out, in.sizes);
  int64_t inner = 1;
  for (int d = dim + 1; d < in.rank(); ++d) {
    inner *= in.size(d);
  }
  c.check(out.kind == in.kind, "a result of %s for an argument of %s", name_of(out.dtype), name_of(in.dtype));
  run_softmax(c, out, in, in.size(dim), inner, kMode);
}

constexpr Operator kOperators[] = {
    {"aten.sum.dim_IntList", reduce<kSum>},
    {"aten.sum.default", reduce<kSum>},
    {"aten.mean.dim", reduce<kMean>},
    {"aten.mean.default", reduce<kMean>},
    {"aten.amax.default", reduce<kMax>},
    {"aten.amin.default", reduce<kMin>},
    {"aten.argmax.default", reduce<kArgMax>},
    {"aten.argmin.default", reduce<kArgMin>},
    {"aten.any.dim", reduce<kAny>},
    {"aten.any.dims", reduce<kAny>},
    {"aten.any.default", reduce<kAny>},
    {"aten.all.dim", reduce<kAll>},
    {"aten.var.correction", var_correction},
    {"aten.var.dim", var_dim},
    {"aten._softmax.default", softmax<Softmax::Shares>},
    {"aten.softmax.int", softmax<Softmax::Shares>},
    {"aten._log_softmax.default", softmax<Softmax::Logarithms>},
    {"aten.log_softmax.int", softmax<Softmax::Logarithms>},
};

}  // namespace

Operators reduce_operators() {
  return {kOperators, sizeof(kOperators) / sizeof(kOperators[0])};
}

}  // namespace vulkan
}  // namespace backends
}  // namespace executorch
