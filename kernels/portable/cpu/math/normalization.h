// SPDX-License-Identifier: BSD-3-Clause
// The checks of the normalisations: dtypes, shapes and dim orders. Each resizes the outputs, or fails with
// InvalidArgument and returns false.
#pragma once

#include <optional>

#include "kernels/portable/cpu/pattern/types.h"

namespace torch::executor::native {

/// Whether the elements of both lie in row-major order. The layer norm and the group norm take other dim orders too, in
/// slower loops.
bool are_contiguous(const Tensor& in, const Tensor& out);

/// native_layer_norm.out: `in` is `rows` x `width`.
bool plan_layer_norm(KernelRuntimeContext& ctx, const Tensor& in, IntArrayRef normalized_shape,
                     const std::optional<Tensor>& weight, const std::optional<Tensor>& bias, Tensor& out,
                     Tensor& mean_out, Tensor& rstd_out, int64_t* rows, int64_t* width);

/// native_group_norm.out: `in` is n x c x hxw, and c a multiple of `group`.
bool plan_group_norm(KernelRuntimeContext& ctx, const Tensor& in, const std::optional<Tensor>& weight,
                     const std::optional<Tensor>& bias, int64_t n, int64_t c, int64_t hxw, int64_t group, Tensor& out,
                     Tensor& mean_out, Tensor& rstd_out);

/// An input (batch, channels, pixels...) in the default dim order or channels last: element strides.
struct NormLayout {
  int64_t batch, channels, pixels;
  int64_t batch_stride, channel_stride, pixel_stride;
};

/// The batch norms. running_mean and running_var are null for batch statistics that are not kept.
bool plan_batch_norm(KernelRuntimeContext& ctx, const char* op, const Tensor& in, const std::optional<Tensor>& weight,
                     const std::optional<Tensor>& bias, const Tensor* running_mean, const Tensor* running_var,
                     bool training, Tensor& out, Tensor& save_mean, Tensor& save_invstd, NormLayout* layout);

}  // namespace torch::executor::native
