// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/extension/kernel_util/make_boxed_from_unboxed_functor.h>

#include <string_view>
#include <tuple>

#include <gtest/gtest.h>

#include <executorch/runtime/core/exec_aten/testing_util/tensor_factory.h>
#include <executorch/runtime/platform/runtime.h>

namespace aten = executorch::aten;
using executorch::aten::ArrayRef;
using executorch::aten::ScalarType;
using executorch::aten::Tensor;
using executorch::runtime::BoxedEvalueList;
using executorch::runtime::Error;
using executorch::runtime::EValue;
using executorch::runtime::get_op_function_from_registry;
using executorch::runtime::KernelRuntimeContext;
using executorch::runtime::Span;
using executorch::runtime::testing::TensorFactory;

namespace {

Tensor& scale_out(const Tensor& x, double factor, Tensor& out) {
  for (ssize_t i = 0; i < x.numel(); ++i) {
    out.mutable_data_ptr<float>()[i] = static_cast<float>(x.const_data_ptr<float>()[i] * factor);
  }
  return out;
}

Tensor& fail_out(KernelRuntimeContext& context, std::optional<int64_t> code, Tensor& out) {
  if (code.has_value()) {
    context.fail(static_cast<Error>(*code));
  }
  return out;
}

int64_t seen = 0;

void everything(int64_t i, bool b, const aten::Scalar& s, std::string_view text, ScalarType type,
                ArrayRef<int64_t> ints, ArrayRef<double> doubles, ArrayRef<bool> bools, ArrayRef<Tensor> tensors,
                ArrayRef<std::optional<Tensor>> optionals, std::optional<ArrayRef<int64_t>> no_ints,
                const std::optional<Tensor>& no_tensor) {
  seen = i + b + s.to<int64_t>() + static_cast<int64_t>(text.size()) + static_cast<int64_t>(type) + ints[1] +
         static_cast<int64_t>(doubles[0]) + bools[0] + tensors[0].numel() + optionals[1]->numel() +
         optionals[0].has_value() + no_ints.has_value() + no_tensor.has_value();
}

EXECUTORCH_LIBRARY(kernel_util_test, "scale.out", scale_out);
EXECUTORCH_LIBRARY(kernel_util_test, "fail.out", fail_out);
EXECUTORCH_LIBRARY(kernel_util_test, "everything", everything);

template <size_t N>
Error call(const char* name, EValue* (&stack)[N]) {
  const auto kernel = get_op_function_from_registry(name);
  EXPECT_TRUE(kernel.ok()) << name;
  KernelRuntimeContext context;
  (*kernel)(context, Span<EValue*>(stack));
  return context.failure_state();
}

class MakeBoxedTest : public ::testing::Test {
 protected:
  void SetUp() override { executorch::runtime::runtime_init(); }

  TensorFactory<ScalarType::Float> tf_;
};

// KR-14, document 123
TEST_F(MakeBoxedTest, CallsTheFunction) {
  EValue x(tf_.make({2}, {1.5, -2})), factor(2.0), out(tf_.zeros({2}));
  EValue* stack[] = {&x, &factor, &out, &out};
  ASSERT_EQ(call("kernel_util_test::scale.out", stack), Error::Ok);
  EXPECT_EQ(out.toTensor().const_data_ptr<float>()[0], 3.0f);
  EXPECT_EQ(out.toTensor().const_data_ptr<float>()[1], -4.0f);

  EValue* without_result[] = {&x, &factor, &out};
  EXPECT_EQ(call("kernel_util_test::scale.out", without_result), Error::Ok);
}

TEST_F(MakeBoxedTest, RefusesOtherArguments) {
  EValue x(tf_.ones({2})), factor(2.0), out(tf_.zeros({2}));
  EValue* too_few[] = {&x, &out};
  EXPECT_EQ(call("kernel_util_test::scale.out", too_few), Error::InvalidProgram);
  EValue* swapped[] = {&factor, &x, &out, &out};
  EXPECT_EQ(call("kernel_util_test::scale.out", swapped), Error::InvalidProgram);
}

TEST_F(MakeBoxedTest, PassesTheContext) {
  EValue code(static_cast<int64_t>(Error::NotSupported)), none, out(tf_.zeros({2}));
  EValue* stack[] = {&code, &out, &out};
  EXPECT_EQ(call("kernel_util_test::fail.out", stack), Error::NotSupported);
  EValue* without[] = {&none, &out, &out};
  EXPECT_EQ(call("kernel_util_test::fail.out", without), Error::Ok);
}

TEST_F(MakeBoxedTest, TakesEveryTypeOfArgument) {
  EValue i(int64_t{1}), b(true), s(int64_t{3}), type(static_cast<int64_t>(ScalarType::Float)), none;
  char letters[] = "four";
  ArrayRef<char> text_chars(letters, 4);
  EValue text(&text_chars);
  EValue seven(int64_t{7}), eight(int64_t{8});
  EValue* wrapped_ints[] = {&seven, &eight};
  int64_t unwrapped_ints[2] = {};
  BoxedEvalueList<int64_t> int_list(wrapped_ints, unwrapped_ints, 2);
  EValue ints(&int_list);
  double double_values[] = {16.0};
  ArrayRef<double> double_list(double_values, 1);
  EValue doubles(&double_list);
  bool bool_values[] = {true};
  ArrayRef<bool> bool_list(bool_values, 1);
  EValue bools(&bool_list);
  EValue tensor(tf_.zeros({32}));
  EValue* wrapped_tensors[] = {&tensor};
  Tensor unwrapped_tensors[] = {Tensor(nullptr)};
  BoxedEvalueList<Tensor> tensor_list(wrapped_tensors, unwrapped_tensors, 1);
  EValue tensors(&tensor_list);
  EValue* wrapped_optionals[] = {nullptr, &tensor};
  std::optional<Tensor> unwrapped_optionals[2];
  BoxedEvalueList<std::optional<Tensor>> optional_list(wrapped_optionals, unwrapped_optionals, 2);
  EValue optionals(&optional_list);
  EValue* stack[] = {&i, &b, &s, &text, &type, &ints, &doubles, &bools, &tensors, &optionals, &none, &none};
  ASSERT_EQ(call("kernel_util_test::everything", stack), Error::Ok);
  EXPECT_EQ(seen, 1 + 1 + 3 + 4 + 6 + 8 + 16 + 1 + 32 + 32);
}

namespace traits {
using namespace executorch::extension::kernel_util_internal;  // NOLINT: what is under test
using Args = typelist<const Tensor&, int64_t, Tensor&, Tensor&>;
static_assert(count_nonconst_tensors<Args>::value == 2);
static_assert(count_nonconst_tensors<typelist<Tensor&, int64_t, Tensor&>>::value == 1, "only those at the end");
static_assert(count_nonconst_tensors<typelist<>>::value == 0);
static_assert(size<Args>::value == 4);
static_assert(std::is_same_v<element_t<1, Args>, int64_t>);
static_assert(std::is_same_v<head_with_default_t<void, typelist<>>, void>);
static_assert(std::is_same_v<drop_if_nonempty_t<typelist<int, bool>, 1>, typelist<bool>>);
static_assert(std::is_same_v<drop_if_nonempty_t<typelist<>, 1>, typelist<>>);
static_assert(is_instantiation_of_t<typelist, Args>::value && !is_instantiation_of_t<typelist, int>::value);
struct Functor {
  int operator()(float) const;
};
static_assert(std::is_same_v<infer_function_traits_t<Functor>::func_type, int(float)>);
static_assert(infer_function_traits_t<int (*)(float, bool)>::number_of_parameters == 2);
static_assert(is_function_type_t<int(float)>::value && !is_function_type_t<int (*)(float)>::value);
static_assert(std::is_same_v<decay_if_not_tensor<const std::optional<Tensor>&>::type, std::optional<Tensor>>);
static_assert(std::is_same_v<decay_if_not_tensor<const Tensor&>::type, const Tensor&>);
}  // namespace traits

}  // namespace
