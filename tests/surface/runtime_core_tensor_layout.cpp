// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/runtime/core/tensor_layout.h>

#include "signatures.h"

namespace surface {

static_assert(is<Result<const TensorLayout> (*)(Span<const int32_t>, Span<const uint8_t>, aten::ScalarType)>(
    &TensorLayout::create));
static_assert(is<Span<const int32_t> (TensorLayout::*)() const>(&TensorLayout::sizes));
static_assert(is<Span<const uint8_t> (TensorLayout::*)() const>(&TensorLayout::dim_order));
static_assert(is<aten::ScalarType (TensorLayout::*)() const>(&TensorLayout::scalar_type));
static_assert(is<size_t (TensorLayout::*)() const>(&TensorLayout::nbytes));

}  // namespace surface
