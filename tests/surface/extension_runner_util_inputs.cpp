// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/extension/runner_util/inputs.h>

#include "signatures.h"

namespace surface {

static_assert(std::is_constructible_v<BufferCleanup, Span<void*>>);
static_assert(std::is_constructible_v<BufferCleanup, BufferCleanup&&>);
static_assert(std::is_destructible_v<BufferCleanup>);
static_assert(std::is_same_v<decltype(PrepareInputTensorsOptions::max_total_allocation_size), size_t>);
static_assert(std::is_same_v<decltype(PrepareInputTensorsOptions::max_inputs), size_t>);
static_assert(is<Result<BufferCleanup> (*)(Method&, PrepareInputTensorsOptions,
                                           const std::vector<std::pair<char*, size_t>>&)>(&prepare_input_tensors));
using prepare_input_tensors_default = decltype(prepare_input_tensors(make<Method&>()));
using aliases_Method = ::executorch::extension::Method;
using aliases_TensorInfo = ::executorch::extension::TensorInfo;
namespace aliases {
using ::torch::executor::util::BufferCleanup;
using ::torch::executor::util::prepare_input_tensors;
}  // namespace aliases

}  // namespace surface
