// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/kernels/portable/cpu/util/padding_util.h>

#include "signatures.h"

namespace surface {

using executorch::aten::SizesType;
using executorch::aten::Tensor;
namespace util = torch::executor;
using Ints = executorch::aten::ArrayRef<int64_t>;
using Index = int64_t (*)(int64_t, int64_t, int64_t);
using Pad = void (*)(const Index&, const Tensor&, Tensor&, Ints);

static_assert(is<bool (*)(int64_t, const Tensor&, Ints, Tensor&, bool)>(&util::check_padding_args));
static_assert(is<void (*)(int64_t, const Tensor&, Ints, SizesType*, size_t*)>(&util::get_padding_out_target_size));
static_assert(is<Index>(&util::replication_ix) && is<Index>(&util::reflection_ix));
static_assert(is<Pad>(&util::pad1d<float, Index>) && is<Pad>(&util::pad2d<float, Index>));
static_assert(is<Pad>(&util::pad3d<float, Index>));

}  // namespace surface
