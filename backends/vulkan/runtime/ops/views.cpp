// SPDX-License-Identifier: BSD-3-Clause
#include "ops/views.h"

#include <algorithm>
#include <cinttypes>

namespace executorch {
namespace backends {
namespace vulkan {

namespace {
constexpr size_t kCopyDims = 12;
}  // namespace

std::vector<int64_t> strides_of(const Sizes& sizes) {
  std::vector<int64_t> strides(sizes.size());
  if (!fit_tensor(sizes)) {
    return strides;
  }
  int64_t stride = 1;
  for (size_t d = sizes.size(); d-- > 0;) {
    strides[d] = stride;
    stride *= sizes[d];
  }
  return strides;
}

std::vector<int64_t> broadcast_strides(OpContext& context, const Sizes& sizes, const Sizes& to) {
  std::vector<int64_t> all(to.size(), 0);
  if (!context.check(sizes.size() <= to.size(), "a tensor of %zu dimensions does not fit one of %zu", sizes.size(),
                     to.size())) {
    return all;
  }
  const std::vector<int64_t> strides = strides_of(sizes);
  const size_t first = to.size() - sizes.size();
  for (size_t d = 0; d < sizes.size(); ++d) {
    context.check(sizes[d] == 1 || sizes[d] == to[first + d], "size %" PRId64 " in dimension %zu does not fit %" PRId64,
                  sizes[d], d, to[first + d]);
    all[first + d] = sizes[d] == 1 ? 0 : strides[d];
  }
  return all;
}

Sizes broadcast_sizes(OpContext& context, const Sizes& a, const Sizes& b) {
  Sizes result(std::max(a.size(), b.size()), 1);
  for (const Sizes* sizes : {&a, &b}) {
    const size_t first = result.size() - sizes->size();
    for (size_t d = 0; d < sizes->size(); ++d) {
      int64_t& size = result[first + d];
      context.check(size == (*sizes)[d] || size == 1 || (*sizes)[d] == 1,
                    "sizes %" PRId64 " and %" PRId64 " of its arguments do not fit each other", size, (*sizes)[d]);
      size = size == 1 ? (*sizes)[d] : size;
    }
  }
  return result;
}

void merge_dims(Sizes& sizes, std::initializer_list<std::vector<int64_t>*> strides) {
  if (!fit_tensor(sizes)) {
    return;
  }
  size_t kept = 0;
  for (size_t d = 0; d < sizes.size(); ++d) {
    bool merges = kept > 0;
    for (const auto* all : strides) {
      merges = merges && (*all)[kept - 1] == (*all)[d] * sizes[d];
    }
    if (sizes[d] == 1) {
      continue;
    }
    if (merges) {
      sizes[kept - 1] *= sizes[d];
      for (auto* all : strides) {
        (*all)[kept - 1] = (*all)[d];
      }
      continue;
    }
    sizes[kept] = sizes[d];
    for (auto* all : strides) {
      (*all)[kept] = (*all)[d];
    }
    ++kept;
  }
  sizes.resize(kept);
  for (auto* all : strides) {
    all->resize(kept);
  }
}

std::string kinds(std::initializer_list<Kind> all) {
  std::vector<std::string> names;
  std::string text;
  for (const Kind kind : all) {
    if (std::find(names.begin(), names.end(), name_of(kind)) == names.end()) {
      names.emplace_back(name_of(kind));
      text += "_" + names.back();
    }
  }
  return text;
}

void copy_view(OpContext& context, Tensor& out, View to, Tensor& in, View from, Sizes sizes) {
  const int64_t count = count_of(sizes);
  if (context.failed() || count == 0) {
    return;
  }
  if (!context.check(fit_tensor(sizes), "it copies %s elements", text_of(sizes).c_str())) {
    return;
  }
  merge_dims(sizes, {&to.strides, &from.strides});
  if (!context.check(sizes.size() <= kCopyDims, "it has %zu dimensions, expected at most %zu", sizes.size(),
                     kCopyDims)) {
    return;
  }
  // All elements that the views touch must exist: sizes and offsets come from the payload.
  const auto is_inside = [&](const View& view, const Tensor& tensor) {
    int64_t low = view.offset;
    int64_t high = view.offset;
    for (size_t d = 0; d < sizes.size(); ++d) {
      int64_t& end = view.strides[d] < 0 ? low : high;
      int64_t reach = 0;
      if (__builtin_mul_overflow(view.strides[d], sizes[d] - 1, &reach) || __builtin_add_overflow(end, reach, &end)) {
        return false;
      }
    }
    return low >= 0 && high < std::max<int64_t>(tensor.capacity, 1);
  };
  if (!context.check(is_inside(to, out) && is_inside(from, in), "it reads or writes outside of a tensor")) {
    return;
  }
  const bool to_bool = out.dtype == VkDataType::BOOL && in.dtype != VkDataType::BOOL;
  gpu::Buffer* const written = context.memory(out);
  const bool is_there = written == context.memory(in) && out.kind == in.kind && !to_bool && to.offset == from.offset &&
                        to.strides == from.strides;
  if (is_there) {
    return;  // the exporter gives a view the memory of its operand
  }
  context.run("copy_nd" + kinds({out.kind, in.kind}), {written, context.memory(in)},
              Parameters()
                  .i(count)
                  .i(static_cast<int64_t>(sizes.size()))
                  .i(from.offset)
                  .i(to.offset)
                  .array(sizes, kCopyDims, 1)
                  .array(from.strides, kCopyDims)
                  .array(to.strides, kCopyDims),
              count, {to_bool ? 1 : 0});
}

void copy_all(OpContext& context, Tensor& out, Tensor& in) {
  context.check(out.count() == in.count(), "%" PRId64 " elements do not fit %" PRId64, in.count(), out.count());
  copy_view(context, out, {0, {1}}, in, {0, {1}}, {in.count()});
}

void fill(OpContext& context, Tensor& out, double value) {
  const double integer = value >= -2147483648.0 ? std::min(value, 2147483647.0) : -2147483648.0;  // also for NaN
  const int64_t count = out.count();
  if (context.failed() || count == 0) {
    return;
  }
  context.run("fill" + kinds({out.kind}), {context.memory(out)},
              Parameters()
                  .i(count)
                  .i(out.dtype == VkDataType::BOOL ? value != 0 : static_cast<int64_t>(integer))
                  .i(0)
                  .f(value)
                  .f(0),
              count);
}

}  // namespace vulkan
}  // namespace backends
}  // namespace executorch
