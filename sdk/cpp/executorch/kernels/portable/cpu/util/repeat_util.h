// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file
 * Repeats a tensor along its dimensions, for custom kernels.
 */
#pragma once

#include <cstring>

#include <executorch/kernels/portable/cpu/util/delinearized_indexes_range.h>

namespace torch {
namespace executor {

/**
 * Writes `in`, repeated `repeats[d]` times in dimension d of `out`, as Tensor.repeat. There may be more repetitions
 * than dimensions; further ones are added in front. `out` has the shape of the result and is contiguous.
 *
 * @retval Error::InvalidArgument (logged) there are fewer repetitions than dimensions, or one is negative, or `out` has
 * another shape or dtype.
 */
ET_NODISCARD inline Error repeat_tensor(const Tensor& in, ::executorch::aten::ArrayRef<int64_t> repeats, Tensor& out) {
  const auto added = static_cast<ssize_t>(repeats.size()) - static_cast<ssize_t>(in.dim());
  ET_CHECK_OR_RETURN_ERROR(added >= 0, InvalidArgument, "repeat: %zu repetitions of %zd dimensions", repeats.size(),
                           static_cast<ssize_t>(in.dim()));
  ET_CHECK_OR_RETURN_ERROR(tensors_have_same_dtype(in, out) && tensor_is_rank(out, repeats.size()), InvalidArgument,
                           "repeat: the result has another dtype or rank");
  for (ssize_t d = 0; d < out.dim(); ++d) {
    const int64_t size = d < added ? 1 : in.size(d - added);
    ET_CHECK_OR_RETURN_ERROR(
        repeats[d] >= 0 && (size == 0 ? out.size(d) == 0 : out.size(d) % size == 0 && out.size(d) / size == repeats[d]),
        InvalidArgument, "repeat: dimension %zd of the result has the size %zd, expected %" PRId64 " times %" PRId64, d,
        static_cast<ssize_t>(out.size(d)), repeats[d], size);
  }
  const auto bytes = static_cast<size_t>(in.element_size());
  const auto* const from = static_cast<const char*>(in.const_data_ptr());
  auto* to = static_cast<char*>(out.mutable_data_ptr());
  for (const auto& indexes : DelinearizedIndexesRange(out)) {
    size_t position = 0;
    for (ssize_t d = 0; d < in.dim(); ++d) {
      position += indexes[added + d] % static_cast<size_t>(in.size(d)) * static_cast<size_t>(in.strides()[d]);
    }
    std::memcpy(to, from + position * bytes, bytes);
    to += bytes;
  }
  return Error::Ok;
}

}  // namespace executor
}  // namespace torch
