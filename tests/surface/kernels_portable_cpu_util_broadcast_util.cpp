// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/kernels/portable/cpu/util/broadcast_util.h>

#include "signatures.h"

namespace surface {

using executorch::aten::SizesType;
using executorch::aten::Tensor;
using executorch::runtime::Error;
using Sizes = executorch::aten::ArrayRef<SizesType>;
namespace util = torch::executor;

static_assert(is<bool (*)(Sizes, Sizes)>(&util::tensor_is_broadcastable_to));
static_assert(is<bool (*)(const Tensor&, const Tensor&)>(&util::tensor_is_broadcastable_to));
static_assert(is<bool (*)(Sizes, Sizes)>(&util::tensors_are_broadcastable_between));
static_assert(is<bool (*)(const Tensor&, const Tensor&)>(&util::tensors_are_broadcastable_between));
static_assert(is<Error (*)(Sizes, Sizes, SizesType*, size_t, size_t*)>(&util::get_broadcast_target_size));
static_assert(
    is<Error (*)(const Tensor&, const Tensor&, SizesType*, size_t, size_t*)>(&util::get_broadcast_target_size));
static_assert(is<Error (*)(const Tensor&, const Tensor&, Tensor&)>(&util::resize_to_broadcast_target_size));
static_assert(
    is<Error (*)(const Tensor&, const Tensor&, const Tensor&, Tensor&)>(&util::resize_to_broadcast_target_size));
static_assert(is<void (*)(size_t, Sizes, size_t*, size_t)>(&util::delinearize_index));
static_assert(is<void (*)(size_t, const Tensor&, size_t*, size_t)>(&util::delinearize_index));
static_assert(
    is<size_t (*)(executorch::aten::ArrayRef<size_t>, ssize_t, const Tensor&)>(&util::linearize_access_indexes));

/// Calls the functions as vendors' kernels do.
[[maybe_unused]] void add(const Tensor& a, const Tensor& b, const Tensor& out) {
  util::apply_binary_elementwise_fn<float, float, float>([](const float x, const float y) { return x + y; }, a, b, out);
}

}  // namespace surface
