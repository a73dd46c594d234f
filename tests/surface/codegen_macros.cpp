// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/codegen/macros.h>

#include "signatures.h"

namespace surface {

/// Marked as the generator marks functions.
TORCH_API constexpr bool is_marked() {
  return true;
}
static_assert(is_marked());

}  // namespace surface
