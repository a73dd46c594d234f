// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/kernels/portable/cpu/util/math_util.h>

#include "signatures.h"

namespace surface {

namespace util = torch::executor::native::utils;

static_assert(is<int (*)(int, int)>(&util::floor_divide<int>));
static_assert(is<double (*)(double, double)>(&util::floor_divide<double>));
static_assert(is<float (*)(float, float)>(&util::min_override<float>));
static_assert(is<executorch::aten::Half (*)(executorch::aten::Half, executorch::aten::Half)>(
    &util::max_override<executorch::aten::Half>));
static_assert(is<int64_t (*)(int64_t, int64_t)>(&util::remainder_override<int64_t>));

}  // namespace surface
