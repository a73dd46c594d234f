// SPDX-License-Identifier: BSD-3-Clause
// Hostile and faulty programs over at::Tensor: PyTorch's kernels throw, and the runtime's state stays safe.
#include <stdexcept>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>
#include <ATen/ops/add.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>

#include <aten/dispatched_kernel.h>
#include <executorch/extension/kernel_util/make_boxed_from_unboxed_functor.h>
#include <executorch/runtime/executor/test/method_fixture.h>

using executorch::kernels::DispatchedKernel;
using executorch::runtime::Error;
using executorch::runtime::EValue;
using executorch::runtime::Kernel;
using executorch::runtime::KernelRuntimeContext;
using executorch::runtime::Span;
using namespace executorch::runtime::testing;  // NOLINT: test helpers
using ::testing::ElementsAre;
using ::testing::HasSubstr;

namespace {

at::Tensor& double_out(const at::Tensor& x, at::Tensor& out) {
  return at::add_out(out, x, x);
}

EXECUTORCH_LIBRARY(test, "double.out", double_out);

void throwing_kernel(KernelRuntimeContext&, Span<EValue*>) {
  throw std::runtime_error("not today");
}

class AtenMethodTest : public MethodFixture {
 protected:
  executorch::runtime::Result<executorch::runtime::Method> load_with_pytorch(ProgramBuilder& b) {
    // Test kernels besides those that the library registers.
    static const Kernel kKernels[] = {
        Kernel("aten::add_.Tensor", &DispatchedKernel<"aten::add_.Tensor">::call),
        Kernel("aten::add.Tensor", &DispatchedKernel<"aten::add.Tensor">::call),
        Kernel("aten::_foreach_zero_", &DispatchedKernel<"aten::_foreach_zero_">::call),
        Kernel("aten::no_such.out", &DispatchedKernel<"aten::no_such.out">::call),
        Kernel("test::throw.out", throwing_kernel),
    };
    static const bool registered = executorch::runtime::register_kernels(Span<const Kernel>(kKernels)) == Error::Ok;
    EXPECT_TRUE(registered);
    return load(b, nullptr, nullptr, {});
  }
};

/// The same as at() in the portable tests; PyTorch has a namespace of that name.
TensorSpec planned(uint32_t offset, std::vector<int32_t> sizes = {2}) {
  return executorch::runtime::testing::at(offset, std::move(sizes));
}

TensorSpec dynamic(TensorSpec spec) {
  spec.dynamism = fb::TensorShapeDynamism::DYNAMIC_BOUND;
  return spec;
}

TEST_F(AtenMethodTest, AKernelThatThrowsIsAnErrorAndTheMethodRunsAgain) {
  ProgramBuilder b;
  const int32_t x = b.tensor(planned(0, {2, 3}));
  const int32_t y = b.tensor(planned(32, {2, 2}));
  const int32_t alpha = b.integer(1);
  const int32_t out = b.tensor(planned(64, {2, 3}));
  b.inputs = {x, y};
  b.outputs = {out};
  b.call(b.op("aten::add", "out"), {x, y, alpha, out, out});
  auto method = load_with_pytorch(b);
  ASSERT_TRUE(method.ok());
  ASSERT_EQ(set_inputs(*method, {EValue(at::ones({2, 3})), EValue(at::ones({2, 2}))}), Error::Ok);
  for (int i = 0; i < 2; ++i) {
    logged.clear();
    EXPECT_EQ(method->execute(), Error::Internal);
    EXPECT_THAT(log(), HasSubstr("A kernel of PyTorch has thrown: The size of tensor a (3) must match"));
    EXPECT_THAT(log(), HasSubstr("Operator aten::add (instruction 0 of method 'forward') failed"));
  }
  ProgramBuilder other;
  const int32_t value = other.tensor(planned(0));
  other.inputs = {value};
  other.call(other.op("test::throw", "out"), {value, value});
  auto throwing = load_with_pytorch(other);
  ASSERT_TRUE(throwing.ok());
  ASSERT_EQ(throwing->set_input(EValue(at::ones({2})), 0), Error::Ok);
  EXPECT_EQ(throwing->execute(), Error::Internal);
  EXPECT_THAT(log(), HasSubstr("not today"));
}

TEST_F(AtenMethodTest, FunctionsOnPyTorchsTensorsAreKernels) {
  ProgramBuilder b;
  const int32_t x = b.tensor(planned(0));
  const int32_t out = b.tensor(planned(16));
  b.inputs = {x};
  b.outputs = {out};
  b.call(b.op("test::double", "out"), {x, out, out});
  auto method = load_with_pytorch(b);
  ASSERT_TRUE(method.ok());
  ASSERT_EQ(method->set_input(EValue(at::full({2}, 1.5)), 0), Error::Ok);
  ASSERT_EQ(method->execute(), Error::Ok);
  EXPECT_EQ(read(method->get_output(0)), (std::vector<float>{3, 3}));
}

// PyTorch sets an output's new sizes before it finds that there is no memory for them. If the sizes stayed, the first
// instruction of the next execution would read past the planned memory.
TEST_F(AtenMethodTest, AnOutputOutgrowsItsMemoryNeither) {
  ProgramBuilder b;
  const int32_t x = b.tensor(dynamic(planned(0, {32})));
  const int32_t y = b.tensor(dynamic(planned(128, {2})));
  const int32_t copy = b.tensor(dynamic(planned(136, {2})));
  const int32_t alpha = b.integer(1);
  b.inputs = {x};
  b.outputs = {copy};
  b.call(b.op("aten::relu", "out"), {y, copy, copy});
  b.call(b.op("aten::add", "out"), {x, x, alpha, y, y});
  auto method = load_with_pytorch(b);
  ASSERT_TRUE(method.ok());
  for (int i = 0; i < 3; ++i) {
    logged.clear();
    ASSERT_EQ(method->set_input(EValue(at::ones({32})), 0), Error::Ok);
    EXPECT_EQ(method->execute(), Error::Internal);
    EXPECT_THAT(log(), HasSubstr("has no room for 128 bytes"));
    const at::Tensor output = method->get_output(0).toTensor();
    EXPECT_LE(output.nbytes(), output.storage().nbytes());
  }
  ASSERT_EQ(method->set_input(EValue(at::ones({2})), 0), Error::Ok);
  EXPECT_EQ(method->execute(), Error::Ok);
}

TEST_F(AtenMethodTest, ViewsEndWhereTheCallersMemoryEnds) {
  ProgramBuilder b;
  const int32_t x = b.tensor(dynamic(unplanned({64})));
  const int32_t size = b.int_list({b.integer(64)});
  const int32_t stride = b.int_list({b.integer(1)});
  const int32_t offset = b.null();
  const int32_t out = b.tensor(planned(0, {64}));
  b.inputs = {x};
  b.call(b.op("aten::as_strided_copy", "out"), {x, size, stride, offset, out, out});
  auto method = load_with_pytorch(b);
  ASSERT_TRUE(method.ok());
  const at::Tensor four = at::ones({4}), all = at::ones({64});  // used in place
  ASSERT_EQ(method->set_input(EValue(four), 0), Error::Ok);
  EXPECT_EQ(method->execute(), Error::Internal);
  EXPECT_THAT(log(), HasSubstr("out of bounds for storage of size 16"));
  ASSERT_EQ(method->set_input(EValue(all), 0), Error::Ok);
  EXPECT_EQ(method->execute(), Error::Ok);
}

TEST_F(AtenMethodTest, ArgumentsAreCheckedAgainstTheSchema) {
  const auto run = [&](ProgramBuilder& b, const char* name, const char* overload, std::vector<int32_t> args) {
    logged.clear();
    b.call(b.op(name, overload), args);
    auto method = load_with_pytorch(b);
    EXPECT_TRUE(method.ok());
    return method.ok() ? method->execute() : Error::Ok;
  };
  ProgramBuilder few;
  const int32_t x = few.tensor(planned(0)), y = few.tensor(planned(16));
  EXPECT_EQ(run(few, "aten::add", "out", {x, y, y}), Error::InvalidProgram);
  EXPECT_THAT(log(), HasSubstr("aten::add takes 4 arguments and the program passes 3"));
  ProgramBuilder wrong;
  const int32_t a = wrong.tensor(planned(0)), c = wrong.tensor(planned(16)), text = wrong.string("1");
  EXPECT_EQ(run(wrong, "aten::add", "out", {a, a, text, c, c}), Error::InvalidProgram);
  EXPECT_THAT(log(), HasSubstr("Argument 2 of aten::add must be a Scalar, the program passes a String"));
  // Operators that are neither out variants nor in place, and one that PyTorch does not have.
  ProgramBuilder functional;
  const int32_t s = functional.tensor(planned(0)), t = functional.tensor(planned(16)), two = functional.integer(2);
  EXPECT_EQ(run(functional, "aten::add", "Tensor", {s, s, two, t, t}), Error::OperatorMissing);
  EXPECT_THAT(log(), HasSubstr("aten::add.Tensor is neither an out variant nor in place"));
  ProgramBuilder items;
  const int32_t item = items.tensor(planned(0));
  EXPECT_EQ(run(items, "aten::_foreach_zero_", "", {item, item}), Error::OperatorMissing);
  EXPECT_THAT(log(), HasSubstr("aten::_foreach_zero_ is neither an out variant nor in place"));
  ProgramBuilder missing;
  const int32_t m = missing.tensor(planned(0)), n = missing.tensor(planned(16));
  EXPECT_EQ(run(missing, "aten::no_such", "out", {m, n, n}), Error::OperatorMissing);
  EXPECT_THAT(log(), HasSubstr("PyTorch has no operator aten::no_such.out"));
}

TEST_F(AtenMethodTest, OperatorsInPlaceWriteToTheirFirstArgument) {
  ProgramBuilder b;
  const int32_t x = b.tensor(planned(0)), y = b.tensor(planned(16)), two = b.integer(2);
  b.inputs = {x, y};
  b.outputs = {x};
  b.call(b.op("aten::add_", "Tensor"), {x, y, two, x});
  auto method = load_with_pytorch(b);
  ASSERT_TRUE(method.ok());
  ASSERT_EQ(set_inputs(*method, {EValue(at::full({2}, 1.5)), EValue(at::ones({2}))}), Error::Ok);
  ASSERT_EQ(method->execute(), Error::Ok);
  EXPECT_EQ(read(method->get_output(0)), (std::vector<float>{3.5, 3.5}));
}

TEST_F(AtenMethodTest, InputsLieOnTheCpuOneAfterTheOther) {
  ProgramBuilder b;
  const int32_t x = b.tensor(planned(0, {2, 3}));
  b.inputs = {x};
  auto method = load_with_pytorch(b);
  ASSERT_TRUE(method.ok());
  const at::Tensor wide = at::ones({4, 6});
  for (const at::Tensor& input : {wide.slice(0, 0, 4, 2).slice(1, 0, 3), at::ones({1, 3}).expand({2, 3}),
                                  at::empty({2, 3}, at::device(at::kMeta)), at::zeros({2, 3}).to_sparse()}) {
    logged.clear();
    EXPECT_EQ(method->set_input(EValue(input), 0), Error::InvalidArgument);
    EXPECT_THAT(logged, ElementsAre("Input 0 must be contiguous and on the CPU: copy it there"));
  }
  EXPECT_EQ(method->set_input(EValue(at::Tensor()), 0), Error::InvalidArgument);
  EXPECT_EQ(method->set_input(EValue(at::ones({3, 2}).t()), 0), Error::InvalidArgument);
  EXPECT_EQ(method->set_input(EValue(at::ones({3, 2}).t().contiguous()), 0), Error::Ok);
}

// Counts at::Tensors: a destroyed method holds none, and an output that outlives it stays a valid tensor.
TEST_F(AtenMethodTest, NoTensorOutlivesTheMethodInIt) {
  ProgramBuilder b;
  const int32_t x = b.tensor(planned(0));
  const int32_t y = b.tensor(planned(16));
  const int32_t list = b.tensor_list({x, y});
  const int32_t dim = b.integer(0);
  const int32_t out = b.tensor(planned(32, {4}));
  b.inputs = {x, y};
  b.outputs = {out};
  b.call(b.op("aten::cat", "out"), {list, dim, out, out});
  at::Tensor input, output;
  {
    auto method = load_with_pytorch(b);
    ASSERT_TRUE(method.ok());
    ASSERT_EQ(set_inputs(*method, {EValue(at::ones({2})), EValue(at::zeros({2}))}), Error::Ok);
    ASSERT_EQ(method->execute(), Error::Ok);
    input = method->get_input(0).toTensor();
    output = method->get_output(0).toTensor();
    EXPECT_GT(input.use_count(), 1u);
    EXPECT_EQ(read(method->get_output(0)), (std::vector<float>{1, 1, 0, 0}));
  }
  EXPECT_EQ(input.use_count(), 1u);
  EXPECT_EQ(output.use_count(), 1u);
  EXPECT_EQ(output.numel(), 4);
}

}  // namespace
