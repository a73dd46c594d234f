// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/extension/evalue_util/print_evalue.h>

#include "signatures.h"

namespace surface {

static_assert(is<std::ostream& (*)(std::ostream&, const EValue&)>(&operator<<));
static_assert(std::is_constructible_v<evalue_edge_items, long>);
namespace aliases {
using ::torch::executor::util::evalue_edge_items;
}  // namespace aliases

}  // namespace surface
