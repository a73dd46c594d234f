// SPDX-License-Identifier: BSD-3-Clause
// Lists as kernels take them, and the sizes that functions of the headers for kernels write.
#pragma once

#include <vector>

#include <executorch/runtime/core/exec_aten/exec_aten.h>
#include <executorch/runtime/core/exec_aten/util/tensor_dimension_limit.h>

namespace kernel_util_test {

using Sizes = std::vector<executorch::aten::SizesType>;
using Ints = std::vector<int64_t>;

inline executorch::aten::ArrayRef<int64_t> ref(const Ints& list) {
  return {list.data(), list.size()};
}

/// Calls a function with these arguments and an array, and returns the sizes that it writes to the array.
template <typename Function, typename... Args>
Sizes sizes_of(const Function& function, const Args&... args) {
  executorch::aten::SizesType sizes[executorch::runtime::kTensorDimensionLimit] = {};
  size_t rank = 0;
  function(args..., sizes, &rank);
  return Sizes(sizes, sizes + rank);
}

}  // namespace kernel_util_test
