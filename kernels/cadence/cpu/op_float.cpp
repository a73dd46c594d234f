// SPDX-License-Identifier: BSD-3-Clause
// cadence::conv1d, conv2d, conv3d, fully_connected, linalg_svd: the portable library's kernels under other names.
#include <string_view>
#include <tuple>

#include "kernels/cadence/cpu/arguments.h"

namespace torch::executor::native {

Tensor& convolution_out(KernelRuntimeContext& ctx, const Tensor& input, const Tensor& weight,
                        const std::optional<Tensor>& bias, IntArrayRef stride, IntArrayRef padding,
                        IntArrayRef dilation, bool transposed, IntArrayRef output_padding, int64_t groups, Tensor& out);
Tensor& linear_out(KernelRuntimeContext& ctx, const Tensor& input, const Tensor& weight,
                   const std::optional<Tensor>& bias, Tensor& out);
std::tuple<Tensor&, Tensor&, Tensor&> _linalg_svd_U(KernelRuntimeContext& ctx, const Tensor& a, bool full_matrices,
                                                    bool compute_uv, std::optional<std::string_view> driver, Tensor& u,
                                                    Tensor& s, Tensor& vh);

Tensor& cadence_conv_out(KernelRuntimeContext& ctx, const Tensor& input, const Tensor& weight, const Tensor& bias,
                         IntArrayRef stride, IntArrayRef padding, IntArrayRef dilation, int64_t groups, Tensor& out) {
  return convolution_out(ctx, input, weight, bias, stride, padding, dilation, /*transposed=*/false,
                         /*output_padding=*/IntArrayRef(), groups, out);
}

Tensor& cadence_fully_connected_out(KernelRuntimeContext& ctx, const Tensor& input, const Tensor& weight,
                                    const std::optional<Tensor>& bias, Tensor& out) {
  return linear_out(ctx, input, weight, bias, out);
}

std::tuple<Tensor&, Tensor&, Tensor&> cadence_linalg_svd_out(KernelRuntimeContext& ctx, const Tensor& A,
                                                             bool full_matrices, bool compute_uv,
                                                             std::optional<std::string_view> driver, Tensor& U,
                                                             Tensor& S, Tensor& Vh) {
  return _linalg_svd_U(ctx, A, full_matrices, compute_uv, driver, U, S, Vh);
}

}  // namespace torch::executor::native
