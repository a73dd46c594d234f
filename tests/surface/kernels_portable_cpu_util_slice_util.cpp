// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/kernels/portable/cpu/util/slice_util.h>

#include "signatures.h"

namespace surface {

using executorch::aten::SizesType;
using executorch::aten::Tensor;
using executorch::runtime::KernelRuntimeContext;
namespace util = torch::executor;

static_assert(is<bool (*)(const Tensor&, int64_t, int64_t, int64_t, Tensor&)>(&util::check_narrow_copy_args));
static_assert(
    is<void (*)(const Tensor&, int64_t, int64_t, SizesType*, size_t*)>(&util::get_narrow_copy_out_target_size));
static_assert(is<bool (*)(const Tensor&, int64_t, int64_t, Tensor&)>(&util::check_slice_copy_args));
static_assert(
    is<void (*)(const Tensor&, int64_t, int64_t, SizesType*, size_t*)>(&util::get_slice_copy_out_target_size));
static_assert(
    is<bool (*)(const Tensor&, const Tensor&, int64_t, int64_t, int64_t, Tensor)>(&util::check_slice_scatter_args));
static_assert(is<int64_t (*)(int64_t, int64_t*, int64_t*, int64_t)>(&util::adjust_slice_indices));
static_assert(is<void (*)(KernelRuntimeContext&, const Tensor&, int64_t, int64_t, int64_t, int64_t, Tensor&)>(
    &util::compute_slice));

}  // namespace surface
