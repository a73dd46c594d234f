// SPDX-License-Identifier: BSD-3-Clause
// Operators that move elements, and those that make constants.
#include <algorithm>
#include <cinttypes>

#include "ops/tables.h"
#include "ops/views.h"

namespace executorch {
namespace backends {
namespace vulkan {

namespace {

Tensor& result(OpContext& c) {
  return c.tensor(c.num_args() - 1);
}

/// clone, _to_copy and the like, whose other arguments say what the result's dtype says.
void clone(OpContext& c) {
  Tensor& in = c.tensor(0);
  Tensor& out = result(c);
  c.resize(out, in.sizes);
  copy_all(c, out, in);
}

/// copy(self, source): the source in the shape of self.
void copy(OpContext& c) {
  Tensor& self = c.tensor(0);
  Tensor& source = c.tensor(1);
  Tensor& out = result(c);
  c.resize(out, self.sizes);
  copy_view(c, out, {0, strides_of(self.sizes)}, source, {0, broadcast_strides(c, source.sizes, self.sizes)},
            self.sizes);
}

void prepack(OpContext& c) {
  Tensor& in = c.tensor(0);
  Tensor& out = result(c);
  c.resize(out, in.sizes);
  c.check(in.constant >= 0, "its argument is no constant");
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
  Tensor& out = result(c);
  Sizes sizes = c.integers(1);
  int64_t known = 1;
  int inferred = -1;
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d] == -1) {
      c.check(inferred < 0, "two of its sizes are -1");
      inferred = static_cast<int>(d);
    } else {
      c.check(sizes[d] >= 0 && (sizes[d] == 0 || known <= (int64_t{1} << 32) / std::max<int64_t>(sizes[d], 1)),
              "size %" PRId64, sizes[d]);
      known *= sizes[d];
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
  Tensor& out = result(c);
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
  Tensor& out = result(c);
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
  permute_to(c, result(c), in, order);
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
  permute_to(c, result(c), in, order);
}

void slice(OpContext& c) {
  Tensor& in = c.tensor(0);
  Tensor& out = result(c);
  const int rank = in.rank();
  const int dim = c.num_args() > 2 && !c.is_null(1) ? c.dim(1, rank) : 0;
  const int64_t length = in.size(dim);
  const auto bound = [&](int arg, int64_t missing) {
    const int64_t value = c.num_args() > arg + 1 ? c.integer(arg, missing) : missing;
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
  Tensor& out = result(c);
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
  Tensor& out = result(c);
  Sizes sizes = c.integers(1);
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
  Tensor& out = result(c);
  const std::vector<int64_t> repeats = c.integers(1);
  if (!c.check(repeats.size() >= in.sizes.size() && repeats.size() <= 8, "%zu repeats for a tensor of %d dimensions",
               repeats.size(), in.rank())) {
    return;
  }
  // Each dimension becomes two: repeats, whose stride is 0, and the dimension itself.
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
  Tensor& out = result(c);
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

void cat(OpContext& c) {
  const std::vector<Tensor*> all = c.tensors(0);
  Tensor& out = result(c);
  std::vector<Tensor*> parts;
  for (Tensor* part : all) {
    if (part != nullptr && !(part->rank() == 1 && part->size(0) == 0)) {
      parts.push_back(part);
    }
  }
  if (!c.check(!parts.empty(), "it has nothing to concatenate")) {
    return;
  }
  const int rank = parts[0]->rank();
  const size_t dim = static_cast<size_t>(c.num_args() > 2 ? c.dim(1, rank) : 0);
  if (!c.check(rank > 0, "a tensor without dimensions")) {
    return;
  }
  Sizes sizes = parts[0]->sizes;
  sizes[dim] = 0;
  for (const Tensor* part : parts) {
    if (!c.check(part->rank() == rank, "tensors of %d and %d dimensions", rank, part->rank())) {
      return;
    }
    for (size_t d = 0; d < sizes.size(); ++d) {
      c.check(d == dim || part->sizes[d] == sizes[d], "sizes %" PRId64 " and %" PRId64 " in dimension %zu",
              part->sizes[d], sizes[d], d);
    }
    sizes[dim] += part->sizes[dim];
  }
  c.resize(out, sizes);
  View to{0, strides_of(sizes)};
  for (Tensor* part : parts) {
    copy_view(c, out, to, *part, {0, strides_of(part->sizes)}, part->sizes);
    to.offset += part->sizes[dim] * to.strides[dim];
  }
}

/// split_with_sizes, split, chunk and unbind: parts of one dimension.
void split_to(OpContext& c, Tensor& in, size_t dim, const std::vector<int64_t>& lengths, bool keeps_dim) {
  const std::vector<Tensor*> outs = c.tensors(c.num_args() - 1);
  if (!c.check(outs.size() == lengths.size() && dim < in.sizes.size(), "%zu results for %zu parts", outs.size(),
               lengths.size())) {
    return;
  }
  View from{0, strides_of(in.sizes)};
  int64_t total = 0;
  for (size_t i = 0; i < outs.size(); ++i) {
    Sizes part = in.sizes;
    part[dim] = lengths[i];
    total += lengths[i];
    if (!c.check(lengths[i] >= 0 && total <= in.sizes[dim], "its parts have %" PRId64 " elements, the tensor %" PRId64,
                 total, in.sizes[dim])) {
      return;
    }
    if (outs[i] != nullptr) {
      Sizes sizes = part;
      if (!keeps_dim) {
        sizes.erase(sizes.begin() + static_cast<std::ptrdiff_t>(dim));
      }
      c.resize(*outs[i], sizes);
      copy_view(c, *outs[i], {0, strides_of(part)}, in, from, part);
    }
    from.offset += lengths[i] * from.strides[dim];
  }
}

void split_with_sizes(OpContext& c) {
  Tensor& in = c.tensor(0);
  split_to(c, in, static_cast<size_t>(c.num_args() > 3 ? c.dim(2, in.rank()) : 0), c.integers(1), true);
}

void split(OpContext& c) {
  Tensor& in = c.tensor(0);
  const int dim = c.num_args() > 3 ? c.dim(2, in.rank()) : 0;
  const int64_t part = c.integer(1);
  std::vector<int64_t> lengths;
  if (!c.check(part > 0 && in.size(dim) / part <= 4096, "parts of %" PRId64, part)) {
    return;
  }
  for (int64_t at = 0; at < in.size(dim); at += part) {
    lengths.push_back(std::min(part, in.size(dim) - at));
  }
  split_to(c, in, static_cast<size_t>(dim), lengths, true);
}

void unbind(OpContext& c) {
  Tensor& in = c.tensor(0);
  const int dim = c.num_args() > 2 ? c.dim(1, in.rank()) : 0;
  if (c.check(in.size(dim) <= 4096, "%" PRId64 " parts", in.size(dim))) {
    split_to(c, in, static_cast<size_t>(dim), std::vector<int64_t>(static_cast<size_t>(in.size(dim)), 1), false);
  }
}

/// Negative padding cuts.
void pad(OpContext& c) {
  Tensor& in = c.tensor(0);
  Tensor& out = result(c);
  const std::vector<int64_t> padding = c.integers(1);
  const double value = c.num_args() > 3 ? c.real(2, 0) : 0;
  if (!c.check(padding.size() % 2 == 0 && padding.size() <= 2 * in.sizes.size(), "%zu paddings for %d dimensions",
               padding.size(), in.rank())) {
    return;
  }
  Sizes sizes = in.sizes;
  Sizes moved = in.sizes;
  View from{0, strides_of(in.sizes)};
  std::vector<int64_t> starts(sizes.size(), 0);
  for (size_t i = 0; i < padding.size() / 2; ++i) {
    const size_t d = sizes.size() - 1 - i;
    const int64_t before = padding[2 * i];
    const int64_t after = padding[2 * i + 1];
    c.check(std::max(std::abs(before), std::abs(after)) < (int64_t{1} << 31), "a padding of %" PRId64, before);
    sizes[d] += before + after;
    const int64_t cut = std::max<int64_t>(-before, 0);
    moved[d] -= cut + std::max<int64_t>(-after, 0);
    c.check(sizes[d] >= 0 && moved[d] >= 0, "the padding cuts more than there is");
    from.offset += cut * from.strides[d];
    starts[d] = std::max<int64_t>(before, 0);
  }
  c.resize(out, sizes);
  if (c.failed()) {
    return;
  }
  fill(c, out, value);
  View to{0, strides_of(sizes)};
  for (size_t d = 0; d < sizes.size(); ++d) {
    to.offset += starts[d] * to.strides[d];
  }
  copy_view(c, out, to, in, from, moved);
}

/// full, zeros, ones: the sizes, and for full the value.
template <int kKind>
void full(OpContext& c) {
  Tensor& out = result(c);
  c.resize(out, c.integers(0));
  fill(c, out, kKind == 2 ? c.real(1) : kKind);
}

template <int kKind>
void full_like(OpContext& c) {
  Tensor& out = result(c);
  c.resize(out, c.tensor(0).sizes);
  fill(c, out, kKind == 2 ? c.real(1) : kKind);
}

void scalar_tensor(OpContext& c) {
  Tensor& out = result(c);
  c.resize(out, {});
  fill(c, out, c.real(0));
}

void arange(OpContext& c) {
  Tensor& out = result(c);
  const double start = c.real(0);
  const double end = c.real(1);
  const double step = c.num_args() > 3 ? c.real(2, 1) : 1;
  const double count = step == 0 ? -1 : (end - start) / step;
  if (!c.check(count >= 0 && count < 1e9, "from %g to %g in steps of %g", start, end, step)) {
    return;
  }
  int64_t length = static_cast<int64_t>(count);
  length += static_cast<double>(length) < count ? 1 : 0;
  c.resize(out, {length});
  if (!c.failed() && length > 0) {
    c.run("fill" + kinds({out.kind}), {c.memory(out)},
          Parameters().i(length).i(static_cast<int64_t>(start)).i(static_cast<int64_t>(step)).f(start).f(step), length);
  }
}

void pixel_shuffle(OpContext& c) {
  Tensor& in = c.tensor(0);
  Tensor& out = result(c);
  const int64_t r = c.integer(1);
  if (!c.check(in.rank() >= 3 && r > 0 && r < 65536 && in.size(-3) % (r * r) == 0,
               "a tensor of %d dimensions and the factor %" PRId64, in.rank(), r)) {
    return;
  }
  Sizes sizes(in.sizes.begin(), in.sizes.end() - 3);
  const int64_t batch = count_of(sizes);
  const int64_t channels = in.size(-3) / (r * r);
  const int64_t h = in.size(-2);
  const int64_t w = in.size(-1);
  sizes.insert(sizes.end(), {channels, h * r, w * r});
  c.resize(out, sizes);
  // The index space is [batch * channels, h, r, w, r] in the order of the result.
  copy_view(c, out, {0, strides_of({batch * channels, h, r, w, r})}, in, {0, {r * r * h * w, w, r * h * w, 1, h * w}},
            {batch * channels, h, r, w, r});
}

void pixel_unshuffle(OpContext& c) {
  Tensor& in = c.tensor(0);
  Tensor& out = result(c);
  const int64_t r = c.integer(1);
  if (!c.check(in.rank() >= 3 && r > 0 && r < 65536 && in.size(-2) % r == 0 && in.size(-1) % r == 0,
               "a tensor of %d dimensions and the factor %" PRId64, in.rank(), r)) {
    return;
  }
  Sizes sizes(in.sizes.begin(), in.sizes.end() - 3);
  const int64_t planes = count_of(sizes) * in.size(-3);
  const int64_t h = in.size(-2) / r;
  const int64_t w = in.size(-1) / r;
  sizes.insert(sizes.end(), {in.size(-3) * r * r, h, w});
  c.resize(out, sizes);
  copy_view(c, out, {0, strides_of({planes, r, r, h, w})}, in, {0, {h * r * w * r, w * r, 1, r * w * r, r}},
            {planes, r, r, h, w});
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
    {"aten.cat.default", cat},
    {"aten.split_with_sizes_copy.default", split_with_sizes},
    {"aten.split_with_sizes.default", split_with_sizes},
    {"aten.split_copy.Tensor", split},
    {"aten.split.Tensor", split},
    {"aten.unbind_copy.int", unbind},
    {"aten.constant_pad_nd.default", pad},
    {"aten.full.default", full<2>},
    {"aten.zeros.default", full<0>},
    {"aten.ones.default", full<1>},
    {"aten.full_like.default", full_like<2>},
    {"aten.zeros_like.default", full_like<0>},
    {"aten.ones_like.default", full_like<1>},
    {"aten.scalar_tensor.default", scalar_tensor},
    {"aten.arange.start_step", arange},
    {"aten.pixel_shuffle.default", pixel_shuffle},
    {"aten.pixel_unshuffle.default", pixel_unshuffle},
};

}  // namespace

Operators copy_operators() {
  return {kOperators, sizeof(kOperators) / sizeof(kOperators[0])};
}

}  // namespace vulkan
}  // namespace backends
}  // namespace executorch
