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
  rows(c, c.result(), weight, index, sizes, weight.size(1), weight.size(0));
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
  rows(c, c.result(), x, index, sizes, inner, x.size(dim));
}

/// The positions in neighbouring dimensions of x, from `first` on, that several indices name together.
Tensor& positions(OpContext& c, Tensor& x, const std::vector<Tensor*>& indices, int first, const Sizes& sizes) {
  Tensor& out = c.scratch(1, Kind::Int, sizes, count_of(sizes));
  for (size_t i = 0; i < indices.size() && out.count() > 0; ++i) {
    c.run("combine_index_int", {c.memory(out), c.memory(*indices[i])},
          Parameters()
              .i(out.count())
              .i(static_cast<int64_t>(sizes.size()))
              .i(x.size(first + static_cast<int>(i)))
              .array(sizes, 8, 1)
              .array(broadcast_strides(c, indices[i]->sizes, sizes), 8),
          out.count(), {i == 0 ? 1 : 0});
  }
  return out;
}

/// (x, [index or null, ...]): one index, or several of neighbouring dimensions.
void index(OpContext& c) {
  Tensor& x = c.tensor(0);
  const std::vector<Tensor*> all = c.tensors(1);
  std::vector<Tensor*> indices;
  int first = -1;
  Sizes chosen;
  for (size_t i = 0; i < all.size(); ++i) {
    if (all[i] == nullptr) {
      continue;
    }
    first = first < 0 ? static_cast<int>(i) : first;
    c.check(static_cast<size_t>(first) + indices.size() == i, "the dimensions that it indexes are not adjacent");
    c.check(all[i]->kind == Kind::Int, "indices of %s", name_of(all[i]->dtype));
    chosen = indices.empty() ? all[i]->sizes : broadcast_sizes(c, chosen, all[i]->sizes);
    indices.push_back(all[i]);
  }
  const int last = first + static_cast<int>(indices.size());
  if (!c.check(first >= 0 && last <= x.rank() && chosen.size() <= 8, "it has no index for one of %d dimensions",
               x.rank())) {
    return;
  }
  Sizes sizes(x.sizes.begin(), x.sizes.begin() + first);
  sizes.insert(sizes.end(), chosen.begin(), chosen.end());
  sizes.insert(sizes.end(), x.sizes.begin() + last, x.sizes.end());
  const int64_t length = count_of(Sizes(x.sizes.begin() + first, x.sizes.begin() + last));
  const int64_t inner = count_of(Sizes(x.sizes.begin() + last, x.sizes.end()));
  if (c.check(length > 0 || count_of(sizes) == 0, "it takes elements of an empty tensor")) {
    Tensor& at = indices.size() == 1 ? *indices[0] : positions(c, x, indices, first, chosen);
    rows(c, c.result(), x, at, sizes, inner, length);
  }
}

/// (x, dim, index).
void gather(OpContext& c) {
  Tensor& x = c.tensor(0);
  Tensor& index = c.tensor(2);
  Tensor& out = c.result();
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

/// Writes values to rows of one dimension. The argument `indices`, a list with one index, gives the rows. Rows that do
/// not exist are skipped.
void write_rows(OpContext& c, Tensor& target) {
  const std::vector<Tensor*> all = c.tensors(1);
  Tensor& values = c.tensor(2);
  int dim = -1;
  for (size_t i = 0; i < all.size(); ++i) {
    if (all[i] != nullptr) {
      c.check(dim < 0, "it has several indices, expected one");
      dim = static_cast<int>(i);
    }
  }
  c.check(c.num_args() < 5 || c.is_null(3) || !c.boolean(3), "it accumulates, expected that it replaces");
  if (!c.check(dim >= 0 && dim < target.rank(), "it has no index for one of %d dimensions", target.rank())) {
    return;
  }
  Tensor& index = *all[static_cast<size_t>(dim)];
  Sizes sizes = target.sizes;
  sizes[static_cast<size_t>(dim)] = index.count();
  const std::vector<int64_t> from = broadcast_strides(c, values.sizes, sizes);
  if (!c.check(index.rank() == 1 && index.kind == Kind::Int && values.kind == target.kind,
               "indices of %s in %d dimensions for values of %s in a tensor of %s", name_of(index.dtype), index.rank(),
               name_of(values.dtype), name_of(target.dtype)) ||
      count_of(sizes) == 0) {
    return;
  }
  c.run("scatter" + kinds({target.kind}), {c.memory(target), c.memory(values), c.memory(index)},
        Parameters()
            .i(count_of(sizes))
            .i(target.rank())
            .i(dim)
            .i(target.size(dim))
            .array(sizes, 8, 1)
            .array(from, 8)
            .array(strides_of(target.sizes), 8),
        count_of(sizes));
}

/// (x, [index or null, ...], values, accumulate).
void index_put(OpContext& c) {
  Tensor& x = c.tensor(0);
  Tensor& out = c.result();
  c.resize(out, x.sizes);
  copy_all(c, out, x);
  write_rows(c, out);
}

/// Like index_put(), but changes its first argument. The result is not used.
void index_put_in_place(OpContext& c) {
  write_rows(c, c.tensor(0));
}

constexpr Operator kOperators[] = {
    {"aten.embedding.default", embedding}, {"aten.index_select.default", index_select},
    {"aten.index.Tensor", index},          {"aten.gather.default", gather},
    {"aten.index_put.default", index_put}, {"aten.index_put_.default", index_put_in_place},
};

}  // namespace

Operators index_operators() {
  return {kOperators, sizeof(kOperators) / sizeof(kOperators[0])};
}

}  // namespace vulkan
}  // namespace backends
}  // namespace executorch
