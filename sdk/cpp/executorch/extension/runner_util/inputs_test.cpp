// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/extension/runner_util/inputs.h>

#include <executorch/runtime/executor/test/method_fixture.h>

using executorch::extension::prepare_input_tensors;
using executorch::runtime::Error;
using executorch::runtime::EValue;
using namespace executorch::runtime::testing;  // NOLINT: test helpers
using ::testing::ElementsAre;

namespace {

class PrepareInputsTest : public MethodFixture {
 protected:
  void build(ProgramBuilder& b) {
    const int32_t x = b.tensor(at(0));
    b.inputs = {x};
    b.outputs = {x};
  }
};

TEST_F(PrepareInputsTest, InputsAreOnesOrTheGivenBytes) {
  ProgramBuilder b;
  build(b);
  auto method = load(b);
  ASSERT_TRUE(method.ok()) << log();
  const auto ones = prepare_input_tensors(*method);
  ASSERT_TRUE(ones.ok()) << log();
  ASSERT_EQ(method->execute(), Error::Ok);
  EXPECT_THAT(read(method->get_output(0)), ElementsAre(1, 1));
  float given[] = {3, 4};
  const auto bytes = prepare_input_tensors(*method, {}, {{reinterpret_cast<char*>(given), sizeof(given)}});
  ASSERT_TRUE(bytes.ok()) << log();
  ASSERT_EQ(method->execute(), Error::Ok);
  EXPECT_THAT(read(method->get_output(0)), ElementsAre(3, 4));
}

// A method runs only when all of its inputs were set: those that are not tensors, too.
TEST_F(PrepareInputsTest, OtherInputsKeepTheirValues) {
  ProgramBuilder b;
  const int32_t x = b.tensor(at(0));
  const int32_t used = b.integer(7);
  const int32_t one = b.integer(1);
  const int32_t sum = b.integer(0);
  b.inputs = {x, used, b.integer(3), b.real(0.5), b.boolean(true), b.string("mean"), b.null()};
  b.outputs = {sum};
  b.call(b.op("executorch_prim::add", "Scalar"), {used, one, sum});
  auto method = load(b);
  ASSERT_TRUE(method.ok()) << log();
  logged.clear();
  const auto prepared = prepare_input_tensors(*method);
  ASSERT_TRUE(prepared.ok()) << log();
  ASSERT_EQ(method->execute(), Error::Ok) << log();
  EXPECT_EQ(method->get_output(0).toInt(), 8);
  ASSERT_EQ(method->set_input(EValue(int64_t{40}), 1), Error::Ok);
  const auto again = prepare_input_tensors(*method);
  ASSERT_TRUE(again.ok()) << log();
  ASSERT_EQ(method->execute(), Error::Ok) << log();
  EXPECT_EQ(method->get_output(0).toInt(), 41) << "the caller's value stays";
}

TEST_F(PrepareInputsTest, ANumberThatTheProgramLacksIsLeftToTheCaller) {
  ProgramBuilder b;
  const int32_t n = b.null();
  const int32_t one = b.integer(1);
  const int32_t sum = b.integer(0);
  b.inputs = {n};
  b.outputs = {sum};
  b.call(b.op("executorch_prim::add", "Scalar"), {n, one, sum});
  auto method = load(b);
  ASSERT_TRUE(method.ok()) << log();
  logged.clear();
  ASSERT_TRUE(prepare_input_tensors(*method).ok()) << log();
  EXPECT_THAT(log(), ::testing::HasSubstr("input 0 may be any number, and has none in the program"));
  EXPECT_EQ(method->execute(), Error::InvalidArgument);
  ASSERT_EQ(method->set_input(EValue(int64_t{41}), 0), Error::Ok);
  ASSERT_TRUE(prepare_input_tensors(*method).ok()) << log();
  ASSERT_EQ(method->execute(), Error::Ok) << log();
  EXPECT_EQ(method->get_output(0).toInt(), 42);
}

TEST_F(PrepareInputsTest, AListIsRefused) {
  ProgramBuilder b;
  b.inputs = {b.int_list({})};
  auto method = load(b);
  ASSERT_TRUE(method.ok()) << log();
  EXPECT_EQ(prepare_input_tensors(*method).error(), Error::InvalidArgument);
}

TEST_F(PrepareInputsTest, DtypesWithoutOnesNeedBuffers) {
  for (const auto type : {executorch_flatbuffer::ScalarType::FLOAT8E5M2, executorch_flatbuffer::ScalarType::QINT8}) {
    ProgramBuilder b;
    TensorSpec spec = at(0);
    spec.type = type;
    const int32_t x = b.tensor(spec);
    b.inputs = {x};
    b.outputs = {x};
    auto method = load(b);
    ASSERT_TRUE(method.ok()) << log();
    logged.clear();
    EXPECT_EQ(prepare_input_tensors(*method).error(), Error::NotSupported);
    EXPECT_THAT(log(), ::testing::HasSubstr("pass a buffer for each tensor input"));
    char given[2] = {3, 4};
    EXPECT_TRUE(prepare_input_tensors(*method, {}, {{given, sizeof(given)}}).ok()) << log();
  }
}

TEST_F(PrepareInputsTest, BuffersThatDoNotFitAreRefused) {
  ProgramBuilder b;
  build(b);
  auto method = load(b);
  ASSERT_TRUE(method.ok()) << log();
  logged.clear();
  EXPECT_EQ(prepare_input_tensors(*method, {}, {{nullptr, 8}}).error(), Error::InvalidArgument);
  EXPECT_THAT(logged, ElementsAre("input 0: expected 8 bytes, found a null pointer"));
  char few[4] = {};
  EXPECT_EQ(prepare_input_tensors(*method, {}, {{few, sizeof(few)}}).error(), Error::InvalidArgument);
}

}  // namespace
