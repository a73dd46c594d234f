// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/kernels/portable/cpu/util/normalization_ops_util.h>

#include "signatures.h"

namespace surface {

using executorch::aten::IntArrayRef;
using executorch::aten::SizesType;
using executorch::aten::Tensor;
namespace util = torch::executor;
using Parameter = const std::optional<Tensor>&;

static_assert(is<bool (*)(const Tensor&, Parameter, Parameter, Parameter, Parameter, double, double, Tensor&, Tensor&,
                          Tensor&)>(&util::check_batch_norm_args));
static_assert(is<bool (*)(const Tensor&, IntArrayRef, Parameter, Parameter, Tensor&, Tensor&, Tensor&)>(
    &util::check_layer_norm_args));
static_assert(is<void (*)(const Tensor&, IntArrayRef, SizesType*, size_t*)>(&util::get_layer_norm_out_target_size));
static_assert(is<bool (*)(const Tensor&, Parameter, Parameter, int64_t, int64_t, int64_t, int64_t, Tensor&, Tensor&,
                          Tensor&)>(&util::check_group_norm_args));

}  // namespace surface
