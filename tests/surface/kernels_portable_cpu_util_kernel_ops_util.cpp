// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/kernels/portable/cpu/util/kernel_ops_util.h>

#include "signatures.h"

namespace surface {

using executorch::aten::DimOrderType;
using executorch::aten::ScalarType;
using executorch::aten::SizesType;
using executorch::aten::Tensor;
namespace util = torch::executor;
using Ints = executorch::aten::IntArrayRef;
using OptionalTensor = std::optional<Tensor>;
using Scalar = executorch::aten::Scalar;

static_assert(is<int64_t (*)(Ints, size_t, int64_t)>(&util::val_at) &&
              is<bool (*)(Ints, int64_t)>(&util::int_array_all_ge));
static_assert(is<bool (*)(Ints, size_t)>(&util::kernel_size_is_valid));
static_assert(is<bool (*)(Ints, size_t, bool)>(&util::stride_is_valid));
static_assert(is<bool (*)(Ints, Ints, size_t, bool)>(&util::padding_is_valid));
static_assert(is<bool (*)(Ints, size_t)>(&util::dilation_is_valid));
static_assert(is<bool (*)(Ints, Ints, Ints, size_t)>(&util::output_padding_is_valid));
static_assert(is<bool (*)(executorch::aten::ArrayRef<SizesType>, size_t)>(&util::output_size_is_valid));
static_assert(is<void (*)(const Tensor&, int64_t, SizesType*, size_t&)>(&util::get_unsqueezed_sizes));
static_assert(is<void (*)(const Tensor&, DimOrderType, DimOrderType*)>(&util::get_unsqueezed_dim_order));
static_assert(is<void (*)(const Tensor&, size_t, Ints, Ints, Ints, Ints, SizesType*, bool, bool, Ints)>(
    &util::calculate_kernel_output_sizes));
static_assert(is<bool (*)(double, double, double, Tensor&)>(&util::check_arange_args));
static_assert(is<bool (*)(const Tensor&, Ints, Ints, Ints, bool, bool, const std::optional<int64_t>&, const Tensor&)>(
    &util::check_avg_pool2d_args));
static_assert(
    is<void (*)(const Tensor&, Ints, Ints, Ints, bool, SizesType*, size_t*)>(&util::get_avg_pool2d_out_target_size));
static_assert(is<bool (*)(const Tensor&, const Tensor&, const OptionalTensor&, Ints, Ints, Ints, bool, Ints, int64_t,
                          const Tensor&)>(&util::check_convolution_args));
static_assert(is<void (*)(const Tensor&, const Tensor&, Ints, Ints, Ints, bool, Ints, int64_t, SizesType*, size_t*)>(
    &util::get_convolution_out_target_size));
static_assert(is<bool (*)(const Tensor&, int64_t, std::optional<ScalarType>, Tensor&)>(&util::check_cumsum_args));
static_assert(is<bool (*)(const Tensor&, Ints, Ints, Ints, Ints, bool, const Tensor&, const Tensor&)>(
    &util::check_max_pool2d_with_indices_args));
static_assert(is<void (*)(const Tensor&, Ints, Ints, Ints, Ints, bool, SizesType*, size_t*)>(
    &util::get_max_pool2d_with_indices_out_target_size));
static_assert(is<bool (*)(const Tensor&, const Tensor&, const Scalar&, Tensor&)>(&util::check_masked_fill_args));
static_assert(is<bool (*)(const Tensor&, Ints, const Scalar&, Tensor&)>(&util::check_constant_pad_args));
static_assert(is<Error (*)(const Tensor&, Ints, Tensor&)>(&util::resize_constant_pad_output));
static_assert(is<bool (*)(const Tensor&, const Tensor&, const Tensor&)>(&util::check_embedding_args));
static_assert(is<Error (*)(const Tensor&, const Tensor&, const Tensor&)>(&util::resize_embedding_output));
static_assert(is<bool (*)(ScalarType, ScalarType)>(&util::check_alpha_type));

}  // namespace surface
