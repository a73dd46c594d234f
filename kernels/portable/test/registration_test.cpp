// SPDX-License-Identifier: BSD-3-Clause
// The generated code: the table of kernels, the registration and the checks of a boxed kernel.
#include <executorch/kernels/portable/Functions.h>
#include <executorch/runtime/core/evalue.h>
#include <executorch/runtime/kernel/boxed_kernel.h>
#include <executorch/runtime/kernel/operator_registry.h>
#include <kernels/portable/RegisterKernels.h>

#include "kernel_test.h"

namespace torch::executor::native {
namespace {

using executorch::aten::ArrayRef;
using executorch::aten::MemoryFormat;
using executorch::runtime::BoxedEvalueList;
using executorch::runtime::BoxedKernel;
using executorch::runtime::EValue;
using executorch::runtime::Span;

int calls = 0;

Tensor& every_kind(KernelRuntimeContext&, const Tensor&, const std::optional<Tensor>& maybe, int64_t i, double d,
                   bool b, const Scalar& s, std::string_view text, ArrayRef<int64_t> ints, ArrayRef<bool> bools,
                   std::optional<ArrayRef<double>> doubles, ScalarType dtype, std::optional<MemoryFormat> format,
                   Tensor& out) {
  ++calls;
  EXPECT_FALSE(maybe.has_value());
  EXPECT_EQ(i, -3);
  EXPECT_EQ(d, 2.0);
  EXPECT_TRUE(b);
  EXPECT_TRUE(s.isIntegral(false));
  EXPECT_EQ(text, "hi");
  EXPECT_EQ(std::vector<int64_t>(ints.begin(), ints.end()), (std::vector<int64_t>{4, 5}));
  EXPECT_EQ(bools.size(), 1u);
  EXPECT_FALSE(doubles.has_value());
  EXPECT_EQ(dtype, ScalarType::Float);
  EXPECT_EQ(format, MemoryFormat::Contiguous);
  return out;
}

class BoxedKernelTest : public KernelTest {
 protected:
  TensorFactory<ScalarType::Float> tf;
  char text[2] = {'h', 'i'};
  ArrayRef<char> chars{text, 2};
  EValue four{int64_t(4)}, five{int64_t(5)};
  EValue* wrapped[2] = {&four, &five};
  int64_t unwrapped[2] = {};
  BoxedEvalueList<int64_t> ints{wrapped, unwrapped, 2};
  bool flag = true;
  ArrayRef<bool> bools{&flag, 1};
  std::vector<EValue> values{EValue(tf.ones({1})), EValue(),           EValue(int64_t(-3)), EValue(int64_t(2)),
                             EValue(true),         EValue(int64_t(7)), EValue(&chars),      EValue(&ints),
                             EValue(&bools),       EValue(),           EValue(int64_t(6)),  EValue(int64_t(0)),
                             EValue(tf.ones({1}))};

  void call(size_t count) {
    std::vector<EValue*> stack;
    for (size_t i = 0; i < count; ++i) {
      stack.push_back(&values[i < values.size() ? i : values.size() - 1]);
    }
    calls = 0;
    BoxedKernel<&every_kind>::call(ctx, Span<EValue*>(stack.data(), stack.size()));
  }
};

TEST_F(BoxedKernelTest, PassesEveryKindOfArgument) {
  call(values.size());
  EXPECT_EQ(calls, 1);
  call(values.size() + 1);  // the output once more, as the executor passes it
  EXPECT_EQ(calls, 1);
}

TEST_F(BoxedKernelTest, WrongNumberOfArgumentsFails) {
  for (size_t count : {size_t(0), values.size() - 1, values.size() + 2}) {
    call(count);
    EXPECT_EQ(calls, 0);
    expect_failure(Error::InvalidProgram);
  }
}

TEST_F(BoxedKernelTest, EveryArgumentOfAnotherTypeFails) {
  for (size_t i = 0; i < values.size(); ++i) {
    const EValue saved = values[i];
    // Only argument 9 takes a list of doubles, and it does not take a tensor.
    ArrayRef<double> doubles;
    values[i] = i == 9 ? EValue(tf.ones({1})) : EValue(&doubles);
    call(values.size());
    EXPECT_EQ(calls, 0) << i;
    expect_failure(Error::InvalidProgram);
    values[i] = saved;
  }
}

TEST_F(BoxedKernelTest, NoneWhereAValueIsNeededAndWrongElementsFail) {
  values[0] = EValue();
  call(values.size());
  expect_failure(Error::InvalidProgram);
  values[0] = values[12];
  five = EValue(2.5);  // in the list of integers
  call(values.size());
  expect_failure(Error::InvalidProgram);
  five = EValue(int64_t(5));
  values[10] = EValue(int64_t(1) << 40);  // not an enumerator
  call(values.size());
  expect_failure(Error::InvalidProgram);
  EXPECT_EQ(calls, 0);
}

TEST_F(BoxedKernelTest, AnOutputThatIsAnInputKeepsItsShape) {
  EValue both(tf.make({4}, {1.0f, -2.0f, 3.0f, -4.0f}, {}, TensorShapeDynamism::DYNAMIC_BOUND));
  EValue* in_place[] = {&both, &both};
  using AbsOut = Tensor& (*)(KernelRuntimeContext&, const Tensor&, Tensor&);  // and not the one without a context
  BoxedKernel<static_cast<AbsOut>(&abs_out)>::call(ctx, Span<EValue*>(in_place));
  EXPECT_TENSOR_EQ(both.toTensor(), tf.make({4}, {1.0f, 2.0f, 3.0f, 4.0f}));

  EValue image(tf.make({1, 2, 2}, {1.0f, 2.0f, 3.0f, 4.0f}, {}, TensorShapeDynamism::DYNAMIC_BOUND));
  EValue one{int64_t(1)};
  EValue* ones[] = {&one, &one};
  int64_t unwrapped_ones[2] = {};
  BoxedEvalueList<int64_t> sizes_list{ones, unwrapped_ones, 2};
  EValue sizes(&sizes_list);
  EValue* smaller[] = {&image, &sizes, &image};
  using PoolOut = Tensor& (*)(KernelRuntimeContext&, const Tensor&, ArrayRef<int64_t>, Tensor&);
  BoxedKernel<static_cast<PoolOut>(&_adaptive_avg_pool2d_out)>::call(ctx, Span<EValue*>(smaller));
  expect_failure();
  EXPECT_TENSOR_EQ(image.toTensor(), tf.make({1, 2, 2}, {1.0f, 2.0f, 3.0f, 4.0f}));
  EXPECT_EQ(image.toTensor().unsafeGetTensorImpl()->shape_dynamism(), TensorShapeDynamism::DYNAMIC_BOUND);
}

class GeneratedFunctionsTest : public KernelTest {
 protected:
  TensorFactory<ScalarType::Float> tf;
  TensorFactory<ScalarType::Long> tl;
};

TEST_F(GeneratedFunctionsTest, CallOperatorsByTheirNames) {
  Tensor out = tf.zeros({2});
  Tensor& same = aten::add_outf(ctx, tf.make({2}, {1, 2}), tf.make({2}, {10, 20}), Scalar(2), out);
  EXPECT_EQ(same.unsafeGetTensorImpl(), out.unsafeGetTensorImpl());
  EXPECT_TENSOR_EQ(out, tf.make({2}, {21, 42}));
  aten::add_outf(ctx, out, Scalar(1), Scalar(1), out);  // add.Scalar_out
  EXPECT_TENSOR_EQ(out, tf.make({2}, {22, 43}));
  Tensor values = tf.zeros({}), indices = tl.zeros({});
  aten::max_outf(ctx, out, 0, false, values, indices);  // max.dim_max, two results
  EXPECT_TENSOR_EQ(values, tf.make({}, {43}));
  EXPECT_TENSOR_EQ(indices, tl.make({}, {1}));
  aten::_softmax_outf(ctx, tf.zeros({2}), 0, false, out);
  EXPECT_TENSOR_EQ(out, tf.make({2}, {0.5, 0.5}));
  dim_order_ops::_to_dim_order_copy_outf(ctx, tf.ones({2}), false, std::nullopt, out);
  EXPECT_TENSOR_EQ(out, tf.ones({2}));
}

TEST_F(GeneratedFunctionsTest, NeedNoContext) {
  Tensor out = tf.zeros({2});
  add_out(tf.make({2}, {1, 2}), tf.make({2}, {10, 20}), Scalar(1), out);
  EXPECT_TENSOR_EQ(out, tf.make({2}, {11, 22}));
  log_softmax_out(tf.zeros({1}), 0, false, out = tf.ones({1}));
  EXPECT_TENSOR_EQ(out, tf.zeros({1}));
  EXPECT_DEATH(softmax_out(tf.zeros({1}), 3, false, out), "aten::_softmax.out failed");
}

TEST(RegistrationTest, LinkingIsEnough) {
  EXPECT_TRUE(executorch::runtime::registry_has_op_function("aten::convolution.out"));
  for (const auto& kernel : torch::executor::portable_kernels()) {
    EXPECT_TRUE(executorch::runtime::registry_has_op_function(kernel.name_)) << kernel.name_;
  }
}

TEST(RegistrationTest, RegisteringAgainDoesNothing) {
  const size_t before = executorch::runtime::get_registered_kernels().size();
  EXPECT_EQ(torch::executor::register_portable_kernels(), Error::Ok);
  EXPECT_EQ(executorch::runtime::get_registered_kernels().size(), before);
}

}  // namespace
}  // namespace torch::executor::native
