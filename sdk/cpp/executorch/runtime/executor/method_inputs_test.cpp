// SPDX-License-Identifier: BSD-3-Clause
// The inputs that a method accepts, and the log line for each that it refuses.
#include <cstring>
#include <limits>
#include <vector>

#include <executorch/runtime/executor/program_check.h>
#include <executorch/runtime/executor/test/method_fixture.h>

using executorch::aten::ArrayRef;
using executorch::aten::ScalarType;
using executorch::runtime::Error;
using executorch::runtime::EValue;
using executorch::runtime::Method;
using namespace executorch::runtime::testing;  // NOLINT: test helpers
using ::testing::ElementsAre;

namespace {

class MethodInputsTest : public MethodFixture {
 protected:
  /// Expects that the input is refused, with this log line and no other.
  static void refuses(Method& method, const EValue& value, size_t index, const char* line) {
    logged.clear();
    EXPECT_EQ(method.set_input(value, index), Error::InvalidArgument);
    EXPECT_THAT(logged, ElementsAre(line));
  }
};

TEST_F(MethodInputsTest, TheNumberOfInputsIsChecked) {
  ProgramBuilder b;
  const int32_t x = b.tensor(at(0));
  const int32_t seven = b.integer(7);
  b.inputs = {x, seven};
  b.outputs = {x};
  auto method = load(b);
  ASSERT_TRUE(method.ok());
  std::vector<float> data{1, 2};
  EXPECT_EQ(set_inputs(*method, {EValue(tensor(data, {2}))}), Error::InvalidArgument);
  EXPECT_THAT(logged, ElementsAre("Method 'forward' has 2 inputs, 1 were given"));
  refuses(*method, EValue(tensor(data, {2})), 2, "Input 2 was given, method 'forward' has 2 inputs");
  logged.clear();
  EXPECT_EQ(method->execute(), Error::InvalidArgument);
  EXPECT_THAT(logged, ElementsAre("Input 0 of method 'forward' was not set; it has 2 inputs"));
  EXPECT_EQ(set_inputs(*method, {EValue(tensor(data, {2})), EValue(int64_t{7})}), Error::Ok);
  EXPECT_EQ(method->execute(), Error::Ok);
}

TEST_F(MethodInputsTest, TypesAndShapesAreChecked) {
  ProgramBuilder b;
  const int32_t x = b.tensor(at(0, {2, 3}));
  b.inputs = {x};
  b.outputs = {x};
  auto method = load(b);
  ASSERT_TRUE(method.ok());
  std::vector<float> data(12, 1);
  refuses(*method, EValue(int64_t{1}), 0, "Input 0 must be a Tensor, found Int");
  refuses(*method, EValue(), 0, "Input 0 must be a Tensor, found None");
  refuses(*method, EValue(tensor(data, {2, 3}, ScalarType::Int)), 0, "Input 0 must have dtype Float, found Int");
  refuses(*method, EValue(tensor(data, {6})), 0, "Input 0 must have 2 dimensions, found 1");
  refuses(*method, EValue(tensor(data, {3, 2})), 0,
          "Input 0 must have sizes (2, 3), found (3, 2): export with a dynamic shape to give it these");
  refuses(*method, EValue(tensor(data, {2, 3}, ScalarType::Float, {1, 0})), 0,
          "Input 0 must be contiguous in memory, found another dim order: copy it to that order first");
  // The order of dimensions of size 1 makes no difference in memory.
  ProgramBuilder row;
  row.inputs = {row.tensor(at(0, {1, 3}))};
  auto other = load(row);
  ASSERT_TRUE(other.ok());
  EXPECT_EQ(other->set_input(EValue(tensor(data, {1, 3}, ScalarType::Float, {1, 0})), 0), Error::Ok);
}

TEST_F(MethodInputsTest, ChannelsLastInputsAreAskedFor) {
  ProgramBuilder b;
  TensorSpec spec = at(0, {1, 2, 2, 2});
  spec.dim_order = {0, 2, 3, 1};
  b.inputs = {b.tensor(spec)};
  auto method = load(b);
  ASSERT_TRUE(method.ok());
  std::vector<float> data(8, 1);
  refuses(*method, EValue(tensor(data, {1, 2, 2, 2})), 0,
          "Input 0 must be channels last in memory, found another dim order: copy it to that order first");
  EXPECT_EQ(method->set_input(EValue(tensor(data, {1, 2, 2, 2}, ScalarType::Float, {0, 2, 3, 1})), 0), Error::Ok);
}

TEST_F(MethodInputsTest, DynamicInputsMayBeSmallerNotLarger) {
  ProgramBuilder b;
  TensorSpec spec = at(0, {4, 2});
  spec.dynamism = fb::TensorShapeDynamism::DYNAMIC_BOUND;
  const int32_t x = b.tensor(spec);
  b.inputs = {x};
  b.outputs = {x};
  auto method = load(b);
  ASSERT_TRUE(method.ok());
  std::vector<float> data(16, 3);
  ASSERT_EQ(method->set_input(EValue(tensor(data, {1, 2})), 0), Error::Ok);
  refuses(
      *method, EValue(tensor(data, {5, 2})), 0,
      "Input 0 must have at most the sizes (4, 2), found (5, 2): export with a larger upper bound to give it these");
  refuses(*method, EValue(tensor(data, {3, 2}, ScalarType::Float, {1, 0})), 0,
          "Input 0 must be contiguous in memory, found another dim order: copy it to that order first");
  ASSERT_EQ(method->execute(), Error::Ok);
  EXPECT_EQ(method->get_output(0).toTensor().sizes()[0], 1) << "a refused input changes nothing";
  ASSERT_EQ(method->set_input(EValue(tensor(data, {4, 2})), 0), Error::Ok);
  ASSERT_EQ(method->set_input(EValue(tensor(data, {0, 2})), 0), Error::Ok);
}

/// The sizes of an input without planned memory may be bounds that no memory holds: the application owns the tensor.
TEST_F(MethodInputsTest, OnlyBoundsOfInputsMayOverflow) {
  TensorSpec spec;
  spec.planned = false;
  spec.sizes = {2000000000, 2000000000, 2000000000};
  const auto load_value = [&](bool is_input) {
    ProgramBuilder b;
    b.tensor(at(0));
    const int32_t value = b.tensor(spec);
    b.inputs = is_input ? std::vector<int32_t>{value} : std::vector<int32_t>{};
    b.outputs = b.inputs;
    return load(b).error();
  };
  EXPECT_EQ(load_value(true), Error::InvalidProgram) << "static sizes";
  spec.dynamism = fb::TensorShapeDynamism::DYNAMIC_BOUND;
  EXPECT_EQ(load_value(false), Error::InvalidProgram);
  spec.data_buffer_idx = 1;
  EXPECT_EQ(load_value(true), Error::InvalidProgram) << "a constant";
  spec.data_buffer_idx = 0;
  spec.planned = true;
  EXPECT_EQ(load_value(true), Error::InvalidProgram) << "planned memory";
  spec.planned = false;
  if (!executorch::runtime::internal::kBoundsMayOverflow) {
    EXPECT_EQ(load_value(true), Error::InvalidProgram);
    return;
  }
  std::vector<float> data(24);
  for (const auto& dim_order : std::vector<std::vector<uint8_t>>{{0, 1, 2}, {2, 0, 1}}) {
    spec.dim_order = dim_order;
    ProgramBuilder program;
    program.inputs = {program.tensor(spec)};
    program.outputs = program.inputs;
    auto method = load(program);
    ASSERT_TRUE(method.ok()) << log();
    for (const auto& sizes : std::vector<std::vector<int32_t>>{{1, 2, 3}, {4, 3, 2}, {2, 0, 1}, {4, 2, 3}}) {
      ASSERT_EQ(method->set_input(EValue(tensor(data, sizes, ScalarType::Float, dim_order)), 0), Error::Ok) << log();
      ASSERT_EQ(method->execute(), Error::Ok);
      const auto& output = method->get_output(0).toTensor();
      EXPECT_EQ(output.numel(), sizes[0] * sizes[1] * sizes[2]);
      EXPECT_EQ(output.const_data_ptr(), data.data());
    }
  }
}

class DynamicSizesTest : public MethodInputsTest {
 protected:
  /// A dynamic tensor that is planned at this offset and whose largest sizes are these.
  static TensorSpec dynamic(uint32_t offset, std::vector<int32_t> sizes) {
    TensorSpec spec = at(offset, std::move(sizes));
    spec.dynamism = fb::TensorShapeDynamism::DYNAMIC_BOUND;
    return spec;
  }

  executorch::aten::Tensor of(std::vector<int32_t> sizes) { return tensor(data_, std::move(sizes)); }

 private:
  std::vector<float> data_ = std::vector<float>(64, 1);
};

TEST_F(DynamicSizesTest, EachDimensionIsCheckedByItself) {
  ProgramBuilder b;
  b.inputs = {b.tensor(dynamic(0, {4, 2, 3})), b.tensor(at(128))};
  b.dynamic_sizes = {0, 0, 1, 1, 0, 0, /**/ 0, 2, 2, 1, 0, 1};
  auto method = load(b);
  ASSERT_TRUE(method.ok()) << log();
  for (const auto& sizes : {std::vector<int32_t>{1, 2, 2}, {4, 2, 3}, {3, 2, 2}}) {
    EXPECT_EQ(method->set_input(EValue(of(sizes)), 0), Error::Ok) << log();
  }
  const char* const kRefused =
      "Input 0 must have sizes (1..4, 2, 2..3), found (%s): export with a dynamic shape of other bounds to give it "
      "these";
  for (const auto& [sizes, text] : std::vector<std::pair<std::vector<int32_t>, const char*>>{{{5, 2, 3}, "5, 2, 3"},
                                                                                             {{0, 2, 3}, "0, 2, 3"},
                                                                                             {{4, 1, 3}, "4, 1, 3"},
                                                                                             {{2, 4, 3}, "2, 4, 3"},
                                                                                             {{4, 2, 1}, "4, 2, 1"}}) {
    std::string line = kRefused;
    line.replace(line.find("%s"), 2, text);
    refuses(*method, EValue(of(sizes)), 0, line.c_str());
  }
}

TEST_F(DynamicSizesTest, SizesThatAreDerivedFromOneNumberAreChecked) {
  ProgramBuilder b;
  b.inputs = {b.tensor(dynamic(0, {9}))};
  b.dynamic_sizes = {0, 0, 1, 2, 1, 0};
  auto method = load(b);
  ASSERT_TRUE(method.ok()) << log();
  EXPECT_EQ(method->set_input(EValue(of({7})), 0), Error::Ok);
  refuses(*method, EValue(of({6})), 0,
          "Input 0 must have sizes (1..9 of 2n+1,), found (6,): export with a dynamic shape of other bounds to give it "
          "these");
  b.dynamic_sizes = {0, 0, 1, 3, 0, 0};
  auto multiples = load(b);
  ASSERT_TRUE(multiples.ok()) << log();
  refuses(*multiples, EValue(of({7})), 0,
          "Input 0 must have sizes (1..9 of 3n,), found (7,): export with a dynamic shape of other bounds to give it "
          "these");
}

TEST_F(DynamicSizesTest, SharedSizesAgreeAtEachExecution) {
  ProgramBuilder b;
  // n, n and 2n - 1.
  b.inputs = {b.tensor(dynamic(0, {4, 2})), b.tensor(dynamic(64, {4})), b.tensor(dynamic(128, {7}))};
  b.dynamic_sizes = {0, 0, 1, 1, 0, 0, /**/ 1, 0, 1, 1, 0, 0, /**/ 2, 0, 1, 2, -1, 0};
  auto method = load(b);
  ASSERT_TRUE(method.ok()) << log();
  const auto run = [&](int32_t first, int32_t second, int32_t third) {
    EXPECT_EQ(set_inputs(*method, {EValue(of({first, 2})), EValue(of({second})), EValue(of({third}))}), Error::Ok);
    logged.clear();
    return method->execute();
  };
  EXPECT_EQ(run(4, 4, 7), Error::Ok);
  EXPECT_EQ(run(1, 1, 1), Error::Ok);
  EXPECT_EQ(run(3, 2, 5), Error::InvalidArgument);
  EXPECT_THAT(logged,
              ElementsAre("Input 1 must have size 3 in dimension 0, because input 0 has 3 in dimension 0 and the model "
                          "was exported with one dynamic size for both; found 2"));
  EXPECT_EQ(method->step(), Error::InvalidArgument) << "every way to execute checks";
  EXPECT_EQ(run(3, 3, 7), Error::InvalidArgument);
  EXPECT_THAT(logged,
              ElementsAre("Input 2 must have size 5 in dimension 0, because input 0 has 3 in dimension 0 and the model "
                          "was exported with one dynamic size for both; found 7"));
  EXPECT_EQ(run(3, 3, 5), Error::Ok) << "an error changes nothing";
  // An application that replaces the value itself is not checked, and does no harm.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
  method->mutable_input(1) = EValue(int64_t{1});
#pragma GCC diagnostic pop
  EXPECT_EQ(method->execute(), Error::Ok);
}

TEST_F(MethodInputsTest, OpenScalarsAcceptAnyScalar) {
  ProgramBuilder b;
  const int32_t n = b.null();
  const int32_t one = b.integer(1);
  const int32_t sum = b.integer(0);
  b.inputs = {n};
  b.outputs = {sum};
  b.call(b.op("executorch_prim::add", "Scalar"), {n, one, sum});
  auto method = load(b);
  ASSERT_TRUE(method.ok());
  for (const int64_t value : {41, -1}) {
    ASSERT_EQ(method->set_input(EValue(value), 0), Error::Ok);
    ASSERT_EQ(method->execute(), Error::Ok);
    EXPECT_EQ(method->get_output(0).toInt(), value + 1);
  }
  refuses(*method, EValue(), 0, "Input 0 must be an Int, Double or Bool, found None");
}

TEST_F(MethodInputsTest, ScalarsThatWereBuiltInCannotChange) {
  ProgramBuilder b;
  b.inputs = {b.integer(7), b.real(0.5), b.boolean(true), b.string("mean"), b.null(), b.int_list({})};
  auto method = load(b);
  ASSERT_TRUE(method.ok());
  const std::string text = "mean";
  ArrayRef<char> mean(text.data(), text.size());
  ArrayRef<char> men(text.data(), 2);
  EXPECT_EQ(method->set_input(EValue(int64_t{7}), 0), Error::Ok);
  EXPECT_EQ(method->set_input(EValue(0.5), 1), Error::Ok);
  EXPECT_EQ(method->set_input(EValue(true), 2), Error::Ok);
  EXPECT_EQ(method->set_input(EValue(&mean), 3), Error::Ok);
  EXPECT_EQ(method->set_input(EValue(), 4), Error::Ok);
  refuses(*method, EValue(int64_t{8}), 0,
          "Input 0 has the value 7 built in since the export and cannot be changed: export it as a tensor or with a "
          "dynamic value");
  refuses(*method, EValue(7.0), 0, "Input 0 must be of type Int, found Double");
  refuses(*method, EValue(std::numeric_limits<double>::quiet_NaN()), 1,
          "Input 1 has the value 0.5 built in since the export and cannot be changed: export it as a tensor or with a "
          "dynamic value");
  refuses(*method, EValue(false), 2,
          "Input 2 has the value true built in since the export and cannot be changed: export it as a tensor or with a "
          "dynamic value");
  refuses(*method, EValue(&men), 3, "Input 3 must be the String 'mean' that the method was exported with");
  std::vector<float> data{1, 2};
  refuses(*method, EValue(tensor(data, {2})), 4, "Input 4 must be an Int, Double or Bool, or None, found Tensor");
  refuses(*method, EValue(int64_t{1}), 5,
          "Input 5 is a list (IntList); inputs are tensors and scalars: give its items one by one");
}

TEST_F(MethodInputsTest, NullDataKeepsWhatThePlannedMemoryHolds) {
  ProgramBuilder b;
  const int32_t x = b.tensor(at(0));
  const int32_t y = b.tensor(unplanned());
  const int32_t out = b.tensor(at(16));
  b.inputs = {x, y};
  b.outputs = {out};
  b.call(b.op("test::add", "out"), {x, y, out, out});
  auto method = load(b);
  ASSERT_TRUE(method.ok());
  const executorch::aten::SizesType two[] = {2};
  const executorch::aten::DimOrderType order[] = {0};
  executorch::aten::TensorImpl impl(ScalarType::Float, 1, const_cast<executorch::aten::SizesType*>(two), nullptr,
                                    const_cast<executorch::aten::DimOrderType*>(order));
  const EValue null_data{executorch::aten::Tensor(&impl)};
  const float held[] = {3, 4};
  std::memcpy(const_cast<void*>(static_cast<const void*>(arena())), held, sizeof(held));
  ASSERT_EQ(method->set_input(null_data, 0), Error::Ok);
  refuses(*method, null_data, 1, "Input 1 is a tensor without data and has no planned memory");
  std::vector<float> data{10, 20};
  ASSERT_EQ(method->set_input(EValue(tensor(data, {2})), 1), Error::Ok);
  ASSERT_EQ(method->execute(), Error::Ok);
  EXPECT_THAT(read(method->get_output(0)), ElementsAre(13, 24));
}

}  // namespace
