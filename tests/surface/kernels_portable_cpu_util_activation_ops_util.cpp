// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/kernels/portable/cpu/util/activation_ops_util.h>

#include "signatures.h"

namespace surface {

using executorch::aten::Tensor;
using executorch::runtime::Error;
namespace util = torch::executor;

static_assert(is<bool (*)(const Tensor&, std::string_view, Tensor&)>(&util::check_gelu_args));
static_assert(is<bool (*)(const Tensor&, int64_t, Tensor&)>(&util::check_glu_args));
static_assert(is<bool (*)(const Tensor&, int64_t, bool, Tensor&)>(&util::check_log_softmax_args));
static_assert(is<bool (*)(const Tensor&, int64_t, bool, Tensor&)>(&util::check_softmax_args));
static_assert(is<Error (*)(const Tensor&, int64_t, Tensor&)>(&util::resize_glu_out));

}  // namespace surface
