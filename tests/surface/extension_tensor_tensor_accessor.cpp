// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/extension/tensor/tensor_accessor.h>

#include "signatures.h"

namespace surface {

using Accessor = TensorAccessor<float, 2>;
using Row = TensorAccessor<float, 1>;
static_assert(is<Row (Accessor::*)(ssize_t)>(&Accessor::operator[]));
static_assert(is<const Row (Accessor::*)(ssize_t) const>(&Accessor::operator[]));
static_assert(is<float& (Row::*)(ssize_t)>(&Row::operator[]));
static_assert(is<const float& (Row::*)(ssize_t) const>(&Row::operator[]));
static_assert(is<Result<Accessor> (*)(const aten::Tensor&)>(&make_tensor_accessor<float, 2>));

}  // namespace surface
