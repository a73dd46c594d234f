// SPDX-License-Identifier: BSD-3-Clause
// Checks of dtypes, shapes and dim orders for normalisations. Each function resizes the outputs, or fails the context
// with InvalidArgument and returns false.
#pragma once

#include <optional>

#include "kernels/portable/cpu/pattern/types.h"

namespace torch::executor::native {

/// Whether the elements of both tensors are in row-major order. Layer norm and group norm also support other dim
/// orders, in slower loops.
bool are_contiguous(const Tensor& in, const Tensor& out);

/// native_layer_norm.out: `in` is `rows` x `width`.
bool plan_layer_norm(KernelRuntimeContext& ctx, const Tensor& in, IntArrayRef normalized_shape,
                     const std::optional<Tensor>& weight, const std::optional<Tensor>& bias, Tensor& out,
                     Tensor& mean_out, Tensor& rstd_out, int64_t* rows, int64_t* width);

/// native_group_norm.out: `in` is n x c x hxw, and c a multiple of `group`.
bool plan_group_norm(KernelRuntimeContext& ctx, const Tensor& in, const std::optional<Tensor>& weight,
                     const std::optional<Tensor>& bias, int64_t n, int64_t c, int64_t hxw, int64_t group, Tensor& out,
                     Tensor& mean_out, Tensor& rstd_out);

/// The sizes and strides (in elements) of an input (batch, channels, pixels...) that is contiguous or channels last.
struct NormLayout {
  int64_t batch, channels, pixels;
  int64_t batch_stride, channel_stride, pixel_stride;
};

/// Checks a batch norm. running_mean and running_var may be null.
bool plan_batch_norm(KernelRuntimeContext& ctx, const char* op, const Tensor& in, const std::optional<Tensor>& weight,
                     const std::optional<Tensor>& bias, const Tensor* running_mean, const Tensor* running_var,
                     bool training, Tensor& out, Tensor& save_mean, Tensor& save_invstd, NormLayout* layout);

}  // namespace torch::executor::native
