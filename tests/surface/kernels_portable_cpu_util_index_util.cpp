// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/kernels/portable/cpu/util/index_util.h>

#include "signatures.h"

namespace surface {

using executorch::aten::Scalar;
using executorch::aten::SizesType;
using executorch::aten::Tensor;
namespace util = torch::executor;
using Scatter = bool (*)(const Tensor&, int64_t, const Tensor&, const Tensor&, Tensor&);

static_assert(is<bool (*)(const Tensor&, int64_t, const Tensor&, bool, Tensor&)>(&util::check_gather_args));
static_assert(is<bool (*)(const Tensor&, int64_t, const Tensor&, Tensor&)>(&util::check_index_select_args));
static_assert(
    is<void (*)(const Tensor&, int64_t, const Tensor&, SizesType*, size_t*)>(&util::get_index_select_out_target_size));
static_assert(is<bool (*)(const Tensor&, const Tensor&)>(&util::check_nonzero_args));
static_assert(is<Scatter>(&util::check_scatter_add_args) && is<Scatter>(&util::check_scatter_src_args));
static_assert(
    is<bool (*)(const Tensor&, int64_t, const Tensor&, const Scalar&, Tensor&)>(&util::check_scatter_value_args));
static_assert(is<bool (*)(const Tensor&, const Tensor&, int64_t, int64_t, Tensor&)>(&util::check_select_scatter_args));

}  // namespace surface
