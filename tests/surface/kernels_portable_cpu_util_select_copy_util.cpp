// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/kernels/portable/cpu/util/select_copy_util.h>

#include "signatures.h"

namespace surface {

using executorch::aten::Tensor;

static_assert(is<Error (*)(const Tensor&, int64_t, int64_t, Tensor&)>(&torch::executor::select_copy_util));

}  // namespace surface
