// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/extension/aten_util/make_aten_functor_from_et_functor.h>

#include <type_traits>

namespace surface {

torch::executor::Tensor& copy_out(const torch::executor::Tensor& in, torch::executor::Tensor& out);

// Makes a function over PyTorch's tensors from a kernel.
static_assert(std::is_invocable_r_v<at::Tensor&, decltype(WRAP_TO_ATEN(copy_out, 1)), const at::Tensor&, at::Tensor&>);

}  // namespace surface
