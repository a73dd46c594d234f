// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file
 * Sorts a vector, for custom kernels.
 */
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include <executorch/runtime/kernel/kernel_includes.h>

namespace torch {
namespace executor {

/**
 * Writes the sorted elements of a vector of Float, and where each of them was. All three tensors have one length and
 * are contiguous. Equal elements keep their order; NaN counts as the largest number, as in torch.sort.
 *
 * @retval Error::InvalidArgument (logged) a tensor is not a vector of that length, or has another dtype.
 */
ET_NODISCARD inline Error sort_tensor(const Tensor& tensor, Tensor& sorted_tensor, Tensor& sorted_indice,
                                      bool descending = false) {
  ET_CHECK_OR_RETURN_ERROR(tensor.dim() == 1 && tensors_have_same_shape(tensor, sorted_tensor, sorted_indice),
                           InvalidArgument, "sort: expected three vectors of one length");
  ET_CHECK_OR_RETURN_ERROR(tensor.scalar_type() == ScalarType::Float && tensors_have_same_dtype(tensor, sorted_tensor),
                           InvalidArgument, "sort: expected vectors of dtype Float");
  ET_CHECK_OR_RETURN_ERROR(sorted_indice.scalar_type() == ScalarType::Long, InvalidArgument,
                           "sort: expected indices of dtype Long");
  const float* const values = tensor.const_data_ptr<float>();
  int64_t* const indices = sorted_indice.mutable_data_ptr<int64_t>();
  const auto count = static_cast<size_t>(tensor.numel());
  for (size_t i = 0; i < count; ++i) {
    indices[i] = static_cast<int64_t>(i);
  }
  const auto is_less = [](float a, float b) { return a < b || (std::isnan(b) && !std::isnan(a)); };
  // Ties are decided by the index, so that no other memory is needed to keep their order.
  std::sort(indices, indices + count, [&](int64_t i, int64_t j) {
    const float a = values[descending ? j : i];
    const float b = values[descending ? i : j];
    return is_less(a, b) || (!is_less(b, a) && i < j);
  });
  float* const sorted = sorted_tensor.mutable_data_ptr<float>();
  for (size_t i = 0; i < count; ++i) {
    sorted[i] = values[indices[i]];
  }
  return Error::Ok;
}

}  // namespace executor
}  // namespace torch
