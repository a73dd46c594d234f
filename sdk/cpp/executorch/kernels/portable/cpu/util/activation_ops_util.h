// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file
 * The arguments of activation functions, for custom kernels. A check logs what it expected and returns false.
 */
#pragma once

#include <string_view>

#include <executorch/runtime/kernel/kernel_includes.h>

namespace torch {
namespace executor {

/// `approximate` is "none" or "tanh".
ET_NODISCARD inline bool check_gelu_args(const ::executorch::aten::Tensor& in, std::string_view approximate,
                                         ::executorch::aten::Tensor& out) {
  ET_LOG_AND_RETURN_IF_FALSE(tensors_have_same_dtype(in, out));
  ET_CHECK_OR_RETURN_FALSE(approximate == "none" || approximate == "tanh",
                           "gelu: expected the approximation \"none\" or \"tanh\", found \"%.*s\"",
                           static_cast<int>(approximate.size()), approximate.data());
  return true;
}

/// The size of dimension `dim` is even; `out` has a floating-point dtype.
ET_NODISCARD inline bool check_glu_args(const ::executorch::aten::Tensor& in, int64_t dim,
                                        ::executorch::aten::Tensor& out) {
  ET_LOG_AND_RETURN_IF_FALSE(tensor_has_dim(in, dim));
  ET_LOG_AND_RETURN_IF_FALSE(tensor_is_floating_type(in));
  ET_LOG_AND_RETURN_IF_FALSE(tensor_is_floating_type(out));
  const auto size = in.size(dim < 0 ? dim + in.dim() : dim);
  ET_CHECK_OR_RETURN_FALSE(size % 2 == 0, "glu: expected an even size in dimension %d, found %zd",
                           static_cast<int>(dim), static_cast<ssize_t>(size));
  return true;
}

/// `out` has the dtype of `in`. Converting to another one (`half_to_float`) is not supported.
ET_NODISCARD inline bool check_log_softmax_args(const ::executorch::aten::Tensor& in, int64_t dim, bool half_to_float,
                                                ::executorch::aten::Tensor& out) {
  ET_CHECK_OR_RETURN_FALSE(!half_to_float, "softmax: half_to_float is for GPUs; convert the input to float");
  ET_LOG_AND_RETURN_IF_FALSE(tensors_have_same_dtype(in, out));
  ET_LOG_AND_RETURN_IF_FALSE(tensor_is_floating_type(in));
  return dim_is_valid(dim, nonzero_dim(in));
}

/// Checks the arguments of softmax like those of log_softmax.
ET_NODISCARD inline bool check_softmax_args(const ::executorch::aten::Tensor& in, int64_t dim, bool half_to_float,
                                            ::executorch::aten::Tensor& out) {
  return check_log_softmax_args(in, dim, half_to_float, out);
}

/// Resizes `out` to half of the size of `in` in dimension `dim`.
ET_NODISCARD inline ::executorch::runtime::Error resize_glu_out(const ::executorch::aten::Tensor& in, int64_t dim,
                                                                ::executorch::aten::Tensor& out) {
  ::executorch::aten::SizesType sizes[::executorch::runtime::kTensorDimensionLimit];
  const auto rank = static_cast<size_t>(in.dim());
  for (size_t i = 0; i < rank; ++i) {
    sizes[i] = static_cast<::executorch::aten::SizesType>(in.sizes()[i]);
  }
  sizes[dim < 0 ? dim + in.dim() : dim] /= 2;
  return ::executorch::runtime::resize_tensor(out, {sizes, rank});
}

}  // namespace executor
}  // namespace torch
