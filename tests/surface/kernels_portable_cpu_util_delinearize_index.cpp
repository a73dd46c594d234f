// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/kernels/portable/cpu/util/delinearize_index.h>

#include "signatures.h"

namespace surface {

using executorch::aten::ArrayRef;
using executorch::aten::SizesType;
using executorch::aten::Tensor;

static_assert(is<void (*)(size_t, ArrayRef<SizesType>, size_t*, const size_t)>(&torch::executor::delinearize_index));
static_assert(is<void (*)(size_t, const Tensor&, size_t*, const size_t)>(&torch::executor::delinearize_index));

}  // namespace surface
