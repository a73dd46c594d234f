// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/kernels/portable/cpu/util/arange_util.h>

#include "signatures.h"

namespace surface {

using executorch::aten::SizesType;
using executorch::aten::Tensor;
namespace util = torch::executor::native;

static_assert(is<SizesType (*)(double, double, double)>(&util::compute_arange_out_size));
static_assert(is<SizesType (*)(double)>(&util::compute_arange_out_size));
static_assert(is<void (*)(KernelRuntimeContext&, double, double, double, Tensor&)>(&util::arange_out_impl));
static_assert(is<void (*)(KernelRuntimeContext&, double, Tensor&)>(&util::arange_out_impl));
static_assert(is<void (*)(double, double, double, Tensor&)>(&util::arange_out_impl));
static_assert(is<void (*)(double, Tensor&)>(&util::arange_out_impl));

}  // namespace surface
