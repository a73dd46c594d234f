// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/kernels/portable/cpu/util/repeat_util.h>

#include "signatures.h"

namespace surface {

using executorch::aten::Tensor;

static_assert(is<Error (*)(const Tensor&, aten::ArrayRef<int64_t>, Tensor&)>(&torch::executor::repeat_tensor));

}  // namespace surface
