// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/extension/delegate/arguments.h>

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include <executorch/extension/tensor/tensor.h>
#include <executorch/runtime/platform/runtime.h>

namespace executorch {
namespace extension {
namespace delegate {
namespace {

using aten::ArrayRef;
using aten::ScalarType;
using runtime::Error;
using runtime::EValue;

constexpr Argument kInput{"Backend", "input", 0};

class DelegateArgumentsTest : public ::testing::Test {
 protected:
  void SetUp() override { runtime::runtime_init(); }

  static Error check(const EValue& value, std::vector<int64_t> sizes) {
    return check_tensor(kInput, value, ScalarType::Float, ArrayRef<int64_t>(sizes.data(), sizes.size()));
  }
};

TEST_F(DelegateArgumentsTest, AProgramThatPassesAnotherNumberIsInvalid) {
  EValue value;
  std::vector<EValue*> args(4, &value);
  for (size_t count = 0; count <= args.size(); ++count) {
    EXPECT_EQ(check_count("Backend", {args.data(), count}, 2, 1), count == 3 ? Error::Ok : Error::InvalidProgram);
  }
}

TEST_F(DelegateArgumentsTest, TensorsHaveADtypeAShapeAndAnOrder) {
  const auto tensor = make_tensor_ptr({2, 3}, std::vector<float>(6));
  EXPECT_EQ(check(tensor, {2, 3}), Error::Ok);
  EXPECT_EQ(check(EValue(int64_t{6}), {2, 3}), Error::InvalidArgument);
  EXPECT_EQ(check(EValue(), {2, 3}), Error::InvalidArgument);
  EXPECT_EQ(check(make_tensor_ptr({2, 3}, std::vector<int32_t>(6)), {2, 3}), Error::InvalidArgument);
  for (const std::vector<int64_t>& other :
       {std::vector<int64_t>{3, 2}, {6}, {2, 3, 1}, {}, {2, int64_t{3} + (1LL << 32)}}) {
    EXPECT_EQ(check(tensor, other), Error::InvalidArgument);
  }
  const auto transposed = make_tensor_ptr({2, 3}, std::vector<float>(6), {1, 0}, {1, 2});
  EXPECT_EQ(check(transposed, {2, 3}), Error::InvalidArgument);
}

TEST_F(DelegateArgumentsTest, ATensorWithoutDimensionsIsOneElement) {
  const auto scalar = make_tensor_ptr(std::vector<aten::SizesType>{}, std::vector<float>(1));
  EXPECT_EQ(check(scalar, {}), Error::Ok);
  EXPECT_EQ(check(scalar, {1}), Error::Ok);
  EXPECT_EQ(check(scalar, {2}), Error::InvalidArgument);
  EXPECT_EQ(check(scalar, {1, 1}), Error::InvalidArgument);
}

TEST_F(DelegateArgumentsTest, ExpectedShapesBecomeTextForTheMessageOnly) {
  const auto tensor = make_tensor_ptr({2}, std::vector<float>(2));
  int calls = 0;
  const auto text = [&] { return ++calls, std::string("at most (1,)"); };
  EXPECT_EQ(check_shape(kInput, *tensor, true, text), Error::Ok);
  EXPECT_EQ(calls, 0);
  EXPECT_EQ(check_shape(kInput, *tensor, false, text), Error::InvalidArgument);
}

TEST_F(DelegateArgumentsTest, OutputsGetTheShapeOfTheResultWithinTheirMemory) {
  const auto tensor =
      make_tensor_ptr({4}, std::vector<float>(4), {}, {}, ScalarType::Float, aten::TensorShapeDynamism::DYNAMIC_BOUND);
  const auto resize = [&](std::vector<int64_t> sizes) {
    return resize_output({"Backend", "output", 0}, *tensor, ArrayRef<int64_t>(sizes.data(), sizes.size()));
  };
  EXPECT_EQ(resize({3}), Error::Ok);
  EXPECT_EQ(tensor->size(0), 3);
  for (const std::vector<int64_t>& other : {std::vector<int64_t>{5}, {-1}, {2, 2}, {(1LL << 32) + 3}}) {
    EXPECT_EQ(resize(other), Error::InvalidArgument);
    EXPECT_EQ(tensor->size(0), 3);
  }
}

}  // namespace
}  // namespace delegate
}  // namespace extension
}  // namespace executorch
