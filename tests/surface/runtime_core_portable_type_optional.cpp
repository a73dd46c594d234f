// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/runtime/core/portable_type/optional.h>

#include "signatures.h"

namespace surface {

using namespace etensor;  // NOLINT

static_assert(std::is_same_v<etensor::optional<int>, std::optional<int>> &&
              std::is_same_v<etensor::nullopt_t, std::nullopt_t>);
static_assert(std::is_same_v<::torch::executor::optional<int>, std::optional<int>>);
static_assert(std::is_same_v<::torch::executor::nullopt_t, std::nullopt_t>);
constexpr std::optional<int> kEmpty = etensor::nullopt, kEmptyToo = ::torch::executor::nullopt;

}  // namespace surface
