// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/runtime/kernel/test/test_util.h>

#include "signatures.h"

namespace surface {

using Tensors = std::vector<std::pair<aten::ScalarType, std::vector<aten::DimOrderType>>>;
static_assert(is<Error (*)(const Tensors&, char*, size_t)>(&runtime::testing::make_kernel_key));

}  // namespace surface
