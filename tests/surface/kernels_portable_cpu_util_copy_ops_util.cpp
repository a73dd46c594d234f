// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/kernels/portable/cpu/util/copy_ops_util.h>

#include "signatures.h"

namespace surface {

using executorch::aten::ArrayRef;
using executorch::aten::IntArrayRef;
using executorch::aten::MemoryFormat;
using executorch::aten::OptionalArrayRef;
using executorch::aten::SizesType;
using executorch::aten::Tensor;
using executorch::aten::TensorList;
namespace util = torch::executor;
using Ints = ArrayRef<int64_t>;

static_assert(
    is<bool (*)(const Tensor&, Ints, Ints, std::optional<int64_t>, Tensor&)>(&util::check_as_strided_copy_args));
static_assert(is<void (*)(const Tensor&, Ints, Ints, int64_t, Tensor&)>(&util::as_strided_copy<float>));
static_assert(is<bool (*)(ArrayRef<Tensor>, int64_t, Tensor&)>(&util::check_cat_args));
static_assert(is<void (*)(ArrayRef<Tensor>, int64_t, SizesType*, size_t*)>(&util::get_cat_out_target_size));
static_assert(is<bool (*)(const Tensor&, Ints, bool, Tensor&)>(&util::check_expand_copy_args));
static_assert(is<bool (*)(ArrayRef<SizesType>, Ints, SizesType*, size_t*)>(&util::get_expand_copy_out_target_size));
static_assert(is<bool (*)(const Tensor&, IntArrayRef, Tensor&)>(&util::check_permute_copy_args));
static_assert(is<void (*)(const Tensor&, IntArrayRef, SizesType*, size_t*)>(&util::get_permute_copy_out_target_size));
static_assert(is<bool (*)(const Tensor&, int64_t, TensorList)>(&util::check_unbind_copy_args));
static_assert(is<bool (*)(const Tensor&, int64_t, Tensor&)>(&util::check_pixel_shuffle_args));
static_assert(is<bool (*)(const Tensor&, int64_t, Tensor&)>(&util::check_pixel_unshuffle_args));
using TargetSize = void (*)(const Tensor&, int64_t, SizesType*, size_t*);
static_assert(is<TargetSize>(&util::get_pixel_shuffle_out_target_size));
static_assert(is<TargetSize>(&util::get_pixel_unshuffle_out_target_size));
static_assert(is<bool (*)(const Tensor&, int64_t, int64_t, Tensor&)>(&util::check_select_copy_out_args));
static_assert(is<TargetSize>(&util::get_select_copy_out_target_size));
static_assert(is<bool (*)(const Tensor&, Ints, int64_t, TensorList)>(&util::check_split_with_sizes_copy_args));
static_assert(is<void (*)(const Tensor&, int64_t, int64_t, SizesType*, size_t*)>(
    &util::get_split_with_sizes_copy_out_target_size));
static_assert(is<bool (*)(const Tensor, int64_t, const Tensor)>(&util::check_squeeze_copy_dim_args));
static_assert(is<void (*)(const Tensor, int64_t, SizesType*, size_t*)>(&util::get_squeeze_copy_dim_out_target_size));
static_assert(is<bool (*)(const Tensor, const Ints, const Tensor)>(&util::check_squeeze_copy_dims_args));
static_assert(
    is<void (*)(const Tensor, const Ints, SizesType*, size_t*)>(&util::get_squeeze_copy_dims_out_target_size));
static_assert(is<bool (*)(ArrayRef<Tensor>, int64_t, Tensor&)>(&util::check_stack_args));
static_assert(is<void (*)(ArrayRef<Tensor>, int64_t, SizesType*, size_t*)>(&util::get_stack_out_target_size));
static_assert(is<bool (*)(const Tensor&, Tensor&)>(&util::check_tril_args));
static_assert(is<bool (*)(const Tensor&, int64_t, int64_t, TensorList)>(&util::check_split_copy_args));
static_assert(is<bool (*)(const Tensor&, bool, std::optional<MemoryFormat>, Tensor&)>(&util::check_to_copy_args));
static_assert(
    is<bool (*)(const Tensor&, bool, OptionalArrayRef<int64_t>, Tensor&)>(&util::check__to_dim_order_copy_args));
static_assert(is<bool (*)(const Tensor, int64_t, const Tensor)>(&util::check_unsqueeze_copy_args));
static_assert(is<bool (*)(const Tensor&, Ints, Tensor&)>(&util::check_view_copy_args));
static_assert(is<bool (*)(const Tensor, Ints, int64_t, SizesType*)>(&util::get_view_copy_target_size));
static_assert(is<bool (*)(const Tensor&, int64_t, int64_t, Tensor&)>(&util::check_diagonal_copy_args));
static_assert(is<void (*)(const Tensor&, int64_t, int64_t, int64_t, SizesType*, size_t*)>(
    &util::get_diagonal_copy_out_target_size));

}  // namespace surface
