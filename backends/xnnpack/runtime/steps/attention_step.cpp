// SPDX-License-Identifier: BSD-3-Clause
#include "steps/attention_step.h"

#include <algorithm>

#include <executorch/runtime/core/checked_size.h>

#include "steps/rows.h"

namespace executorch {
namespace backends {
namespace xnnpack {

using runtime::internal::CheckedSize;

namespace {

constexpr size_t kMaxRank = 4;

using Sizes = AttentionStep::Sizes;
using Layout = AttentionStep::Layout;

/// Prepends dimensions of size 1 up to four: batch, heads, rows, width.
Shape four(const Shape& shape) {
  Shape result(kMaxRank - shape.size(), 1);
  result.insert(result.end(), shape.begin(), shape.end());
  return result;
}

HeadStrides dense(const Shape& four_dims) {
  return {0, four_dims[1] * four_dims[2] * four_dims[3], four_dims[2] * four_dims[3], four_dims[3]};
}

bool make_dense(const std::vector<Shape>& in, Layout* layout) {
  for (size_t i = 0; i < 3; ++i) {
    if (in[i].size() < 2 || in[i].size() > kMaxRank || in[i].size() != in[0].size()) {
      return false;
    }
  }
  const Shape q = four(in[0]);
  const Shape k = four(in[1]);
  const Shape v = four(in[2]);
  layout->sizes = {q[0], q[1], k[1], q[2], k[2], q[3], v[3]};
  if (k[0] != q[0] || v[0] != q[0] || v[1] != k[1] || v[2] != k[2] || k[3] != q[3]) {
    return false;
  }
  layout->q = dense(q);
  layout->k = dense(k);
  layout->v = dense(v);
  layout->out = dense({q[0], q[1], q[2], v[3]});
  layout->out_shape = in[0];
  layout->out_shape.back() = v[3];
  return true;
}

/// Whether all rows lie inside a tensor of this shape, and have together at most as many elements as the tensor.
bool lies_inside(const HeadStrides& strides, size_t batch, size_t heads, size_t rows, size_t width,
                 const Shape& shape) {
  const size_t elements = element_count(shape);
  const CheckedSize wanted = CheckedSize(batch) * CheckedSize(heads) * CheckedSize(rows) * CheckedSize(width);
  const CheckedSize end = CheckedSize(strides.offset) + CheckedSize(strides.batch) * CheckedSize(batch - 1) +
                          CheckedSize(strides.head) * CheckedSize(heads - 1) +
                          CheckedSize(strides.row) * CheckedSize(rows - 1) + CheckedSize(width);
  return wanted.at_most(elements) && end.at_most(elements);
}

}  // namespace

OptionalShape AttentionStep::shape(const std::vector<Shape>& in) const {
  if (in.size() != (mask_ == Mask::None ? 3u : 4u)) {
    return {};
  }
  Layout made;
  if (fixed_ == nullptr && !make_dense(in, &made)) {
    return {};
  }
  const Layout& layout = fixed_ == nullptr ? made : *fixed_;
  const Sizes& s = layout.sizes;
  if (s.key_heads == 0 || s.width == 0 || s.value_width == 0 || s.heads % s.key_heads != 0) {
    return {};
  }
  if (fixed_ != nullptr && (s.batch == 0 || s.heads == 0 || s.rows == 0 || s.keys == 0 ||
                            !lies_inside(layout.q, s.batch, s.heads, s.rows, s.width, in[0]) ||
                            !lies_inside(layout.k, s.batch, s.key_heads, s.keys, s.width, in[1]) ||
                            !lies_inside(layout.v, s.batch, s.key_heads, s.keys, s.value_width, in[2]) ||
                            !lies_inside(layout.out, s.batch, s.heads, s.rows, s.value_width, layout.out_shape))) {
    return {};
  }
  if (mask_ != Mask::None) {
    if (in[3].size() > kMaxRank) {
      return {};
    }
    const Shape mask = four(in[3]);
    const Shape whole = {s.batch, s.heads, s.rows, s.keys};
    for (size_t d = 0; d < kMaxRank; ++d) {
      if (mask[d] != 1 && mask[d] != whole[d]) {
        return {};
      }
    }
  }
  return layout.out_shape;
}

Step::Plan AttentionStep::plan(const std::vector<Shape>& in, size_t threads) {
  if (fixed_ == nullptr) {
    make_dense(in, &layout_);
  } else {
    layout_ = *fixed_;
  }
  const Sizes& s = layout_.sizes;
  if (mask_ != Mask::None) {
    const Shape mask = four(in[3]);
    const HeadStrides strides = dense(mask);
    mask_strides_ = {0, mask[0] == 1 ? 0 : strides.batch, mask[1] == 1 ? 0 : strides.head,
                     mask[2] == 1 ? 0 : strides.row};
    mask_key_stride_ = mask[3] == 1 ? 0 : 1;
  }
  // A head is divided into parts only if whole heads cannot be shared evenly, because each part copies the keys again.
  const size_t heads = s.batch * s.heads;
  parts_ = heads % threads == 0 || s.rows < 8 * threads ? 1 : threads;
  rows_of_part_ = (s.rows + parts_ - 1) / parts_;
  parts_ = (s.rows + rows_of_part_ - 1) / rows_of_part_;
  return {heads * parts_, attention_scratch(s.keys, s.width, s.value_width) * sizeof(float)};
}

void AttentionStep::run(const StepData& data, size_t unit, void* scratch) {
  const Sizes& s = layout_.sizes;
  const size_t first = unit % parts_ * rows_of_part_;
  const size_t head = unit / parts_ % s.heads;
  const size_t batch = unit / parts_ / s.heads;
  const size_t key_head = head / (s.heads / s.key_heads);
  const auto at = [batch](const HeadStrides& strides, size_t of_head, size_t row) {
    return strides.offset + batch * strides.batch + of_head * strides.head + row * strides.row;
  };
  if (s.keys == 0) {
    for (size_t row = first; row < std::min(first + rows_of_part_, s.rows); ++row) {
      std::fill_n(static_cast<float*>(data.out) + at(layout_.out, head, row), s.value_width, 0.0f);
    }
    return;
  }
  AttentionRows rows;
  rows.rows = std::min(rows_of_part_, s.rows - first);
  rows.keys = s.keys;
  rows.width = s.width;
  rows.value_width = s.value_width;
  rows.q = static_cast<const float*>(data.in[0]) + at(layout_.q, head, first);
  rows.q_stride = layout_.q.row;
  rows.k = static_cast<const float*>(data.in[1]) + at(layout_.k, key_head, 0);
  rows.k_stride = layout_.k.row;
  rows.v = static_cast<const float*>(data.in[2]) + at(layout_.v, key_head, 0);
  rows.v_stride = layout_.v.row;
  rows.out = static_cast<float*>(data.out) + at(layout_.out, head, first);
  rows.out_stride = layout_.out.row;
  rows.scale = scale_;
  rows.is_causal = is_causal_;
  rows.first_row = first;
  if (mask_ != Mask::None) {
    rows.mask = static_cast<const float*>(data.in[3]) + at(mask_strides_, head, first);
    rows.mask_row_stride = mask_strides_.row;
    rows.mask_key_stride = mask_key_stride_;
    rows.is_truth = mask_ == Mask::Truth;
  }
  attention(rows, static_cast<float*>(scratch));
}

}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch
