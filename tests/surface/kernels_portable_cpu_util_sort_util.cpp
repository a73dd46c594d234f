// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/kernels/portable/cpu/util/sort_util.h>

#include "signatures.h"

namespace surface {

using executorch::aten::Tensor;

static_assert(is<Error (*)(const Tensor&, Tensor&, Tensor&, bool)>(&torch::executor::sort_tensor));

}  // namespace surface
