// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/extension/flat_tensor/serialize/serialize.h>

#include "signatures.h"

namespace surface {

static_assert(is<runtime::Error (*)(const std::string&, const std::map<std::string, aten::Tensor>&, const size_t)>(
    &flat_tensor::save_ptd));
static_assert(is<runtime::Error (*)(std::ostream&, const std::map<std::string, aten::Tensor>&, const size_t)>(
    &flat_tensor::save_ptd));
static_assert(flat_tensor::kSchemaVersion == 0);

}  // namespace surface
