// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/kernels/portable/cpu/scalar_utils.h>

#include "signatures.h"

namespace surface {

using executorch::aten::Scalar;
using executorch::aten::ScalarType;
namespace utils = torch::executor::native::utils;

static_assert(is<ScalarType (*)(const Scalar&)>(&utils::get_scalar_dtype));
static_assert(is<ScalarType (*)(ScalarType, const Scalar&, bool)>(&utils::promote_type_with_scalar));
static_assert(is<double (*)(const Scalar&)>(&utils::scalar_to<double>));
static_assert(is<bool (*)(const Scalar&, int64_t*)>(&utils::extract_scalar<int64_t>));
static_assert(is<bool (*)(const Scalar&, double*)>(&utils::extract_scalar<double>));
static_assert(is<bool (*)(const Scalar&, bool*)>(&utils::extract_scalar<bool>));

}  // namespace surface
