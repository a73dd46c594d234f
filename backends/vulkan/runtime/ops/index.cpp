// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cinttypes>

#include "ops/tables.h"
#include "ops/views.h"

namespace executorch {
namespace backends {
namespace vulkan {

namespace {

/// Rows of `x` along one dimension, chosen by indices.
void rows(OpContext& c, Tensor& out, Tensor& x, Tensor& index, const Sizes& sizes, int64_t inner, int64_t length) {
  c.resize(out, sizes);
  c.check(index.kind == Kind::Int, "indices of %s", name_of(index.dtype));
  c.check(out.count() == 0 || length > 0, "it takes elements of an empty tensor");
  if (c.failed() || out.count() == 0) {
    return;
  }
  Tensor& target = out.kind == x.kind ? out : c.scratch(0, x.kind, sizes, out.capacity);
  c.run("gather" + kinds({x.kind}), {c.memory(target), c.memory(x), c.memory(index)},
        Parameters().i(out.count()).i(inner).i(index.count()).i(length).i(0).i(0).array({}, 8).array({}, 8),
        out.count(), {0});
  if (&target != &out) {
    copy_all(c, out, target);
  }
}

/// (weight, indices, ...).
void embedding(OpContext& c) {
  Tensor& weight = c.tensor(0);
  Tensor& index = c.tensor(1);
  c.check(weight.rank() == 2, "a weight of %d dimensions", weight.rank());
  Sizes sizes = index.sizes;
  sizes.push_back(weight.size(1));
  rows(c, c.tensor(c.num_args() - 1), weight, index, sizes, weight.size(1), weight.size(0));
}

/// (x, dim, index).
void index_select(OpContext& c) {
  Tensor& x = c.tensor(0);
  Tensor& index = c.tensor(2);
  const int dim = c.dim(1, x.rank());
  Sizes sizes = x.sizes;
  int64_t inner = 1;
  for (int d = dim + 1; d < x.rank(); ++d) {
    inner *= x.size(d);
  }
  if (!c.check(x.rank() > 0 && index.rank() <= 1, "indices of %d dimensions", index.rank())) {
    return;
  }
  sizes[static_cast<size_t>(dim)] = index.count();
  rows(c, c.tensor(c.num_args() - 1), x, index, sizes, inner, x.size(dim));
}

/// (x, [index or null, ...]) with one index.
void index(OpContext& c) {
  Tensor& x = c.tensor(0);
  const std::vector<Tensor*> all = c.tensors(1);
  int dim = -1;
  for (size_t i = 0; i < all.size(); ++i) {
    if (all[i] != nullptr) {
      c.check(dim < 0, "it has several indices, expected one");
      dim = static_cast<int>(i);
    }
  }
  if (!c.check(dim >= 0 && dim < x.rank(), "it has no index for one of %d dimensions", x.rank())) {
    return;
  }
  Tensor& chosen = *all[static_cast<size_t>(dim)];
  Sizes sizes(x.sizes.begin(), x.sizes.begin() + dim);
  sizes.insert(sizes.end(), chosen.sizes.begin(), chosen.sizes.end());
  sizes.insert(sizes.end(), x.sizes.begin() + dim + 1, x.sizes.end());
  int64_t inner = 1;
  for (int d = dim + 1; d < x.rank(); ++d) {
    inner *= x.size(d);
  }
  rows(c, c.tensor(c.num_args() - 1), x, chosen, sizes, inner, x.size(dim));
}

/// (x, dim, index).
void gather(OpContext& c) {
  Tensor& x = c.tensor(0);
  Tensor& index = c.tensor(2);
  Tensor& out = c.tensor(c.num_args() - 1);
  const int dim = c.dim(1, x.rank());
  c.resize(out, index.sizes);
  if (!c.check(x.rank() == index.rank() && x.rank() > 0 && index.kind == Kind::Int && out.kind == x.kind,
               "an argument of %d and indices of %d dimensions", x.rank(), index.rank()) ||
      out.count() == 0) {
    return;
  }
  std::vector<int64_t> strides = strides_of(x.sizes);
  const int64_t stride = strides[static_cast<size_t>(dim)];
  strides[static_cast<size_t>(dim)] = 0;
  for (int d = 0; d < x.rank(); ++d) {
    c.check(d == dim || index.size(d) <= x.size(d), "index size %" PRId64 " of %" PRId64, index.size(d), x.size(d));
  }
  c.check(x.size(dim) > 0, "it takes elements of an empty tensor");
  c.run("gather" + kinds({x.kind}), {c.memory(out), c.memory(x), c.memory(index)},
        Parameters()
            .i(out.count())
            .i(1)
            .i(1)
            .i(x.size(dim))
            .i(stride)
            .i(x.rank())
            .array(index.sizes, 8, 1)
            .array(strides, 8),
        out.count(), {1});
}

constexpr Operator kOperators[] = {
    {"aten.embedding.default", embedding},
    {"aten.index_select.default", index_select},
    {"aten.index.Tensor", index},
    {"aten.gather.default", gather},
};

}  // namespace

Operators index_operators() {
  return {kOperators, sizeof(kOperators) / sizeof(kOperators[0])};
}

}  // namespace vulkan
}  // namespace backends
}  // namespace executorch
