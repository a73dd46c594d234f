// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/kernels/portable/cpu/util/broadcast_indexes_range.h>

#include "signatures.h"

namespace surface {

using executorch::aten::Tensor;
using Range = torch::executor::BroadcastIndexesRange<2>;

static_assert(std::is_constructible_v<Range, const Tensor&, const Tensor&, const Tensor&>);
static_assert(std::is_same_v<decltype(*make<Range>().begin()), const std::array<ssize_t, 3>&>);
static_assert(std::is_same_v<decltype(make<Range>().end() - make<Range>().begin()), ssize_t>);
using Noncontiguous = torch::executor::BroadcastIndexesRange<1, /*support_noncontiguous_output=*/true>;
static_assert(std::is_same_v<Noncontiguous::iterator::value_type, std::array<ssize_t, 2>>);

}  // namespace surface
