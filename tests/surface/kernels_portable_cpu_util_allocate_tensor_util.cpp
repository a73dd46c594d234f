// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/kernels/portable/cpu/util/allocate_tensor_util.h>

#include "signatures.h"

namespace surface {

using executorch::aten::ArrayRef;
using executorch::aten::DimOrderType;
using executorch::aten::ScalarType;
using executorch::aten::SizesType;
using executorch::aten::StridesType;
using executorch::aten::Tensor;

static_assert(is<Tensor (*)(KernelRuntimeContext&, const ArrayRef<SizesType>&, const ArrayRef<DimOrderType>&,
                            const ArrayRef<StridesType>&, const ScalarType&)>(&torch::executor::allocate_tensor));

}  // namespace surface
