// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/runtime/core/exec_aten/testing_util/tensor_util.h>

#include "signatures.h"

namespace surface {

using aten::Tensor;
using Atol = std::optional<double>;
static_assert(is<bool (*)(const Tensor&, const Tensor&, double, Atol)>(&runtime::testing::tensors_are_close));
static_assert(is<bool (*)(const Tensor&, const Tensor&, double, Atol)>(&runtime::testing::tensor_data_is_close));
static_assert(is<bool (*)(const Tensor*, size_t, const Tensor*, size_t, double, Atol)>(
    &runtime::testing::tensor_lists_are_close));
static_assert(is<std::ostream& (*)(std::ostream&, const aten::ScalarType&)>(&runtime::etensor::operator<<));
static_assert(is<std::ostream& (*)(std::ostream&, const Tensor&)>(&runtime::etensor::operator<<));

/// Uses every macro once.
[[maybe_unused]] void use(const Tensor& a, const Tensor& b) {
  EXPECT_TENSOR_EQ(a, b);
  EXPECT_TENSOR_NE(a, b);
  ASSERT_TENSOR_EQ(a, b);
  ASSERT_TENSOR_NE(a, b);
  EXPECT_TENSOR_CLOSE(a, b);
  EXPECT_TENSOR_NOT_CLOSE(a, b);
  EXPECT_TENSOR_CLOSE_WITH_TOL(a, b, 1e-3, 1e-3);
  EXPECT_TENSOR_DATA_EQ(a, b);
  EXPECT_TENSOR_DATA_CLOSE(a, b);
  const std::vector<Tensor> list = {a, b};
  EXPECT_TENSOR_LISTS_EQ(list, list);
  EXPECT_TENSOR_LISTS_CLOSE(list, list);
  EXPECT_THAT(a, ::torch::executor::testing::IsCloseTo(b));
  EXPECT_THAT(a, ::torch::executor::testing::IsCloseToWithTol(b, 1e-3, 1e-3));
  EXPECT_THAT(a, ::torch::executor::testing::IsEqualTo(b));
}

}  // namespace surface
