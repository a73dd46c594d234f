// SPDX-License-Identifier: BSD-3-Clause
// Operators that move the elements of one tensor.
#include <algorithm>
#include <cinttypes>

#include "ops/tables.h"
#include "ops/views.h"

namespace executorch {
namespace backends {
namespace vulkan {

namespace {

/// clone, _to_copy and the like; their other arguments follow from the result's dtype.
void clone(OpContext& c) {
  Tensor& in = c.tensor(0);
  Tensor& out = c.result();
  c.resize(out, in.sizes);
  copy_all(c, out, in);
}

/// copy(self, source): the source in the shape of self.
void copy(OpContext& c) {
  Tensor& self = c.tensor(0);
  Tensor& source = c.tensor(1);
  Tensor& out = c.result();
  c.resize(out, self.sizes);
  copy_view(c, out, {0, strides_of(self.sizes)}, source, {0, broadcast_strides(c, source.sizes, self.sizes)},
            self.sizes);
}

/// copy_(self, source), which changes self. Nothing reads the result.
void copy_in_place(OpContext& c) {
  Tensor& self = c.tensor(0);
  Tensor& source = c.tensor(1);
  copy_view(c, self, {0, strides_of(self.sizes)}, source, {0, broadcast_strides(c, source.sizes, self.sizes)},
            self.sizes);
}

void prepack(OpContext& c) {
  Tensor& in = c.tensor(0);
  Tensor& out = c.result();
  c.resize(out, in.sizes);
  c.check(in.constant >= 0, "its argument is not a constant");
  if (c.failed()) {
    return;
  }
  // The result is the constant itself, in the memory that graphs share.
  if (out.buffer == nullptr) {
    out.constant = in.constant;
    const VkDataType dtype = out.dtype;
    out.dtype = in.dtype;
    c.check(out.kind == in.kind && out.capacity == in.capacity, "its result differs from the constant");
    c.memory(out);
    out.dtype = dtype;
  }
}

void view(OpContext& c) {
  Tensor& in = c.tensor(0);
  Tensor& out = c.result();
  Sizes sizes = c.sizes_of(out, 1);
  int64_t known = 1;
  int inferred = -1;
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d] == -1) {
      c.check(inferred < 0, "two of its sizes are -1");
      inferred = static_cast<int>(d);
    } else if (c.check(sizes[d] >= 0 && known <= (int64_t{1} << 32) / std::max<int64_t>(sizes[d], 1), "size %" PRId64,
                       sizes[d])) {
      known *= sizes[d];
    } else {
      return;
    }
  }
  if (inferred >= 0 && c.check(known > 0 && in.count() % known == 0, "%" PRId64 " elements do not fit", in.count())) {
    sizes[static_cast<size_t>(inferred)] = in.count() / known;
  }
  c.resize(out, sizes);
  copy_all(c, out, in);
}

void squeeze(OpContext& c) {
  Tensor& in = c.tensor(0);
  Tensor& out = c.result();
  std::vector<bool> squeezed(in.sizes.size(), c.num_args() == 2);
  if (c.num_args() > 2) {
    for (const int64_t dim : c.integers(1)) {
      const size_t at = static_cast<size_t>(c.wrap(dim, in.rank()));
      if (at < squeezed.size()) {
        squeezed[at] = true;
      }
    }
  }
  Sizes sizes;
  for (size_t d = 0; d < in.sizes.size(); ++d) {
    if (!squeezed[d] || in.sizes[d] != 1) {
      sizes.push_back(in.sizes[d]);
    }
  }
  c.resize(out, sizes);
  copy_all(c, out, in);
}

void unsqueeze(OpContext& c) {
  Tensor& in = c.tensor(0);
  Tensor& out = c.result();
  const int dim = c.dim(1, in.rank() + 1);
  Sizes sizes = in.sizes;
  sizes.insert(sizes.begin() + std::min(dim, in.rank()), 1);
  c.resize(out, sizes);
  copy_all(c, out, in);
}

void permute_to(OpContext& c, Tensor& out, Tensor& in, const std::vector<int>& order) {
  const std::vector<int64_t> strides = strides_of(in.sizes);
  Sizes sizes;
  View from;
  for (const int d : order) {
    sizes.push_back(in.size(d));
    from.strides.push_back(static_cast<size_t>(d) < strides.size() ? strides[static_cast<size_t>(d)] : 0);
  }
  c.resize(out, sizes);
  copy_view(c, out, {0, strides_of(sizes)}, in, from, sizes);
}

void permute(OpContext& c) {
  Tensor& in = c.tensor(0);
  const std::vector<int64_t> dims = c.integers(1);
  std::vector<int> order;
  std::vector<bool> seen(in.sizes.size());
  c.check(dims.size() == in.sizes.size(), "%zu dimensions for a tensor of %d", dims.size(), in.rank());
  for (const int64_t dim : dims) {
    const int d = c.wrap(dim, in.rank());
    if (!c.check(static_cast<size_t>(d) < seen.size() && !seen[static_cast<size_t>(d)], "dimension %d is there twice",
                 d)) {
      return;
    }
    seen[static_cast<size_t>(d)] = true;
    order.push_back(d);
  }
  permute_to(c, c.result(), in, order);
}

void transpose(OpContext& c) {
  Tensor& in = c.tensor(0);
  std::vector<int> order;
  for (int d = 0; d < in.rank(); ++d) {
    order.push_back(d);
  }
  if (c.num_args() == 2) {  // t
    c.check(in.rank() <= 2, "a tensor of %d dimensions, expected at most 2", in.rank());
    std::reverse(order.begin(), order.end());
  } else if (!order.empty()) {
    const int a = c.dim(1, in.rank());
    const int b = c.dim(2, in.rank());
    std::swap(order[static_cast<size_t>(a)], order[static_cast<size_t>(b)]);
  }
  permute_to(c, c.result(), in, order);
}

void slice(OpContext& c) {
  Tensor& in = c.tensor(0);
  Tensor& out = c.result();
  const int rank = in.rank();
  const int dim = c.num_args() > 2 && !c.is_null(1) ? c.dim(1, rank) : 0;
  const int64_t length = in.size(dim);
  const auto bound = [&](int arg, int64_t missing) {
    const int64_t value = c.num_args() > arg + 1 && !c.is_null(arg) ? c.long_integer(arg) : missing;
    return std::min(std::max<int64_t>(value < 0 ? value + length : value, 0), length);
  };
  const int64_t start = bound(2, 0);
  const int64_t end = std::max(bound(3, length), start);
  const int64_t step = c.num_args() > 5 ? c.integer(4, 1) : 1;
  if (!c.check(step > 0 && rank > 0, "step %" PRId64 " of a tensor with %d dimensions", step, rank)) {
    return;
  }
  Sizes sizes = in.sizes;
  sizes[static_cast<size_t>(dim)] = (end - start + step - 1) / step;
  c.resize(out, sizes);
  View from{0, strides_of(in.sizes)};
  from.offset = start * from.strides[static_cast<size_t>(dim)];
  from.strides[static_cast<size_t>(dim)] *= step;
  copy_view(c, out, {0, strides_of(sizes)}, in, from, sizes);
}

void select(OpContext& c) {
  Tensor& in = c.tensor(0);
  Tensor& out = c.result();
  const int dim = c.dim(1, in.rank());
  const int64_t index = c.integer(2);
  const int64_t length = in.size(dim);
  if (!c.check(in.rank() > 0 && index >= -length && index < length, "index %" PRId64 " of %" PRId64, index, length)) {
    return;
  }
  Sizes sizes = in.sizes;
  View from{0, strides_of(in.sizes)};
  from.offset = (index < 0 ? index + length : index) * from.strides[static_cast<size_t>(dim)];
  sizes.erase(sizes.begin() + dim);
  from.strides.erase(from.strides.begin() + dim);
  c.resize(out, sizes);
  copy_view(c, out, {0, strides_of(sizes)}, in, from, sizes);
}

void expand(OpContext& c) {
  Tensor& in = c.tensor(0);
  Tensor& out = c.result();
  Sizes sizes = c.sizes_of(out, 1);
  c.check(sizes.size() >= in.sizes.size(), "%zu sizes for a tensor of %d dimensions", sizes.size(), in.rank());
  for (size_t d = 0; !c.failed() && d < sizes.size(); ++d) {
    if (sizes[d] == -1) {
      sizes[d] = in.size(static_cast<int>(d) - static_cast<int>(sizes.size()));
    }
  }
  c.resize(out, sizes);
  copy_view(c, out, {0, strides_of(sizes)}, in, {0, broadcast_strides(c, in.sizes, sizes)}, sizes);
}

void repeat(OpContext& c) {
  Tensor& in = c.tensor(0);
  Tensor& out = c.result();
  const std::vector<int64_t> repeats = c.integers(1);
  if (!c.check(repeats.size() >= in.sizes.size() && repeats.size() <= 8, "%zu repeats for a tensor of %d dimensions",
               repeats.size(), in.rank())) {
    return;
  }
  // Each dimension becomes two: the repeats, whose stride is 0, and the dimension itself.
  Sizes sizes, index_space;
  View from;
  const std::vector<int64_t> strides = strides_of(in.sizes);
  const size_t first = repeats.size() - in.sizes.size();
  for (size_t d = 0; d < repeats.size(); ++d) {
    const int64_t length = d < first ? 1 : in.sizes[d - first];
    c.check(repeats[d] >= 0 && repeats[d] < (int64_t{1} << 31), "%" PRId64 " repeats", repeats[d]);
    sizes.push_back(repeats[d] * length);
    index_space.push_back(repeats[d]);
    index_space.push_back(length);
    from.strides.push_back(0);
    from.strides.push_back(d < first ? 0 : strides[d - first]);
  }
  c.resize(out, sizes);
  copy_view(c, out, {0, strides_of(index_space)}, in, from, index_space);
}

void flip(OpContext& c) {
  Tensor& in = c.tensor(0);
  Tensor& out = c.result();
  c.resize(out, in.sizes);
  View from{0, strides_of(in.sizes)};
  for (const int64_t dim : c.integers(1)) {
    const size_t d = static_cast<size_t>(c.wrap(dim, in.rank()));
    if (d < from.strides.size() && c.check(from.strides[d] >= 0, "dimension %zu is there twice", d)) {
      from.offset += from.strides[d] * std::max<int64_t>(in.sizes[d] - 1, 0);
      from.strides[d] = -from.strides[d];
    }
  }
  copy_view(c, out, {0, strides_of(in.sizes)}, in, from, in.sizes);
}

constexpr Operator kOperators[] = {
    {"et_vk.prepack.default", prepack},
    {"aten.clone.default", clone},
    {"aten.alias_copy.default", clone},
    {"aten.detach_copy.default", clone},
    {"aten.lift_fresh_copy.default", clone},
    {"aten._to_copy.default", clone},
    {"dim_order_ops._to_dim_order_copy.default", clone},
    {"dim_order_ops._clone_dim_order.default", clone},
    {"aten.copy.default", copy},
    {"aten.copy_.default", copy_in_place},
    {"aten.view_copy.default", view},
    {"aten.view.default", view},
    {"aten.reshape.default", view},
    {"aten._unsafe_view.default", view},
    {"aten.squeeze_copy.dims", squeeze},
    {"aten.squeeze_copy.dim", squeeze},
    {"aten.squeeze_copy.default", squeeze},
    {"aten.unsqueeze_copy.default", unsqueeze},
    {"aten.permute.default", permute},
    {"aten.permute_copy.default", permute},
    {"aten.transpose_copy.int", transpose},
    {"aten.t_copy.default", transpose},
    {"aten.t.default", transpose},
    {"aten.slice_copy.Tensor", slice},
    {"aten.select_copy.int", select},
    {"aten.expand_copy.default", expand},
    {"aten.repeat.default", repeat},
    {"aten.flip.default", flip},
};

}  // namespace

Operators copy_operators() {
  return {kOperators, sizeof(kOperators) / sizeof(kOperators[0])};
}

}  // namespace vulkan
}  // namespace backends
}  // namespace executorch
