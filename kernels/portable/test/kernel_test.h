// SPDX-License-Identifier: BSD-3-Clause
// The fixture and the helpers of all operators' tests.
#pragma once

#include <executorch/runtime/core/exec_aten/testing_util/tensor_factory.h>
#include <executorch/runtime/core/exec_aten/testing_util/tensor_util.h>
#include <executorch/runtime/kernel/kernel_runtime_context.h>
#include <executorch/runtime/platform/runtime.h>
#include <gtest/gtest.h>
#include <kernels/portable/NativeFunctions.h>

#include <cmath>
#include <limits>
#include <vector>

namespace torch::executor::native {

using executorch::aten::ArrayRef;
using executorch::aten::Scalar;
using executorch::aten::ScalarType;
using executorch::aten::Tensor;
using executorch::runtime::Error;
using executorch::runtime::KernelRuntimeContext;
using executorch::runtime::TensorShapeDynamism;
using executorch::runtime::testing::TensorFactory;

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// A test of operators: `ctx` is the context to call kernels with. It must have no failure when the test ends;
/// expect_failure() clears an expected one.
class KernelTest : public ::testing::Test {
 protected:
  void SetUp() override { executorch::runtime::runtime_init(); }
  void TearDown() override { EXPECT_EQ(ctx.failure_state(), Error::Ok); }

  /// The call before must have failed; clears the failure.
  void expect_failure(Error error = Error::InvalidArgument) {
    EXPECT_EQ(ctx.failure_state(), error);
    ctx = KernelRuntimeContext();
  }

  KernelRuntimeContext ctx;
};

/// `count` small numbers that follow no pattern of strides: ((7 i + seed) mod 13 - 6) / 4, exact in every
/// floating-point type.
inline std::vector<float> sample_values(size_t count, int seed = 0) {
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i) {
    values[i] = static_cast<float>(static_cast<int>((7 * i + static_cast<size_t>(seed)) % 13) - 6) / 4.0f;
  }
  return values;
}

}  // namespace torch::executor::native
