// SPDX-License-Identifier: BSD-3-Clause
#include <cstdint>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>

#include <executorch/runtime/core/evalue.h>
#include <executorch/runtime/kernel/operator_registry.h>
#include <executorch/runtime/kernel/prim_ops/prim_ops.h>
#include <executorch/runtime/platform/runtime.h>

using executorch::aten::ScalarType;
using executorch::aten::Tensor;
using executorch::aten::TensorImpl;
using executorch::aten::TensorShapeDynamism;
using executorch::runtime::BoxedEvalueList;
using executorch::runtime::Error;
using executorch::runtime::EValue;
using executorch::runtime::KernelRuntimeContext;
using executorch::runtime::Span;

namespace {

/// A contiguous tensor over `data`.
struct TestTensor {
  TestTensor(ScalarType type, std::vector<int32_t> tensor_sizes, void* data,
             TensorShapeDynamism dynamism = TensorShapeDynamism::STATIC)
      : sizes(std::move(tensor_sizes)),
        dim_order(sizes.size()),
        strides(sizes.size(), 1),
        impl(type, static_cast<ssize_t>(sizes.size()), sizes.data(), data, dim_order.data(), strides.data(), dynamism) {
    std::iota(dim_order.begin(), dim_order.end(), uint8_t{0});
  }

  EValue value() { return EValue(Tensor(&impl)); }

  std::vector<int32_t> sizes;
  std::vector<uint8_t> dim_order;
  std::vector<int32_t> strides;
  TensorImpl impl;
};

class TensorOpsTest : public ::testing::Test {
 protected:
  void SetUp() override { executorch::runtime::runtime_init(); }

  Error call(const char* name, std::vector<EValue>& values) {
    std::vector<EValue*> pointers;
    for (auto& value : values) {
      pointers.push_back(&value);
    }
    const auto kernel = executorch::runtime::get_op_function_from_registry(name);
    EXPECT_TRUE(kernel.ok()) << name;
    KernelRuntimeContext context;
    (*kernel)(context, Span<EValue*>(pointers.data(), pointers.size()));
    return context.failure_state();
  }

  template <typename T>
  EValue read_scalar(ScalarType type, T element) {
    TestTensor tensor(type, {1}, &element);
    std::vector<EValue> values{tensor.value(), EValue()};
    EXPECT_EQ(call("aten::_local_scalar_dense", values), Error::Ok);
    return values[1];
  }
};

TEST_F(TensorOpsTest, SizesOfATensor) {
  float data[6] = {};
  TestTensor tensor(ScalarType::Float, {2, 3}, data);
  std::vector<EValue> values{tensor.value(), EValue(int64_t{1}), EValue()};
  ASSERT_EQ(call("aten::sym_size.int", values), Error::Ok);
  EXPECT_EQ(values[2].toInt(), 3);
  values[1] = EValue(int64_t{-2});
  ASSERT_EQ(call("aten::sym_size.int", values), Error::Ok);
  EXPECT_EQ(values[2].toInt(), 2);
  for (const int64_t dim : {int64_t{2}, int64_t{-3}}) {
    values[1] = EValue(dim);
    EXPECT_EQ(call("aten::sym_size.int", values), Error::InvalidArgument);
  }
  std::vector<EValue> numel{tensor.value(), EValue()};
  ASSERT_EQ(call("aten::sym_numel", numel), Error::Ok);
  EXPECT_EQ(numel[1].toInt(), 6);
}

TEST_F(TensorOpsTest, ElementsBecomePythonScalars) {
  EXPECT_EQ(read_scalar(ScalarType::Long, int64_t{-5}).toInt(), -5);
  EXPECT_EQ(read_scalar(ScalarType::Byte, uint8_t{200}).toInt(), 200);
  EXPECT_EQ(read_scalar(ScalarType::Char, int8_t{-3}).toInt(), -3);
  EXPECT_EQ(read_scalar(ScalarType::Float, 0.5f).toDouble(), 0.5);
  EXPECT_EQ(read_scalar(ScalarType::Double, 0.1).toDouble(), 0.1);
  EXPECT_EQ(read_scalar(ScalarType::Half, uint16_t{0x3e00}).toDouble(), 1.5);
  EXPECT_EQ(read_scalar(ScalarType::BFloat16, uint16_t{0x3fc0}).toDouble(), 1.5);
  EXPECT_TRUE(read_scalar(ScalarType::Bool, uint8_t{1}).toBool());
}

TEST_F(TensorOpsTest, OnlyATensorOfOneElementIsAScalar) {
  float data[2] = {};
  TestTensor two(ScalarType::Float, {2}, data);
  TestTensor without_data(ScalarType::Float, {1}, nullptr);
  for (auto* tensor : {&two, &without_data}) {
    std::vector<EValue> values{tensor->value(), EValue()};
    EXPECT_EQ(call("aten::_local_scalar_dense", values), Error::InvalidArgument);
  }
}

TEST_F(TensorOpsTest, ViewSharesDataAndInfersASize) {
  float data[6] = {};
  TestTensor tensor(ScalarType::Float, {2, 3}, data);
  TestTensor out(ScalarType::Float, {6, 6}, nullptr, TensorShapeDynamism::DYNAMIC_BOUND);
  EValue sizes[] = {EValue(int64_t{3}), EValue(int64_t{-1})};
  EValue* wrapped[] = {&sizes[0], &sizes[1]};
  int64_t unwrapped[2];
  BoxedEvalueList<int64_t> list(wrapped, unwrapped, 2);
  std::vector<EValue> values{tensor.value(), EValue(&list), out.value()};
  ASSERT_EQ(call("executorch_prim::et_view.default", values), Error::Ok);
  EXPECT_EQ(out.impl.data(), data);
  EXPECT_EQ(out.impl.sizes()[0], 3);
  EXPECT_EQ(out.impl.sizes()[1], 2);
  // 6 elements are neither a multiple of 4 nor 3 * 3.
  sizes[0] = EValue(int64_t{4});
  EXPECT_EQ(call("executorch_prim::et_view.default", values), Error::InvalidArgument);
  sizes[0] = EValue(int64_t{3});
  sizes[1] = EValue(int64_t{3});
  EXPECT_EQ(call("executorch_prim::et_view.default", values), Error::InvalidArgument);
  sizes[1] = EValue(int64_t{-7});
  EXPECT_EQ(call("executorch_prim::et_view.default", values), Error::InvalidArgument);
}

TEST_F(TensorOpsTest, CopyIndexFillsADynamicTensorFromTheStart) {
  float to_data[6] = {};
  float from_data[2] = {1, 2};
  TestTensor to(ScalarType::Float, {3, 2}, to_data, TensorShapeDynamism::DYNAMIC_BOUND);
  TestTensor from(ScalarType::Float, {2}, from_data);
  std::vector<EValue> values{to.value(), from.value(), EValue(int64_t{0})};
  for (int64_t index = 0; index < 2; ++index) {
    values[2] = EValue(index);
    ASSERT_EQ(call("executorch_prim::et_copy_index.tensor", values), Error::Ok);
    EXPECT_EQ(to.impl.sizes()[0], index + 1);
    EXPECT_EQ(to_data[2 * index], 1);
    EXPECT_EQ(to_data[2 * index + 1], 2);
  }
  for (const int64_t index : {int64_t{3}, int64_t{-1}, INT64_MAX}) {
    values[2] = EValue(index);
    EXPECT_EQ(call("executorch_prim::et_copy_index.tensor", values), Error::InvalidArgument) << index;
  }
}

TEST_F(TensorOpsTest, WrongArgumentsAreRefused) {
  for (const char* name : {"aten::sym_size.int", "aten::sym_numel", "aten::_local_scalar_dense",
                           "executorch_prim::et_copy_index.tensor", "executorch_prim::et_view.default"}) {
    std::vector<EValue> values{EValue(int64_t{1}), EValue(int64_t{1}), EValue(int64_t{1})};
    EXPECT_EQ(call(name, values), Error::InvalidProgram) << name;
    values.clear();
    EXPECT_EQ(call(name, values), Error::InvalidProgram) << name;
  }
}

}  // namespace
