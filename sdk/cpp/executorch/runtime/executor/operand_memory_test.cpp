// SPDX-License-Identifier: BSD-3-Clause
// Programs whose kernels would write to memory that they read.
#include <vector>

#include <executorch/runtime/executor/test/method_fixture.h>

using executorch::runtime::Error;
using executorch::runtime::EValue;
using namespace executorch::runtime::testing;  // NOLINT: test helpers
using ::testing::HasSubstr;

namespace {

using OperandMemoryTest = MethodFixture;

TensorSpec dynamic(TensorSpec spec, fb::TensorShapeDynamism dynamism = fb::TensorShapeDynamism::DYNAMIC_BOUND) {
  spec.dynamism = dynamism;
  return spec;
}

TEST_F(OperandMemoryTest, AnOutputThatReachesIntoAnInputIsRefused) {
  for (const uint32_t offset : {12u, 16u, 20u}) {
    ProgramBuilder b;
    const int32_t x = b.tensor(at(16));
    const int32_t y = b.tensor(at(64));
    const int32_t out = b.tensor(at(offset));
    b.inputs = {x, y};
    b.call(b.op("test::add", "out"), {y, x, out, out});
    EXPECT_EQ(load(b).error(), Error::InvalidProgram) << offset;
    EXPECT_THAT(log(), HasSubstr("test::add.out writes value 2 over the memory of its argument, value 0"));
  }
}

TEST_F(OperandMemoryTest, NeighboursAreNoOverlap) {
  ProgramBuilder b;
  const int32_t x = b.tensor(at(0));
  const int32_t y = b.tensor(at(16));
  const int32_t out = b.tensor(at(8));
  b.inputs = {x, y};
  b.call(b.op("test::add", "out"), {x, y, out, out});
  EXPECT_TRUE(load(b).ok());
}

TEST_F(OperandMemoryTest, ItemsOfListsCount) {
  for (const bool optional : {false, true}) {
    ProgramBuilder b;
    const int32_t x = b.tensor(at(0));
    const int32_t index = b.tensor(at(32));
    const int32_t out = b.tensor(at(36));
    const int32_t list = optional ? b.optional_tensor_list({-1, index}) : b.tensor_list({x, index});
    b.inputs = {x, index};
    b.call(b.op("test::index", "out"), {x, list, out, out});
    EXPECT_EQ(load(b).error(), Error::InvalidProgram) << optional;
    EXPECT_THAT(log(), HasSubstr("writes value 2 over the memory of its argument, value 1"));
  }
}

TEST_F(OperandMemoryTest, OneValueForInputAndOutputKeepsItsShape) {
  for (const bool is_static : {true, false}) {
    ProgramBuilder b;
    const int32_t x = b.tensor(is_static ? at(0) : dynamic(at(0)));
    b.inputs = {x};
    b.call(b.op("test::add", "out"), {x, x, x, x});
    EXPECT_EQ(load(b).ok(), is_static);
  }
  EXPECT_THAT(log(), HasSubstr("which is of dynamic shape, for an input and for its output"));
}

TEST_F(OperandMemoryTest, OutputsLieApart) {
  for (const bool same : {true, false}) {
    ProgramBuilder b;
    const int32_t x = b.tensor(at(0));
    const int32_t first = b.tensor(at(32));
    const int32_t second = same ? first : b.tensor(at(36));
    const int32_t returned = b.tensor_list({first, second});
    b.inputs = {x};
    b.call(b.op("test::two", "out"), {x, first, second, returned});
    EXPECT_EQ(load(b).error(), Error::InvalidProgram) << same;
  }
  EXPECT_THAT(log(), HasSubstr("has value 1 for two of its outputs"));
  EXPECT_THAT(log(), HasSubstr("writes value 1 over the memory of its argument, value 2"));
}

// The memory that an output gets later would be written twice, too. Only tensors without elements have none to share.
TEST_F(OperandMemoryTest, OutputsWithoutPlannedMemoryAreDifferentValues) {
  for (const int32_t size : {2, 0}) {
    ProgramBuilder b;
    const int32_t x = b.tensor(at(0));
    const int32_t out = b.tensor(unplanned({size}));
    b.inputs = {x};
    b.outputs = {out};
    b.call(b.op("test::add", "out"), {x, out, out, b.tensor_list({out, out})});
    EXPECT_EQ(load(b).error(), size > 0 ? Error::InvalidProgram : Error::Ok) << log();
  }
  EXPECT_THAT(log(), HasSubstr("has value 1 for two of its outputs"));
}

TEST_F(OperandMemoryTest, AViewHasTheMemoryOfWhatItShows) {
  ProgramBuilder b;
  const int32_t x = b.tensor(at(0, {4}));
  const int32_t size = b.int_list({b.integer(2), b.integer(2)});
  const int32_t view = b.tensor(unplanned({2, 2}));
  const int32_t deeper = b.tensor(unplanned({2, 2}));
  const int32_t out = b.tensor(at(8, {2, 2}));
  b.inputs = {x};
  const int32_t view_op = b.op("executorch_prim::et_view", "default");
  b.call(view_op, {x, size, view});
  b.call(view_op, {view, size, deeper});
  b.call(b.op("test::add", "out"), {deeper, deeper, out, out});
  EXPECT_EQ(load(b).error(), Error::InvalidProgram);
  EXPECT_THAT(log(), HasSubstr("over the memory of its argument"));
}

TEST_F(OperandMemoryTest, AViewIsNoInput) {
  ProgramBuilder b;
  const int32_t x = b.tensor(at(0, {1}));
  const int32_t size = b.int_list({b.integer(1)});
  // Planned: the caller's four elements would be copied to the tensor of which it was a view in the last execution.
  const int32_t view = b.tensor(dynamic(at(32, {4})));
  b.inputs = {x, view};
  b.call(b.op("executorch_prim::et_view", "default"), {x, size, view});
  EXPECT_EQ(load(b).error(), Error::InvalidProgram);
  EXPECT_THAT(log(), HasSubstr("is an input of the method and a view of another value"));
}

TEST_F(OperandMemoryTest, ViewsInACircleLoad) {
  ProgramBuilder b;
  const int32_t x = b.tensor(at(0));
  const int32_t size = b.int_list({b.integer(2)});
  const int32_t a = b.tensor(unplanned());
  const int32_t c = b.tensor(unplanned());
  const int32_t out = b.tensor(at(32));
  b.inputs = {x};
  const int32_t view_op = b.op("executorch_prim::et_view", "default");
  b.call(view_op, {a, size, c});
  b.call(view_op, {c, size, a});
  b.call(b.op("test::add", "out"), {a, x, out, out});
  auto method = load(b);
  ASSERT_TRUE(method.ok());
  std::vector<float> data{1, 2};
  ASSERT_EQ(method->set_input(EValue(tensor(data, {2})), 0), Error::Ok);
  EXPECT_NE(method->execute(), Error::Ok);
}

TEST_F(OperandMemoryTest, AnOutputThatMayGrowNeedsMemoryAlsoWhenItIsEmpty) {
  ProgramBuilder b;
  const int32_t x = b.tensor(at(0));
  const int32_t out = b.tensor(dynamic(unplanned({0}), fb::TensorShapeDynamism::DYNAMIC_UNBOUND));
  b.inputs = {x};
  b.call(b.op("test::add", "out"), {x, x, out, out});
  auto method = load(b);
  ASSERT_TRUE(method.ok());
  std::vector<float> data{1, 2};
  ASSERT_EQ(method->set_input(EValue(tensor(data, {2})), 0), Error::Ok);
  EXPECT_EQ(method->execute(), Error::InvalidProgram);
  EXPECT_THAT(log(), HasSubstr("a tensor without data"));
}

// The caller can mend it: the error names the output, also where an operator writes a list.
TEST_F(OperandMemoryTest, AnOutputWithoutMemoryIsNamedInLists) {
  for (const bool in_list : {false, true}) {
    ProgramBuilder b;
    const int32_t x = b.tensor(at(0));
    const int32_t out = b.tensor(unplanned());
    const int32_t list = b.tensor_list({out});
    b.inputs = {x};
    b.outputs = {out};
    b.call(b.op("test::add", "out"),
           in_list ? std::vector<int32_t>{x, x, list, list} : std::vector<int32_t>{x, x, out, out});
    auto method = load(b);
    ASSERT_TRUE(method.ok()) << log();
    std::vector<float> data{1, 2};
    ASSERT_EQ(method->set_input(EValue(tensor(data, {2})), 0), Error::Ok);
    logged.clear();
    EXPECT_EQ(method->execute(), Error::InvalidState) << in_list;
    EXPECT_THAT(log(), HasSubstr("Output 0 of method 'forward' has no planned memory and was given none"));
  }
}

}  // namespace
