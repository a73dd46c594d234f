// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/kernels/portable/cpu/util/upsample_util.h>

#include "signatures.h"

namespace surface {

using executorch::aten::Tensor;
namespace util = torch::executor;
using Sizes = const executorch::aten::OptionalArrayRef<int64_t>&;
using Factors = const executorch::aten::OptionalArrayRef<double>&;
using Factor = const std::optional<double>&;

static_assert(is<bool (*)(const Tensor&, Sizes, Factors, Tensor&)>(&util::check_upsample_2d_common_args));
static_assert(is<bool (*)(const Tensor&, Sizes, bool, Factors, Tensor&)>(&util::check_upsample_bilinear2d_args));
static_assert(is<bool (*)(const Tensor&, Sizes, Factors, Tensor&)>(&util::check_upsample_nearest2d_args));
static_assert(is<Error (*)(const Tensor&, Sizes, Factors, double&, double&, Tensor&)>(&util::resize_upsample_2d));
static_assert(is<float (*)(Factor, int64_t, int64_t)>(&util::compute_scales_value<float>));
static_assert(is<float (*)(int64_t, int64_t, bool, Factor)>(&util::area_pixel_compute_scale<float>));
static_assert(is<float (*)(float, int64_t, bool, bool)>(&util::area_pixel_compute_source_index<float>));
static_assert(
    is<void (*)(const float&, const int64_t&, int64_t&, float&)>(&util::guard_index_and_lambda<float, float>));
static_assert(is<void (*)(int64_t&, int64_t&, float&, float&, float, int64_t, int64_t, int64_t, bool)>(
    &util::compute_source_index_and_lambda<float, float>));
static_assert(is<int64_t (*)(float, int64_t, int64_t)>(&util::nearest_neighbor_compute_source_index));

}  // namespace surface
