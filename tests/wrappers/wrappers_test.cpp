// SPDX-License-Identifier: BSD-3-Clause
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <executorch/extension/tensor/tensor.h>

#include "DynBatch.h"
#include "MultiMethod.h"
#include "ScalarInputs.h"
#include "paths.h"

using executorch::extension::make_tensor_ptr;
using executorch::runtime::Error;
using executorch::tests::kCorpusFolder;

namespace {

std::string path(const std::string& program, const std::string& file = "model.pte") {
  return std::string(kCorpusFolder) + "/" + program + "/" + file;
}

std::vector<float> floats(const std::string& program, const std::string& file) {
  std::ifstream stream(path(program, file), std::ios::binary);
  const std::vector<char> bytes(std::istreambuf_iterator<char>(stream), {});
  std::vector<float> values(bytes.size() / sizeof(float));
  std::copy(bytes.begin(), bytes.end(), reinterpret_cast<char*>(values.data()));
  return values;
}

TEST(WrappersTest, TakesNumbersAndGivesWhatEagerGave) {
  model::ScalarInputs program(path("scalar_inputs"));
  const auto input = make_tensor_ptr({2, 3}, floats("scalar_inputs", "call0_in0.bin"));
  const auto output = program.forward(input, 3, 2.5, true);
  ASSERT_EQ(output.error(), Error::Ok);
  const std::vector<float> expected = floats("scalar_inputs", "call0_out0.bin");
  ASSERT_EQ(static_cast<size_t>(output->numel()), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_FLOAT_EQ(output->const_data_ptr<float>()[i], expected[i]);
  }
}

TEST(WrappersTest, RefusesWrongShapesAndDtypes) {
  model::ScalarInputs program(path("scalar_inputs"));
  EXPECT_EQ(program.forward(make_tensor_ptr({3, 2}, std::vector<float>(6)), 3, 2.5, true).error(),
            Error::InvalidArgument);
  EXPECT_EQ(program.forward(make_tensor_ptr({6}, std::vector<float>(6)), 3, 2.5, true).error(), Error::InvalidArgument);
  EXPECT_EQ(program.forward(make_tensor_ptr({2, 3}, std::vector<double>(6)), 3, 2.5, true).error(),
            Error::InvalidArgument);
  EXPECT_EQ(program.forward(nullptr, 3, 2.5, true).error(), Error::InvalidArgument);
}

TEST(WrappersTest, HasAFunctionForEachMethod) {
  model::MultiMethod program(path("multi_method"));
  EXPECT_EQ(program.get_max_seq_len().get(), 128);
  EXPECT_EQ(program.get_scale().get(), 0.125);
  EXPECT_TRUE(program.use_kv().get());
  const auto two = program.get_two();
  ASSERT_EQ(two.error(), Error::Ok);
  EXPECT_EQ(two->output_0, 1);
  EXPECT_EQ(two->output_1, 2.5);
}

TEST(WrappersTest, TakesEverySizeOfADynamicShape) {
  model::DynBatch program(path("dyn_batch"));
  const auto meta = program.module().method_meta("forward");
  ASSERT_EQ(meta.error(), Error::Ok);
  const auto input = meta->input_tensor_meta(0);
  ASSERT_EQ(input.error(), Error::Ok);
  std::vector<int32_t> sizes(input->sizes().begin(), input->sizes().end());
  sizes[0] = 2;
  EXPECT_EQ(program.forward(executorch::extension::zeros(sizes)).error(), Error::Ok);
  sizes[0] = input->sizes()[0] + 1;
  EXPECT_EQ(program.forward(executorch::extension::zeros(sizes)).error(), Error::InvalidArgument);
}

TEST(WrappersTest, KnowsItsFile) {
  std::ifstream stream(path("dyn_batch"), std::ios::binary | std::ios::ate);
  EXPECT_EQ(static_cast<size_t>(stream.tellg()), model::DynBatch::kFileSize);
  EXPECT_STREQ(model::DynBatch::kFileName, "model.pte");
  EXPECT_EQ(std::string(model::DynBatch::kSha256).size(), 64u);
}

}  // namespace
