// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/kernels/portable/cpu/util/operator_name.h>

#include "signatures.h"

namespace surface {

/// An operator's name can be a template argument.
template <ET_OPERATOR_NAME_TYPE name>
constexpr ET_OPERATOR_NAME_TYPE kName = name;
inline constexpr char kAdd[] = "add.out";
static_assert(kName<kAdd> == kAdd);

}  // namespace surface
