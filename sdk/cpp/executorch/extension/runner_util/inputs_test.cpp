// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/extension/runner_util/inputs.h>

#include <executorch/runtime/executor/test/method_fixture.h>

using executorch::extension::prepare_input_tensors;
using executorch::runtime::Error;
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
