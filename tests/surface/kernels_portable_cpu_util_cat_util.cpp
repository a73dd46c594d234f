// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/kernels/portable/cpu/util/cat_util.h>

#include "signatures.h"

namespace surface {

using executorch::aten::ArrayRef;
using executorch::aten::SizesType;
using executorch::aten::Tensor;
namespace util = torch::executor::native;

static_assert(is<bool (*)(ArrayRef<Tensor>, int64_t, Tensor&)>(&util::check_cat_args));
static_assert(is<void (*)(ArrayRef<Tensor>, int64_t, SizesType*, size_t*)>(&util::get_cat_out_target_size));
static_assert(is<Tensor& (*)(KernelRuntimeContext&, ArrayRef<Tensor>, int64_t, Tensor&)>(&util::cat_out_impl));
static_assert(is<Tensor& (*)(ArrayRef<Tensor>, int64_t, Tensor&)>(&util::cat_out_impl));

}  // namespace surface
