// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/kernels/portable/cpu/util/grid_sampler_2d_util.h>

#include "signatures.h"

namespace surface {

using executorch::aten::Tensor;
namespace util = torch::executor;
using Padding = util::GridSamplerPadding;

static_assert(static_cast<int>(util::GridSamplerInterpolation::Bicubic) == 2);
static_assert(static_cast<int>(Padding::Reflection) == 2);
static_assert(is<float (*)(float, int64_t, bool)>(&util::grid_sampler_unnormalize<float>));
static_assert(is<float (*)(float, int64_t)>(&util::clip_coordinates<float>));
static_assert(is<float (*)(float, int64_t, int64_t)>(&util::reflect_coordinates<float>));
static_assert(is<float (*)(float, int64_t, Padding, bool)>(&util::grid_sampler_compute_source_index<float>));
static_assert(is<bool (*)(int64_t, int64_t, int64_t, int64_t)>(&util::within_bounds_2d<int64_t>));
static_assert(is<float (*)(float, float)>(&util::cubic_convolution1<float>));
static_assert(is<float (*)(float, float)>(&util::cubic_convolution2<float>));
static_assert(is<void (*)(float*, float)>(&util::get_cubic_upsample_coefficients<float>));
static_assert(is<float (*)(float, float, float, float, float)>(&util::cubic_interp1d<float>));
static_assert(is<Error (*)(const Tensor&, const Tensor&, Tensor&)>(&util::check_grid_sampler_2d_args_and_resize_out));

}  // namespace surface
