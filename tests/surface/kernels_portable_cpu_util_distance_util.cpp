// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/kernels/portable/cpu/util/distance_util.h>

#include "signatures.h"

namespace surface {

using executorch::aten::SizesType;
using executorch::aten::Tensor;
namespace util = torch::executor;

static_assert(is<bool (*)(const Tensor&, double, const Tensor&)>(&util::check_pdist_args));
static_assert(is<void (*)(const Tensor&, SizesType*, size_t*)>(&util::get_pdist_out_target_size));
static_assert(is<void (*)(const Tensor&, Tensor&, double)>(&util::pdist<float>));
static_assert(is<void (*)(const Tensor&, Tensor&, double)>(&util::pdist<double, util::Lp<double>>));
static_assert(std::is_same_v<decltype(util::L0<float>::map(1.0f, 1.0f)), float>);
static_assert(std::is_same_v<decltype(util::L1<float>::reduce(1.0f, 1.0f)), float>);
static_assert(std::is_same_v<decltype(util::L2<float>::finish(1.0f, 1.0f)), float>);
static_assert(std::is_same_v<decltype(util::Linf<float>::reduce(1.0f, 1.0f)), float>);

}  // namespace surface
