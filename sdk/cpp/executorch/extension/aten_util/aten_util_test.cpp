// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/extension/aten_util/aten_bridge.h>
#include <executorch/extension/aten_util/make_aten_functor_from_et_functor.h>

#include <ATen/TensorOperators.h>
#include <gtest/gtest.h>

#include <string>
#include <type_traits>
#include <vector>

#include <executorch/extension/kernel_util/make_boxed_from_unboxed_functor.h>
#include <executorch/extension/module/module.h>
#include <executorch/runtime/platform/runtime.h>

#include "paths.h"

namespace aten = executorch::aten;
using executorch::aten::ScalarType;
using executorch::aten::Tensor;
using executorch::extension::alias_attensor_to_etensor;
using executorch::extension::alias_etensor_to_attensor;
using executorch::extension::alias_tensor_ptr_to_attensor;
using executorch::extension::executorch_to_torch_scalar_type;
using executorch::extension::make_tensor_ptr;
using executorch::extension::Module;
using executorch::extension::torch_to_executorch_scalar_type;
using executorch::runtime::Error;
using executorch::runtime::KernelRuntimeContext;

// The documented signatures.
static_assert(std::is_same_v<decltype(&torch_to_executorch_scalar_type), ScalarType (*)(caffe2::TypeMeta)>);
static_assert(std::is_same_v<decltype(&executorch_to_torch_scalar_type), c10::ScalarType (*)(ScalarType)>);
static_assert(std::is_same_v<decltype(&alias_etensor_to_attensor), void (*)(at::Tensor&, Tensor&)>);
static_assert(std::is_same_v<decltype(&alias_attensor_to_etensor), at::Tensor (*)(const Tensor&)>);
static_assert(
    std::is_same_v<decltype(&alias_tensor_ptr_to_attensor), executorch::extension::TensorPtr (*)(at::Tensor&)>);
static_assert(std::is_same_v<decltype(&torch::util::alias_etensor_to_attensor), void (*)(at::Tensor&, Tensor&)>);
static_assert(
    std::is_same_v<decltype(&torch::executor::util::alias_attensor_to_etensor), at::Tensor (*)(const Tensor&)>);

using executorch::tests::kCorpusFolder;

namespace {

class AtenUtilTest : public ::testing::Test {
 protected:
  void SetUp() override { executorch::runtime::runtime_init(); }
};
using AtenUtilDeathTest = AtenUtilTest;

TEST_F(AtenUtilTest, ScalarTypesAreTheSame) {
  EXPECT_EQ(torch_to_executorch_scalar_type(at::ones({1}, at::kFloat).dtype()), ScalarType::Float);
  EXPECT_EQ(torch_to_executorch_scalar_type(at::ones({1}, at::kBFloat16).dtype()), ScalarType::BFloat16);
  EXPECT_EQ(torch_to_executorch_scalar_type(at::ones({1}, at::kBool).dtype()), ScalarType::Bool);
  EXPECT_EQ(executorch_to_torch_scalar_type(ScalarType::Long), at::kLong);
  EXPECT_EQ(torch::util::execuTorchtoTorchScalarType(ScalarType::Half), at::kHalf);
}

TEST_F(AtenUtilTest, TensorsShareMemory) {
  at::Tensor at = at::arange(6, at::kFloat).reshape({2, 3});
  const auto et = alias_tensor_ptr_to_attensor(at);
  ASSERT_EQ(et->const_data_ptr(), at.data_ptr());
  et->mutable_data_ptr<float>()[5] = 7;
  EXPECT_EQ(at[1][2].item<float>(), 7);
  const at::Tensor back = alias_attensor_to_etensor(*et);
  EXPECT_EQ(back.data_ptr(), at.data_ptr());
  EXPECT_TRUE(at::equal(back, at));

  at::Tensor other = at::full({2, 3}, 4.0);
  alias_etensor_to_attensor(other, *et);
  EXPECT_EQ(et->const_data_ptr(), other.data_ptr());
}

TEST_F(AtenUtilTest, DimOrderFollowsTheStrides) {
  at::Tensor at = at::rand({2, 3, 4, 5}).contiguous(at::MemoryFormat::ChannelsLast);
  const auto et = alias_tensor_ptr_to_attensor(at);
  const std::vector<uint8_t> order(et->dim_order().begin(), et->dim_order().end());
  EXPECT_EQ(order, (std::vector<uint8_t>{0, 2, 3, 1}));
  EXPECT_TRUE(at::equal(alias_attensor_to_etensor(*et), at));
}

TEST_F(AtenUtilDeathTest, WhatDoesNotFitIsRefused) {
  at::Tensor at = at::ones({2, 3});
  const auto wrong_sizes = make_tensor_ptr({3, 2}, std::vector<float>(6));
  EXPECT_DEATH(alias_etensor_to_attensor(at, *wrong_sizes), "dimension 0");
  const auto wrong_type = make_tensor_ptr({2, 3}, std::vector<int>(6));
  EXPECT_DEATH(alias_etensor_to_attensor(at, *wrong_type), "Int");
  at::Tensor expanded = at::ones({1, 3}).expand({2, 3});
  EXPECT_DEATH(alias_tensor_ptr_to_attensor(expanded), "not dense");
  at::Tensor elsewhere = at::empty({2, 3}, at::kMeta);
  EXPECT_DEATH(alias_tensor_ptr_to_attensor(elsewhere), "on meta");
  EXPECT_DEATH(torch_to_executorch_scalar_type(caffe2::TypeMeta()), "no dtype");
}

Tensor& scale_out(KernelRuntimeContext& context, const Tensor& x, double factor, std::optional<int64_t> fail,
                  Tensor& out) {
  if (fail.has_value()) {
    context.fail(Error::NotSupported);
    return out;
  }
  for (ssize_t i = 0; i < x.numel(); ++i) {
    out.mutable_data_ptr<float>()[i] = static_cast<float>(x.const_data_ptr<float>()[i] * factor);
  }
  return out;
}

Tensor& add_out(const Tensor& a, const Tensor& b, const aten::Scalar& alpha, Tensor& out) {
  at::Tensor sum = alias_attensor_to_etensor(out);
  sum.copy_(alias_attensor_to_etensor(a) + alias_attensor_to_etensor(b) * alpha.to<double>());
  return out;
}
EXECUTORCH_LIBRARY(aten, "add.out", add_out);

int64_t count(aten::ArrayRef<Tensor> tensors, aten::ArrayRef<int64_t> numbers, const aten::Scalar& scalar) {
  return static_cast<int64_t>(tensors.size() + numbers.size()) + scalar.to<int64_t>();
}

// KR-15
TEST_F(AtenUtilTest, KernelsRunOnAtTensors) {
  const at::Tensor x = at::arange(4, at::kFloat);
  at::Tensor out = at::empty({4});
  at::Tensor& result = WRAP_TO_ATEN(scale_out, 3)(x, 2.0, std::nullopt, out);
  EXPECT_EQ(&result, &out);
  EXPECT_TRUE(at::equal(out, x * 2));

  const at::Tensor transposed = at::arange(6, at::kFloat).reshape({2, 3}).t();
  at::Tensor transposed_out = at::empty({3, 2});
  WRAP_TO_ATEN(scale_out, 3)(transposed.contiguous(), 3.0, std::nullopt, transposed_out);
  EXPECT_TRUE(at::equal(transposed_out, transposed * 3));

  // Tensors with arbitrary strides are read and written correctly.
  at::Tensor expanded_out = at::empty({2, 3});
  WRAP_TO_ATEN(scale_out, 3)(at::ones({1, 1}).expand({2, 3}), 3.0, std::nullopt, expanded_out);
  EXPECT_TRUE(at::equal(expanded_out, at::full({2, 3}, 3.0)));
  at::Tensor every_second = at::zeros({8}).slice(0, 0, 8, 2);
  WRAP_TO_ATEN(scale_out, 3)(x, 3.0, std::nullopt, every_second);
  EXPECT_TRUE(at::equal(every_second, x * 3));
  at::Tensor column_major = at::empty({3, 2}).t();
  WRAP_TO_ATEN(scale_out, 3)(transposed.t(), 3.0, std::nullopt, column_major);
  EXPECT_TRUE(at::equal(column_major, transposed.t() * 3));

  const std::vector<at::Tensor> list = {x, out};
  const std::vector<int64_t> numbers = {1, 2, 3};
  EXPECT_EQ(WRAP_TO_ATEN(count)(list, numbers, at::Scalar(int64_t{10})), 15);
}

TEST_F(AtenUtilTest, KernelsRefuseWhatTheyCannotRead) {
  const at::Tensor x = at::ones({4});
  at::Tensor out = at::empty({4});
  EXPECT_THROW(WRAP_TO_ATEN(scale_out, 3)(x, 2.0, 1, out), c10::Error);  // the kernel fails
  EXPECT_THROW(WRAP_TO_ATEN(scale_out, 3)(at::empty({4}, at::kMeta), 2.0, std::nullopt, out), c10::Error);
}

// RTC-13: a program whose inputs and outputs are at::Tensor, and whose kernel computes with PyTorch.
TEST_F(AtenUtilTest, ProgramsRunOnAtTensors) {
  Module module(std::string(kCorpusFolder) + "/add/model.pte");
  const auto meta = module.method_meta("forward");
  ASSERT_TRUE(meta.ok());
  std::vector<at::Tensor> inputs;
  std::vector<executorch::extension::TensorPtr> aliases;
  std::vector<executorch::runtime::EValue> values;
  for (size_t i = 0; i < meta->num_inputs(); ++i) {
    const auto info = *meta->input_tensor_meta(i);
    const std::vector<int64_t> sizes(info.sizes().begin(), info.sizes().end());
    inputs.push_back(at::rand(sizes).to(executorch_to_torch_scalar_type(info.scalar_type())));
    aliases.push_back(alias_tensor_ptr_to_attensor(inputs.back()));
    values.emplace_back(aliases.back());
  }
  ASSERT_EQ(inputs.size(), 2U);
  const auto outputs = module.forward(values);
  ASSERT_TRUE(outputs.ok());
  EXPECT_TRUE(at::equal(alias_attensor_to_etensor(outputs->at(0).toTensor()), inputs[0] + inputs[1]));
}

}  // namespace
