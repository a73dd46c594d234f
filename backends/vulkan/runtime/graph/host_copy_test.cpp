// SPDX-License-Identifier: BSD-3-Clause
// Conversions of elements on the processor.
#include "graph/host_copy.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include <executorch/runtime/platform/runtime.h>

namespace executorch {
namespace backends {
namespace vulkan {
namespace {

using aten::ScalarType;

/// Copies these floats out of the GPU to a tensor of the dtype.
template <typename T>
std::vector<T> copied(std::vector<float> numbers, ScalarType dtype) {
  std::vector<T> out(numbers.size());
  aten::SizesType sizes[] = {static_cast<aten::SizesType>(numbers.size())};
  aten::DimOrderType order[] = {0};
  aten::StridesType strides[] = {1};
  aten::TensorImpl impl(dtype, 1, sizes, out.data(), order, strides);
  aten::Tensor tensor(&impl);
  EXPECT_EQ(copy_out(numbers.data(), Kind::Float, tensor), runtime::Error::Ok);
  return out;
}

// A program may announce another dtype than its delegate computes. C++ leaves such conversions undefined.
TEST(HostCopyTest, NumbersThatAnIntegerDoesNotHoldBecomeTheNearest) {
  runtime::runtime_init();
  const float inf = std::numeric_limits<float>::infinity();
  const std::vector<float> numbers = {std::nanf(""), inf, -inf, 1e20f, -1e20f, 2.9f, -2.9f, 2147483648.0f, 300, -0.5f};
  EXPECT_EQ(copied<int32_t>(numbers, ScalarType::Int),
            (std::vector<int32_t>{0, INT32_MAX, INT32_MIN, INT32_MAX, INT32_MIN, 2, -2, INT32_MAX, 300, 0}));
  EXPECT_EQ(copied<int64_t>(numbers, ScalarType::Long),
            (std::vector<int64_t>{0, INT64_MAX, INT64_MIN, INT64_MAX, INT64_MIN, 2, -2, int64_t{1} << 31, 300, 0}));
  EXPECT_EQ(copied<uint8_t>(numbers, ScalarType::Byte), (std::vector<uint8_t>{0, 255, 0, 255, 0, 2, 0, 255, 255, 0}));
  EXPECT_EQ(copied<int8_t>(numbers, ScalarType::Char),
            (std::vector<int8_t>{0, 127, -128, 127, -128, 2, -2, 127, 127, 0}));
}

TEST(HostCopyTest, SizesOfATensor) {
  EXPECT_TRUE(fit_tensor({}));
  EXPECT_TRUE(fit_tensor({1 << 15, 0, 1 << 15}));
  EXPECT_FALSE(fit_tensor({1 << 15, 0, 1 << 16}));
  EXPECT_FALSE(fit_tensor({-1}));
  EXPECT_FALSE(fit_tensor({INT64_MAX, INT64_MAX}));
  EXPECT_EQ(count_of({3, 4, 5}), 60);
  EXPECT_EQ(count_of({INT64_MAX, INT64_MAX, 0}), 0);
  EXPECT_EQ(count_of({INT64_MAX, 180, 7}), int64_t{1} << 62);
}

}  // namespace
}  // namespace vulkan
}  // namespace backends
}  // namespace executorch
