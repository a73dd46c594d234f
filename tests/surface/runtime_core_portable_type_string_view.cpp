// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/runtime/core/portable_type/string_view.h>

#include "signatures.h"

namespace surface {

using namespace etensor;  // NOLINT

static_assert(std::is_same_v<etensor::string_view, std::string_view> &&
              std::is_same_v<::torch::executor::string_view, std::string_view>);

}  // namespace surface
