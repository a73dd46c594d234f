// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/kernels/portable/cpu/util/reduce_util.h>

#include "signatures.h"

namespace surface {

using executorch::aten::ScalarType;
using executorch::aten::SizesType;
using executorch::aten::Tensor;
using executorch::runtime::Error;
using Dim = std::optional<int64_t>;
using DimList = std::optional<executorch::aten::ArrayRef<int64_t>>;
namespace util = torch::executor;

static_assert(is<bool (*)(const Tensor&, const DimList&)>(&util::check_dim_list_is_valid));
static_assert(is<bool (*)(size_t, size_t, const executorch::aten::ArrayRef<int64_t>&)>(&util::check_dim_in_dim_list));
static_assert(is<size_t (*)(const Tensor&, const Dim&)>(&util::get_reduced_dim_product));
static_assert(is<size_t (*)(const Tensor&, const DimList&)>(&util::get_reduced_dim_product));
static_assert(is<size_t (*)(const Tensor&, const Dim&)>(&util::get_out_numel));
static_assert(is<size_t (*)(const Tensor&, const DimList&)>(&util::get_out_numel));
static_assert(is<size_t (*)(const Tensor&, const Dim&, size_t)>(&util::get_init_index));
static_assert(is<size_t (*)(const Tensor&, const DimList&, size_t)>(&util::get_init_index));
static_assert(is<size_t (*)(const Tensor&, const Dim&, bool, SizesType*)>(&util::compute_reduced_out_size));
static_assert(is<size_t (*)(const Tensor&, const DimList&, bool, SizesType*)>(&util::compute_reduced_out_size));
static_assert(is<size_t (*)(const Tensor&, int64_t, bool, SizesType*)>(&util::compute_reduced_out_size));
static_assert(is<Error (*)(const Tensor&, const Dim&, bool, Tensor&)>(&util::resize_reduction_out));
static_assert(is<Error (*)(const Tensor&, const DimList&, bool, Tensor&)>(&util::resize_reduction_out));
static_assert(is<Error (*)(const Tensor&, int64_t, bool, Tensor&)>(&util::resize_reduction_out));
static_assert(
    is<bool (*)(const Tensor&, const DimList&, bool, std::optional<ScalarType>, Tensor&)>(&util::check_reduction_args));
static_assert(is<bool (*)(const Tensor&, Dim, bool, std::optional<ScalarType>, Tensor&, bool)>(
    &util::check_reduction_args_single_dim));

/// Calls the function as kernels of vendors do.
[[maybe_unused]] float sum(const Tensor& in, const DimList& dims, size_t i) {
  return util::reduce_over_dim_list<float>([](float next, float so_far) { return next + so_far; }, in, dims, i);
}

}  // namespace surface
