// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/kernels/portable/cpu/util/matmul_ops_util.h>

#include "signatures.h"

namespace surface {

using executorch::aten::Scalar;
using executorch::aten::SizesType;
using executorch::aten::Tensor;
namespace util = torch::executor;
using Check = bool (*)(const Tensor&, const Tensor&, Tensor&);
using TargetSize = void (*)(const Tensor&, const Tensor&, SizesType*, size_t*);

static_assert(is<bool (*)(const Tensor&, const Tensor&, const Tensor&, const Scalar&, const Scalar&, Tensor&)>(
    &util::check_addmm_args));
static_assert(is<Check>(&util::check_bmm_args) && is<TargetSize>(&util::get_bmm_out_target_size));
static_assert(is<Check>(&util::check_mm_args) && is<TargetSize>(&util::get_mm_out_target_size));
static_assert(is<Check>(&util::check_linear_args) && is<TargetSize>(&util::get_linear_out_target_size));

}  // namespace surface
