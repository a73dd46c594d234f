// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/kernels/portable/cpu/util/delinearized_indexes_range.h>

#include "signatures.h"

namespace surface {

using Range = torch::executor::DelinearizedIndexesRange;

static_assert(std::is_constructible_v<Range, const aten::Tensor&>);
static_assert(std::is_same_v<decltype(*make<Range>().begin()), const std::array<size_t, kTensorDimensionLimit>&>);
static_assert(std::is_same_v<decltype(make<Range>().end() - make<Range>().begin()), ssize_t>);

}  // namespace surface
