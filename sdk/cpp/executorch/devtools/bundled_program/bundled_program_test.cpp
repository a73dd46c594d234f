// SPDX-License-Identifier: BSD-3-Clause
//
// Bundled programs that ExecuTorch wrote, and bundles that this file makes from programs of tests/data/corpus. The
// expected values are outputs of PyTorch eager, which the files contain, and arithmetic.
#include <executorch/devtools/bundled_program/bundled_program.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <functional>
#include <iterator>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <executorch/devtools/bundled_program/tensor_difference.h>
#include <executorch/extension/data_loader/buffer_data_loader.h>
#include <executorch/runtime/core/exec_aten/testing_util/tensor_factory.h>
#include <executorch/runtime/executor/program.h>
#include <executorch/runtime/executor/test/managed_memory_manager.h>
#include <executorch/runtime/platform/runtime.h>
#include <executorch/schema/bundled_program_generated.h>

#include "paths.h"

namespace format = bundled_program_flatbuffer;

using executorch::aten::ScalarType;
using executorch::aten::Tensor;
using executorch::bundled_program::compute_method_output_error_stats;
using executorch::bundled_program::get_program_data;
using executorch::bundled_program::is_bundled_program;
using executorch::bundled_program::load_bundled_input;
using executorch::bundled_program::verify_method_outputs;
using executorch::extension::BufferDataLoader;
using executorch::runtime::Error;
using executorch::runtime::Method;
using executorch::runtime::Program;
using executorch::runtime::Result;
using executorch::runtime::internal::first_difference;
using executorch::runtime::testing::ManagedMemoryManager;
using executorch::runtime::testing::TensorFactory;
using executorch::tests::kCorpusFolder;

namespace {

/// A file in memory, with the alignment that a loaded file has.
class File {
 public:
  explicit File(const std::vector<uint8_t>& bytes) : size_(bytes.size()), memory_((size_ + 31) / 32 + 1) {
    std::memcpy(memory_.data(), bytes.data(), size_);
  }
  static File read(const std::string& name) {
    std::ifstream file(std::string(kCorpusFolder) + "/" + name, std::ios::binary);
    EXPECT_TRUE(file.is_open()) << name;
    return File(std::vector<uint8_t>(std::istreambuf_iterator<char>(file), {}));
  }
  void* data() { return memory_.data(); }
  size_t size() const { return size_; }
  std::vector<uint8_t> bytes() { return {memory_[0].bytes, memory_[0].bytes + size_}; }
  std::vector<float> floats() {
    std::vector<float> found(size_ / sizeof(float));
    std::memcpy(found.data(), data(), size_);
    return found;
  }

 private:
  struct alignas(32) Block {
    uint8_t bytes[32];
  };
  size_t size_;
  std::vector<Block> memory_;
};

/// A method of the program in a file, with its memory.
struct Loaded {
  explicit Loaded(File& file, const char* name = "forward") {
    const void* data = nullptr;
    size_t size = 0;
    EXPECT_EQ(get_program_data(file.data(), file.size(), &data, &size), Error::Ok);
    loader = std::make_unique<BufferDataLoader>(data, size);
    program = std::make_unique<Result<Program>>(Program::load(loader.get()));
    EXPECT_EQ(program->error(), Error::Ok);
    method = std::make_unique<Result<Method>>((*program)->load_method(name, &memory.get()));
    EXPECT_EQ(method->error(), Error::Ok);
  }
  Method& operator*() { return method->get(); }

  ManagedMemoryManager memory{1 << 16, 1 << 16};
  std::unique_ptr<BufferDataLoader> loader;
  std::unique_ptr<Result<Program>> program;
  std::unique_ptr<Result<Method>> method;
};

using Builder = flatbuffers::FlatBufferBuilder;
using Value = flatbuffers::Offset<format::Value>;

Value tensor(Builder& builder, const std::vector<float>& elements, const std::vector<int32_t>& sizes,
             const std::vector<uint8_t>& dim_order, ScalarType type = ScalarType::Float) {
  std::vector<uint8_t> data(elements.size() * sizeof(float));
  std::memcpy(data.data(), elements.data(), data.size());
  builder.ForceVectorAlignment(data.size(), 1, 16);
  return format::CreateValue(builder, format::ValueUnion::Tensor,
                             format::CreateTensorDirect(builder, static_cast<executorch_flatbuffer::ScalarType>(type),
                                                        &sizes, &data, &dim_order)
                                 .Union());
}

Value integer(Builder& builder, int64_t number) {
  return format::CreateValue(builder, format::ValueUnion::Int, format::CreateInt(builder, number).Union());
}

using Values = std::function<std::vector<Value>(Builder&)>;

/// The program of a corpus folder with one case.
File bundle(const std::string& name, const Values& inputs, const Values& outputs) {
  Builder builder;
  const std::vector<Value> in = inputs(builder);
  const std::vector<Value> out = outputs(builder);
  const std::vector cases = {format::CreateBundledMethodTestCaseDirect(builder, &in, &out)};
  const std::vector suites = {format::CreateBundledMethodTestSuiteDirect(builder, "forward", &cases)};
  const std::vector<uint8_t> program = File::read(name + "/model.pte").bytes();
  builder.ForceVectorAlignment(program.size(), 1, 32);
  builder.Finish(format::CreateBundledProgramDirect(builder, 2, &suites, &program), format::BundledProgramIdentifier());
  return File({builder.GetBufferPointer(), builder.GetBufferPointer() + builder.GetSize()});
}

/// [[1, 2, 3], [4, 5, 6]] + 1 with these expected outputs.
File addition(const std::vector<float>& expected, const std::vector<int32_t>& sizes = {2, 3},
              const std::vector<uint8_t>& dim_order = {0, 1}, ScalarType type = ScalarType::Float) {
  return bundle(
      "add",
      [](Builder& builder) {
        return std::vector{tensor(builder, {1, 2, 3, 4, 5, 6}, {2, 3}, {0, 1}),
                           tensor(builder, {1, 1, 1, 1, 1, 1}, {2, 3}, {0, 1})};
      },
      [&](Builder& builder) { return std::vector{tensor(builder, expected, sizes, dim_order, type)}; });
}

/// Runs the only case and returns the result of its verification.
Error run_and_verify(File file, double rtol = 1e-5, double atol = 1e-8) {
  Loaded loaded(file);
  EXPECT_EQ(load_bundled_input(*loaded, file.data(), 0), Error::Ok);
  EXPECT_EQ((*loaded).execute(), Error::Ok);
  return verify_method_outputs(*loaded, file.data(), 0, rtol, atol);
}

class BundledProgramTest : public testing::Test {
 protected:
  void SetUp() override { executorch::runtime::runtime_init(); }
};

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

}  // namespace

TEST_F(BundledProgramTest, FindsTheProgramInBothKindsOfFile) {  // BIO-01
  File bundled = File::read("bundled/model.bpte");
  File plain = File::read("bundled/model.pte");
  EXPECT_TRUE(is_bundled_program(bundled.data(), bundled.size()));
  EXPECT_FALSE(is_bundled_program(plain.data(), plain.size()));
  EXPECT_FALSE(is_bundled_program(bundled.data(), 7));
  EXPECT_FALSE(is_bundled_program(nullptr, 8));
  EXPECT_TRUE(torch::executor::bundled_program::IsBundledProgram(bundled.data()));

  const void* data = nullptr;
  size_t size = 0;
  ASSERT_EQ(get_program_data(plain.data(), plain.size(), &data, &size), Error::Ok);
  EXPECT_EQ(data, plain.data());
  EXPECT_EQ(size, plain.size());
  ASSERT_EQ(get_program_data(bundled.data(), bundled.size(), &data, &size), Error::Ok);
  ASSERT_EQ(size, plain.size());
  EXPECT_EQ(std::memcmp(data, plain.data(), size), 0);
}

TEST_F(BundledProgramTest, RefusesOtherFiles) {
  const void* data = nullptr;
  size_t size = 0;
  File other(std::vector<uint8_t>(64, 'x'));
  EXPECT_EQ(get_program_data(other.data(), other.size(), &data, &size), Error::NotSupported);
  EXPECT_EQ(get_program_data(other.data(), 3, &data, &size), Error::NotSupported);
  EXPECT_EQ(get_program_data(nullptr, 64, &data, &size), Error::InvalidArgument);
  File bundled = File::read("bundled/model.bpte");
  EXPECT_EQ(get_program_data(bundled.data(), bundled.size() / 2, &data, &size), Error::InvalidExternalData);
  EXPECT_EQ(data, nullptr);
}

TEST_F(BundledProgramTest, RunsTheCasesOfTheOriginal) {  // BIO-02, BIO-03
  File file = File::read("bundled/model.bpte");
  Loaded loaded(file);
  for (size_t i = 0; i < 3; ++i) {
    SCOPED_TRACE(i);
    ASSERT_EQ(load_bundled_input(*loaded, file.data(), i), Error::Ok);
    const Tensor& input = (*loaded).get_input(0).toTensor();
    const std::vector<float> expected = File::read("bundled/call" + std::to_string(i) + "_in0.bin").floats();
    EXPECT_EQ(std::vector<float>(input.const_data_ptr<float>(), input.const_data_ptr<float>() + input.numel()),
              expected);
    ASSERT_EQ((*loaded).execute(), Error::Ok);
    EXPECT_EQ(verify_method_outputs(*loaded, file.data(), i), Error::Ok);
    EXPECT_EQ(verify_method_outputs(*loaded, file.data(), (i + 1) % 3), Error::NotFound);
  }
  EXPECT_EQ(load_bundled_input(*loaded, file.data(), 3), Error::InvalidArgument);
  EXPECT_EQ(verify_method_outputs(*loaded, file.data(), 3), Error::InvalidArgument);
  EXPECT_EQ(load_bundled_input(*loaded, nullptr, 0), Error::InvalidArgument);
  File plain = File::read("bundled/model.pte");
  EXPECT_EQ(load_bundled_input(*loaded, plain.data(), 0), Error::NotSupported);
}

TEST_F(BundledProgramTest, ToleratesWhatItIsTold) {  // BIO-03
  EXPECT_EQ(run_and_verify(addition({2, 3, 4, 5, 6, 7})), Error::Ok);
  EXPECT_EQ(run_and_verify(addition({2, 3, 4, 5, 6, 7.5f})), Error::NotFound);
  EXPECT_EQ(run_and_verify(addition({2, 3, 4, 5, 6, 7.5f}), 0, 0.5), Error::Ok);
  EXPECT_EQ(run_and_verify(addition({2, 3, 4, 5, 6, 7.5f}), 0.5 / 7.5 + 1e-6, 0), Error::Ok);
  EXPECT_EQ(run_and_verify(addition({2, 3, 4, 5, 6, 7.5f}), 0.5 / 7.5 - 1e-6, 0), Error::NotFound);
  EXPECT_EQ(run_and_verify(addition({2, 3, 4, 5, 6, kNan}), 1, 1), Error::NotFound);
}

TEST_F(BundledProgramTest, ComparesDtypeAndSizesAndElementsInLogicalOrder) {
  EXPECT_EQ(run_and_verify(addition({2, 3, 4, 5, 6, 7}, {3, 2})), Error::NotFound);
  EXPECT_EQ(run_and_verify(addition({2, 3, 4, 5, 6, 7}, {2, 3}, {0, 1}, ScalarType::Int)), Error::NotFound);
  EXPECT_EQ(run_and_verify(addition({2, 5, 3, 6, 4, 7}, {2, 3}, {1, 0})), Error::Ok);
  EXPECT_EQ(run_and_verify(addition({2, 3, 4, 5, 6, 7}, {2, 3}, {1, 0})), Error::NotFound);
}

TEST_F(BundledProgramTest, ChecksNumbersAndTheirCount) {
  const auto inputs = [](Builder& builder) {
    const std::vector<uint8_t> index = File::read("item_output/call0_in1.bin").bytes();
    builder.ForceVectorAlignment(index.size(), 1, 16);
    const auto scalar = format::CreateTensorDirect(builder, executorch_flatbuffer::ScalarType::LONG, nullptr, &index);
    return std::vector{tensor(builder, File::read("item_output/call0_in0.bin").floats(), {3}, {0}),
                       format::CreateValue(builder, format::ValueUnion::Tensor, scalar.Union())};
  };
  const auto first = [](Builder& builder) {
    return tensor(builder, File::read("item_output/call0_out0.bin").floats(), {3}, {0});
  };
  File right =
      bundle("item_output", inputs, [&](Builder& builder) { return std::vector{first(builder), integer(builder, 4)}; });
  Loaded loaded(right);
  ASSERT_EQ(load_bundled_input(*loaded, right.data(), 0), Error::Ok);
  ASSERT_EQ((*loaded).execute(), Error::Ok);
  EXPECT_EQ(verify_method_outputs(*loaded, right.data(), 0), Error::Ok);

  const auto verify = [&](const Values& outputs) {
    return verify_method_outputs(*loaded, bundle("item_output", inputs, outputs).data(), 0);
  };
  EXPECT_EQ(verify([&](Builder& builder) { return std::vector{first(builder), integer(builder, 5)}; }),
            Error::NotFound);
  EXPECT_EQ(verify([&](Builder& builder) { return std::vector{first(builder), first(builder)}; }), Error::NotFound);
  EXPECT_EQ(verify([&](Builder& builder) { return std::vector{integer(builder, 4), integer(builder, 4)}; }),
            Error::NotFound);
  EXPECT_EQ(verify([&](Builder& builder) { return std::vector{first(builder)}; }), Error::InvalidArgument);
  const auto none = [](Builder&) { return std::vector<Value>{}; };
  EXPECT_EQ(verify(none), Error::NotSupported);
  EXPECT_EQ(load_bundled_input(*loaded, bundle("item_output", none, none).data(), 0), Error::InvalidArgument);
}

TEST_F(BundledProgramTest, TakesNumbersAsInputs) {
  const auto expected = File::read("scalar_input_dynamic_int/call0_out0.bin").floats();
  const auto input = File::read("scalar_input_dynamic_int/call0_in0.bin").floats();
  const auto case_of = [&](int64_t number) {
    return bundle(
        "scalar_input_dynamic_int",
        [&](Builder& builder) { return std::vector{tensor(builder, input, {2, 3}, {0, 1}), integer(builder, number)}; },
        [&](Builder& builder) { return std::vector{tensor(builder, expected, {2, 3}, {0, 1})}; });
  };
  EXPECT_EQ(run_and_verify(case_of(3)), Error::Ok);
  EXPECT_EQ(run_and_verify(case_of(7)), Error::NotFound);
}

TEST_F(BundledProgramTest, MeasuresDifferences) {
  File file = addition({2, 3, 4, 5, 6, 8});
  Loaded loaded(file);
  ASSERT_EQ(load_bundled_input(*loaded, file.data(), 0), Error::Ok);
  ASSERT_EQ((*loaded).execute(), Error::Ok);
  const auto stats = compute_method_output_error_stats(*loaded, file.data(), 0);
  ASSERT_EQ(stats.status, Error::Ok);
  EXPECT_DOUBLE_EQ(stats.max_abs_error, 1);
  EXPECT_DOUBLE_EQ(stats.mean_abs_error, 1.0 / 6);
  EXPECT_DOUBLE_EQ(stats.max_relative_error, 1.0 / 8);
  EXPECT_DOUBLE_EQ(stats.mean_relative_error, 1.0 / 48);
  EXPECT_EQ(compute_method_output_error_stats(*loaded, file.data(), 1).status, Error::InvalidArgument);
  File nan = addition({2, 3, 4, 5, 6, kNan});
  EXPECT_TRUE(std::isinf(compute_method_output_error_stats(*loaded, nan.data(), 0).mean_abs_error));
}

TEST_F(BundledProgramTest, IsExactForIntegersAndKnowsNan) {
  TensorFactory<ScalarType::Long> longs;
  const int64_t large = int64_t{1} << 60;
  EXPECT_EQ(first_difference(longs.make({3}, {1, large, 3}), longs.make({3}, {1, large, 3}), {1, 1}), 3u);
  EXPECT_EQ(first_difference(longs.make({3}, {1, large, 3}), longs.make({3}, {1, large + 1, 3}), {1, 1}), 1u);
  TensorFactory<ScalarType::Float> floats;
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(first_difference(floats.make({2}, {kNan, infinity}), floats.make({2}, {kNan, infinity}), {0, 0}), 2u);
  EXPECT_EQ(first_difference(floats.make({2}, {kNan, infinity}), floats.make({2}, {kNan, -infinity}), {1, 1}), 1u);
  EXPECT_EQ(first_difference(floats.make({1}, {1}), floats.make({1}, {infinity}), {1, 1}), 0u);
  EXPECT_EQ(first_difference(floats.make({0}, {}), floats.make({0}, {}), {0, 0}), 0u);
  TensorFactory<ScalarType::Half> halves;
  EXPECT_EQ(first_difference(halves.make({1}, {1.0f}), halves.make({1}, {1.5f}), {0, 0.5}), 1u);
}
