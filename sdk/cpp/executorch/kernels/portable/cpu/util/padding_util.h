// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file
 * Padding with elements of the input, for custom kernels. `padding` holds the elements added before and after each of
 * the last `n` dimensions, the last one first.
 */
#pragma once

#include <algorithm>
#include <limits>

#include <executorch/runtime/kernel/kernel_includes.h>

namespace torch {
namespace executor {

/// `in` has `n` dimensions to pad and one or two more, and no size of the result is negative. With `reflection`,
/// padding is smaller than its dimension. Logs if not.
ET_NODISCARD inline bool check_padding_args(int64_t n, const Tensor& in, ::executorch::aten::ArrayRef<int64_t> padding,
                                            Tensor& out, bool reflection = false) {
  ET_CHECK_OR_RETURN_FALSE(static_cast<int64_t>(padding.size()) == 2 * n,
                           "padding: expected %" PRId64 " numbers, found %zu", 2 * n, padding.size());
  ET_CHECK_OR_RETURN_FALSE(in.dim() == n + 1 || in.dim() == n + 2,
                           "padding: expected %" PRId64 " or %" PRId64 " dimensions, found %zd", n + 1, n + 2,
                           static_cast<ssize_t>(in.dim()));
  ET_LOG_AND_RETURN_IF_FALSE(tensors_have_same_dtype(in, out));
  for (int64_t i = 0; i < n; ++i) {
    const auto size = static_cast<int64_t>(in.size(in.dim() - 1 - i));
    const int64_t before = padding[static_cast<size_t>(2 * i)], after = padding[static_cast<size_t>(2 * i + 1)];
    constexpr int64_t kLimit = std::numeric_limits<int32_t>::max();
    ET_CHECK_OR_RETURN_FALSE(size > 0 && std::max(before, after) <= kLimit && std::min(before, after) >= -size &&
                                 size + before + after >= 0 && size + before + after <= kLimit,
                             "padding: a size of %" PRId64 " cannot be padded by %" PRId64 " and %" PRId64, size,
                             before, after);
    ET_CHECK_OR_RETURN_FALSE(!reflection || (before < size && after < size),
                             "padding: a size of %" PRId64 " cannot be reflected for %" PRId64 " and %" PRId64, size,
                             before, after);
  }
  return true;
}

/// The sizes of `in` with the padding. The check has passed.
inline void get_padding_out_target_size(int64_t n, const Tensor& in, ::executorch::aten::ArrayRef<int64_t> padding,
                                        ::executorch::aten::SizesType* out_sizes, size_t* out_ndim) {
  *out_ndim = static_cast<size_t>(in.dim());
  std::copy(in.sizes().begin(), in.sizes().end(), out_sizes);
  for (int64_t i = 0; i < n; ++i) {
    out_sizes[in.dim() - 1 - i] += static_cast<::executorch::aten::SizesType>(padding[static_cast<size_t>(2 * i)] +
                                                                              padding[static_cast<size_t>(2 * i + 1)]);
  }
}

/// The element of the input for element `j` of the result, with `pad` elements added before: the nearest one.
inline int64_t replication_ix(int64_t j, int64_t size, int64_t pad) {
  return std::clamp<int64_t>(j - pad, 0, size - 1);
}

/// Like the function above, with mirrors at the first and the last element.
inline int64_t reflection_ix(int64_t j, int64_t size, int64_t pad) {
  const int64_t index = j < pad ? pad - j : j - pad;
  return index < size ? index : 2 * (size - 1) - index;
}

namespace internal {

/// Pads the last `n` dimensions of contiguous tensors.
template <typename CTYPE, typename PaddingIx>
void pad(const PaddingIx& padding_ix, size_t n, const Tensor& in, Tensor& out,
         ::executorch::aten::ArrayRef<int64_t> padding) {
  const auto rank = static_cast<size_t>(in.dim());
  const CTYPE* const from = in.const_data_ptr<CTYPE>();
  CTYPE* to = out.mutable_data_ptr<CTYPE>();
  size_t indexes[kTensorDimensionLimit] = {};
  for (size_t count = static_cast<size_t>(out.numel()); count > 0; --count) {
    int64_t position = 0;
    for (size_t d = 0; d < rank; ++d) {
      const auto index = static_cast<int64_t>(indexes[d]);
      const auto size = static_cast<int64_t>(in.size(static_cast<ssize_t>(d)));
      position = position * size + (d + n < rank ? index : padding_ix(index, size, padding[2 * (rank - 1 - d)]));
    }
    *to++ = from[position];
    for (size_t d = rank; d-- > 0 && ++indexes[d] == static_cast<size_t>(out.size(static_cast<ssize_t>(d)));) {
      indexes[d] = 0;
    }
  }
}

}  // namespace internal

/// Writes `in`, with its last dimension padded, to `out`. `padding_ix` is replication_ix or reflection_ix, or a
/// function like them.
template <typename CTYPE, typename PaddingIx>
void pad1d(const PaddingIx& padding_ix, const Tensor& in, Tensor& out, ::executorch::aten::ArrayRef<int64_t> padding) {
  internal::pad<CTYPE>(padding_ix, 1, in, out, padding);
}

/// Like the function above, for two dimensions.
template <typename CTYPE, typename PaddingIx>
void pad2d(const PaddingIx& padding_ix, const Tensor& in, Tensor& out, ::executorch::aten::ArrayRef<int64_t> padding) {
  internal::pad<CTYPE>(padding_ix, 2, in, out, padding);
}

/// Like the function above, for three dimensions.
template <typename CTYPE, typename PaddingIx>
void pad3d(const PaddingIx& padding_ix, const Tensor& in, Tensor& out, ::executorch::aten::ArrayRef<int64_t> padding) {
  internal::pad<CTYPE>(padding_ix, 3, in, out, padding);
}

}  // namespace executor
}  // namespace torch
