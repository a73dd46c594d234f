// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/kernels/portable/cpu/util/advanced_index_util.h>

#include "signatures.h"

namespace surface {

using executorch::aten::SizesType;
using executorch::aten::Tensor;
namespace util = torch::executor;
using List = util::TensorOptList;
using Count = size_t (*)(List);

static_assert(is<bool (*)(const Tensor&, List, Tensor&)>(&util::check_index_args));
static_assert(is<Count>(&util::count_index_blocks) && is<Count>(&util::get_indices_broadcast_ndim));
static_assert(is<Count>(&util::get_num_indexed_dims) && is<Count>(&util::get_num_null_indices));
static_assert(is<Count>(&util::get_num_leading_null_indices));
static_assert(is<size_t (*)(const Tensor&)>(&util::count_trues_in_mask_index));
static_assert(is<bool (*)(List, SizesType*, size_t*)>(&util::get_indices_broadcast_shape));
static_assert(is<bool (*)(const Tensor&, List, bool, SizesType*, size_t*)>(&util::get_index_out_target_size));
static_assert(is<void (*)(const Tensor&, List, int32_t*, bool)>(&util::compute_dim_map));
static_assert(is<void (*)(const Tensor&, List, int32_t*)>(&util::compute_index_map));
static_assert(
    is<bool (*)(const Tensor&, List, size_t, size_t, int32_t*, int32_t*, size_t*, size_t*)>(&util::get_in_coord));
static_assert(is<std::pair<size_t, bool> (*)(const Tensor&, List, Tensor&, size_t, size_t, size_t, int32_t*, int32_t*)>(
    &util::get_in_ix));

}  // namespace surface
