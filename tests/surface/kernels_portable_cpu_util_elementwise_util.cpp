// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/kernels/portable/cpu/util/elementwise_util.h>

#include "signatures.h"

namespace surface {

using executorch::aten::ScalarType;
using executorch::aten::Tensor;
namespace util = torch::executor::native::utils;

static_assert(is<ScalarType (*)(ScalarType)>(&util::get_compute_type));

constexpr const char kName[] = "my_ops::add.out";

/// Calls the function in the two ways of vendors' kernels: result dtypes as last arguments or as template arguments.
[[maybe_unused]] void add(torch::executor::KernelRuntimeContext& ctx, const Tensor& a, const Tensor& b,
                          const Tensor& out) {
  using Dtypes = util::SupportedTensorDtypes;
  const auto sum = [](const auto x, const auto y) { return x + y; };
  util::apply_bitensor_elementwise_fn<float, kName>(sum, ctx, a, Dtypes::REALHBBF16, b, Dtypes::REALHBBF16, out,
                                                    Dtypes::REALHBBF16);
  util::apply_bitensor_elementwise_fn<float, kName, Dtypes::REALHBBF16>(sum, ctx, a, Dtypes::REALHBBF16, b,
                                                                        Dtypes::REALHBBF16, out);
}

}  // namespace surface
