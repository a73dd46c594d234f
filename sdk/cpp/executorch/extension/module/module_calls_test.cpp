// SPDX-License-Identifier: BSD-3-Clause
// Inputs of every kind, results that are values or errors, and files that are read only once.
#include <executorch/extension/module/module.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <executorch/extension/data_loader/buffer_data_loader.h>
#include <executorch/extension/data_loader/file_data_loader.h>
#include <executorch/extension/tensor/tensor.h>
#include <executorch/runtime/executor/test/program_builder.h>

#include "paths.h"

using namespace executorch::extension;  // NOLINT: as the documents' samples do
using executorch::runtime::DataLoader;
using executorch::runtime::Error;
using executorch::runtime::EValue;
using executorch::runtime::FreeableBuffer;
using executorch::runtime::Result;
using executorch::runtime::testing::ProgramBuilder;
using executorch::runtime::testing::ProgramBytes;
using executorch::runtime::testing::TensorSpec;
using executorch::tests::kCorpusFolder;
using testing::Each;
using testing::ElementsAre;

namespace {

std::string corpus(const std::string& name) {
  return std::string(kCorpusFolder) + "/" + name;
}

std::vector<float> values(const EValue& value) {
  const auto& tensor = value.toTensor();
  return {tensor.const_data_ptr<float>(), tensor.const_data_ptr<float>() + tensor.numel()};
}

/// Reads a file and counts the reads.
class CountingLoader final : public DataLoader {
 public:
  CountingLoader(const std::string& path, int* reads) : file_(FileDataLoader::from(path.c_str())), reads_(reads) {}

  Result<FreeableBuffer> load(size_t offset, size_t size, const SegmentInfo& info) const override {
    ++*reads_;
    return file_->load(offset, size, info);
  }
  Result<size_t> size() const override { return file_->size(); }

 private:
  Result<FileDataLoader> file_;
  int* reads_;
};

}  // namespace

// Functions that make tensors return null for wrong arguments. Every entry point of a module reports null as an error:
// it does not treat it as a missing input, and does not end the process.
TEST(ModuleCallsTest, NullTensorsAreErrors) {
  Module module(corpus("add/model.pte"));
  const TensorPtr null = make_tensor_ptr({-1}, std::vector<float>{1});
  ASSERT_EQ(null, nullptr);
  std::vector<float> data{1, 2, 3, 4, 5, 6};
  const TensorPtr x = from_blob(data.data(), {2, 3});
  const EValue no_impl{executorch::aten::Tensor(nullptr)};
  ASSERT_EQ(module.set_inputs({x, x}), Error::Ok);
  for (const EValue& wrong : {EValue(null), no_impl}) {
    EXPECT_EQ(module.forward(wrong).error(), Error::InvalidArgument) << "input 0 has a preset";
    EXPECT_EQ(module.forward({x, wrong}).error(), Error::InvalidArgument);
    EXPECT_EQ(module.execute("forward", {wrong, x}).error(), Error::InvalidArgument);
    EXPECT_EQ(module.get("forward", wrong).error(), Error::InvalidArgument);
    EXPECT_EQ(module.set_input(wrong, 1), Error::InvalidArgument);
    EXPECT_EQ(module.set_inputs({x, wrong}), Error::InvalidArgument);
    EXPECT_EQ(module.set_output(wrong), Error::InvalidArgument);
    EXPECT_EQ(module.set_outputs({wrong}), Error::InvalidArgument);
  }
  EXPECT_EQ(module.forward(null).error(), Error::InvalidArgument);
  EXPECT_THAT(values(module.forward()->at(0)), ElementsAre(2, 4, 6, 8, 10, 12)) << "the presets are kept";
}

/// x + x into a tensor without planned memory. Returns it, and as the second output either x or it once more.
ProgramBytes doubled(bool is_second_x) {
  TensorSpec spec{{2}};
  spec.planned = false;
  ProgramBuilder b;
  const int32_t x = b.tensor(spec);
  const int32_t out = b.tensor(spec);
  b.inputs = {x};
  b.outputs = {out, is_second_x ? x : out};
  b.call(b.op("aten::add", "out"), {x, x, b.integer(1), out, out});
  return b.finish();
}

// The runtime refuses the second output only after the first one was put into the caller's memory.
TEST(ModuleCallsTest, OutputsAreSetAllOrNone) {
  for (const bool is_second_x : {true, false}) {
    const ProgramBytes bytes = doubled(is_second_x);
    Module module(std::make_unique<BufferDataLoader>(bytes.data(), bytes.size()));
    const auto x = full({2}, 3), first = zeros({2}), second = zeros({2});
    ASSERT_TRUE(module.forward(x).ok());
    EXPECT_NE(module.set_outputs({first, second}), Error::Ok);
    const auto outputs = module.forward(x);
    ASSERT_TRUE(outputs.ok());
    EXPECT_THAT(values(outputs->at(0)), Each(6.0f));
    EXPECT_THAT(values(*first), Each(0.0f)) << "the caller may have freed it";
    EXPECT_THAT(values(*second), Each(0.0f));
  }
  const ProgramBytes bytes = doubled(false);
  Module module(std::make_unique<BufferDataLoader>(bytes.data(), bytes.size()));
  const auto x = full({2}, 3), both = zeros({2});
  ASSERT_EQ(module.set_outputs({both, both}), Error::Ok);
  ASSERT_TRUE(module.forward(x).ok());
  EXPECT_THAT(values(*both), Each(6.0f));
}

// x + x of complex numbers, from a vector, from memory of the caller and as a copy.
TEST(ModuleCallsTest, InputsMayBeComplex) {
  using Complex = executorch::aten::complex<float>;
  constexpr auto kComplex = executorch::aten::ScalarType::ComplexFloat;
  TensorSpec spec{{2}};
  spec.type = static_cast<executorch_flatbuffer::ScalarType>(kComplex);
  ProgramBuilder b;
  const int32_t x = b.tensor(spec);
  spec.offset = 32;
  const int32_t out = b.tensor(spec);
  b.inputs = {x};
  b.outputs = {out};
  b.call(b.op("aten::add", "out"), {x, x, b.integer(1), out, out});
  const ProgramBytes bytes = b.finish();
  Module module(std::make_unique<BufferDataLoader>(bytes.data(), bytes.size()));
  std::vector<Complex> numbers{Complex(1, 2), Complex(3, -4)};
  const TensorPtr owned = make_tensor_ptr({2}, numbers);
  ASSERT_NE(owned, nullptr);
  for (const TensorPtr& tensor : {owned, from_blob(numbers.data(), {2}, kComplex), clone_tensor_ptr(owned)}) {
    const auto outputs = module.forward(tensor);
    ASSERT_TRUE(outputs.ok());
    const auto& sum = outputs->at(0).toTensor();
    ASSERT_EQ(sum.scalar_type(), kComplex);
    EXPECT_EQ(sum.const_data_ptr<Complex>()[0], Complex(2, 4));
    EXPECT_EQ(sum.const_data_ptr<Complex>()[1], Complex(6, -8));
  }
  EXPECT_EQ(module.forward(full({2}, 1)).error(), Error::InvalidArgument) << "real numbers are another dtype";
  EXPECT_EQ(make_tensor_ptr({2}, numbers, {}, {}, executorch::aten::ScalarType::Float), nullptr)
      << "parts would be lost";
}

// A rank that kernels do not support is an error of the module as well.
TEST(ModuleCallsTest, ATensorOfRank17IsAnError) {
  Module module(corpus("add/model.pte"));
  std::vector<executorch::aten::SizesType> sizes(17, 1);
  float data = 1;
  executorch::aten::TensorImpl impl(executorch::aten::ScalarType::Float, 17, sizes.data(), &data);
  const EValue wrong{executorch::aten::Tensor(&impl)};
  EXPECT_EQ(module.forward({wrong, wrong}).error(), Error::InvalidArgument);
  EXPECT_EQ(Module(corpus("no_planned_io/model.pte")).set_output(wrong), Error::InvalidArgument);
}

// MOD-12: the first call loads, later ones only run.
TEST(ModuleCallsTest, OnlyTheFirstReads) {
  int reads = 0;
  Module module(std::make_unique<CountingLoader>(corpus("add/model.pte"), &reads));
  EXPECT_EQ(reads, 0);
  const auto one = full({2, 3}, 1);
  ASSERT_TRUE(module.forward({one, one}).ok());
  const int after_first = reads;
  EXPECT_GT(after_first, 0);
  ASSERT_TRUE(module.forward({one, one}).ok());
  ASSERT_EQ(module.load(), Error::Ok);
  ASSERT_EQ(module.load_forward(), Error::Ok);
  EXPECT_EQ(reads, after_first);
}

// MOD-21
TEST(ModuleCallsTest, ResultsAreValuesOrErrors) {
  Error error{};
  EXPECT_EQ(error, Error::Ok);
  Module module(corpus("add/model.pte"));
  const auto one = full({2, 3}, 1);
  const auto result = module.forward({one, one});
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result.error(), Error::Ok);
  EXPECT_EQ(&result.get(), &*result);
  EXPECT_EQ(result->size(), 1U);
  EXPECT_THAT(values(result->at(0)), Each(2.0f));

  const auto failed = module.execute("backward");
  EXPECT_FALSE(failed.ok());
  EXPECT_NE(failed.error(), Error::Ok);
  EXPECT_DEATH((void)failed.get(), "");
}

// MOD-24: a number that the method uses, and the tensors of a list one by one.
TEST(ModuleCallsTest, InputsMayBeAnyValues) {
  Module numbers(corpus("scalar_inputs/model.pte"));
  const auto meta = numbers.method_meta("forward");
  ASSERT_TRUE(meta.ok());
  ASSERT_EQ(meta->num_inputs(), 4U);
  const auto x = full({2, 3}, 1);
  const std::vector<EValue> inputs = {x, int64_t{3}, 2.5, true};
  ASSERT_TRUE(numbers.forward(inputs).ok());
  const std::vector<EValue> swapped = {x, 2.5, int64_t{3}, true};
  EXPECT_EQ(numbers.forward(swapped).error(), Error::InvalidArgument);

  Module lists(corpus("tensor_list_input/model.pte"));
  const auto first = full({2, 3}, 1);
  const auto second = full({2, 3}, 2);
  const auto outputs = lists.forward({first, second});
  ASSERT_TRUE(outputs.ok());
  EXPECT_THAT(values(outputs->at(0)), ElementsAre(1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2)) << "torch.cat of the list";
}
