// SPDX-License-Identifier: BSD-3-Clause
// Operators that join and cut tensors: cat, split, pad, pixel shuffle.
#include <algorithm>
#include <cinttypes>

#include "ops/tables.h"
#include "ops/views.h"

namespace executorch {
namespace backends {
namespace vulkan {

namespace {

void cat(OpContext& c) {
  const std::vector<Tensor*> all = c.tensors(0);
  Tensor& out = c.result();
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
  Tensor& out = c.result();
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
    sizes[d] += before + after;
    const int64_t cut = std::max<int64_t>(-before, 0);
    moved[d] -= cut + std::max<int64_t>(-after, 0);
    if (!c.check(sizes[d] >= 0 && moved[d] >= 0, "the padding cuts more than there is")) {
      return;
    }
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

void pixel_shuffle(OpContext& c) {
  Tensor& in = c.tensor(0);
  Tensor& out = c.result();
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
  Tensor& out = c.result();
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
    {"aten.cat.default", cat},
    {"aten.split_with_sizes_copy.default", split_with_sizes},
    {"aten.split_with_sizes.default", split_with_sizes},
    {"aten.split_copy.Tensor", split},
    {"aten.split.Tensor", split},
    {"aten.unbind_copy.int", unbind},
    {"aten.constant_pad_nd.default", pad},
    {"aten.pixel_shuffle.default", pixel_shuffle},
    {"aten.pixel_unshuffle.default", pixel_unshuffle},
};

}  // namespace

Operators join_operators() {
  return {kOperators, sizeof(kOperators) / sizeof(kOperators[0])};
}

}  // namespace vulkan
}  // namespace backends
}  // namespace executorch
