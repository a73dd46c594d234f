// SPDX-License-Identifier: BSD-3-Clause
// Names that all kernels of this library use, brought into its namespace once.
#pragma once

#include <executorch/runtime/kernel/kernel_includes.h>

namespace torch::executor::native {

using executorch::aten::ArrayRef;
using executorch::aten::BFloat16;
using executorch::aten::Half;
using executorch::aten::IntArrayRef;
using executorch::aten::MemoryFormat;
using executorch::aten::OptionalArrayRef;
using executorch::aten::Scalar;
using executorch::aten::ScalarType;
using executorch::aten::SizesType;
using executorch::aten::Tensor;
using executorch::aten::TensorList;
using executorch::runtime::Error;
using executorch::runtime::KernelRuntimeContext;
using executorch::runtime::kTensorDimensionLimit;
using executorch::runtime::toString;

}  // namespace torch::executor::native
