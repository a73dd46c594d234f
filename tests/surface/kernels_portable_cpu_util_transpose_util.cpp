// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/kernels/portable/cpu/util/transpose_util.h>

#include "signatures.h"

namespace surface {

using executorch::aten::SizesType;
using executorch::aten::Tensor;
namespace util = torch::executor;

static_assert(is<void (*)(const Tensor&, int64_t, int64_t, Tensor&)>(&util::transpose_tensors<float>));
static_assert(is<bool (*)(const Tensor&, Tensor&)>(&util::check_t_copy_args));
static_assert(is<bool (*)(const Tensor&, int64_t, int64_t, Tensor&)>(&util::check_transpose_copy_args));
static_assert(
    is<void (*)(const Tensor&, SizesType, SizesType, SizesType*, size_t*)>(&util::get_transpose_out_target_size));

}  // namespace surface
