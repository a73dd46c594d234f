// SPDX-License-Identifier: BSD-3-Clause
// Programs run over at::Tensor with PyTorch's kernels. Their outputs are compared with those of PyTorch
// eager, recorded when the programs were written.
#include <executorch/extension/module/module.h>

#include <fstream>
#include <iterator>
#include <memory>
#include <sstream>
#include <string>
#include <type_traits>
#include <vector>

#include <ATen/core/Formatting.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/tensor.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <executorch/extension/evalue_util/print_evalue.h>
#include <executorch/extension/runner_util/inputs.h>
#include <executorch/extension/tensor/tensor.h>

#include "paths.h"

using executorch::extension::Module;
using executorch::runtime::Error;
using executorch::runtime::EValue;
using executorch::runtime::TensorInfo;

// The types are PyTorch's, and functions that differ from the portable build have a separate namespace.
static_assert(std::is_same_v<executorch::aten::Tensor, at::Tensor>);
static_assert(std::is_same_v<executorch::aten::ScalarType, at::ScalarType>);
static_assert(std::is_same_v<executorch::aten::ArrayRef<int>, at::ArrayRef<int>>);
static_assert(std::is_same_v<torch::executor::Tensor, at::Tensor>);
static_assert(std::is_same_v<executorch::extension::TensorPtr, std::shared_ptr<at::Tensor>>);
static_assert(std::is_same_v<executorch::runtime::aten::Kernel, executorch::ET_RUNTIME_NAMESPACE::Kernel>);
static_assert(std::is_same_v<executorch::runtime::Program, executorch::ET_RUNTIME_NAMESPACE::Program>);
static_assert(std::is_same_v<Module, executorch::extension::module::aten::Module>);

using executorch::tests::kCorpusFolder;

namespace {

std::vector<char> read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file.good()) << path;
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

/// The elements of a file, row-major, as a tensor in the memory order of `info`. The first dimension is as large as the
/// file says.
at::Tensor read_tensor(const std::string& path, at::ScalarType type, std::vector<int64_t> sizes,
                       const std::vector<int64_t>& dim_order) {
  const std::vector<char> bytes = read(path);
  if (!sizes.empty()) {
    int64_t row = static_cast<int64_t>(c10::elementSize(type));
    for (size_t i = 1; i < sizes.size(); ++i) {
      row *= sizes[i];
    }
    sizes[0] = static_cast<int64_t>(bytes.size()) / row;
  }
  at::Tensor tensor = at::empty(sizes, type);
  EXPECT_EQ(tensor.nbytes(), bytes.size()) << path;
  std::copy(bytes.begin(), bytes.end(), static_cast<char*>(tensor.mutable_data_ptr()));
  std::vector<int64_t> back(dim_order.size());
  for (size_t i = 0; i < dim_order.size(); ++i) {
    back[static_cast<size_t>(dim_order[i])] = static_cast<int64_t>(i);
  }
  return tensor.permute(dim_order).contiguous().permute(back);
}

struct Case {
  const char* name;
  int calls;
};

class AtenProgramsTest : public ::testing::TestWithParam<Case> {};

// RTC-13: ATen mode.
TEST_P(AtenProgramsTest, ComputeWhatEagerDoes) {
  const std::string folder = std::string(kCorpusFolder) + "/" + GetParam().name + "/";
  Module module(folder + "model.pte");
  ASSERT_EQ(module.load_forward(), Error::Ok);
  const auto meta = module.method_meta("forward");
  ASSERT_TRUE(meta.ok());
  for (int call = 0; call < GetParam().calls; ++call) {
    const std::string prefix = folder + "call" + std::to_string(call);
    std::vector<EValue> inputs;
    for (size_t i = 0; i < meta->num_inputs(); ++i) {
      const auto info = meta->input_tensor_meta(i);
      ASSERT_TRUE(info.ok());
      inputs.emplace_back(read_tensor(prefix + "_in" + std::to_string(i) + ".bin", info->scalar_type(),
                                      {info->sizes().begin(), info->sizes().end()},
                                      {info->dim_order().begin(), info->dim_order().end()}));
    }
    const auto outputs = module.forward(inputs);
    ASSERT_TRUE(outputs.ok());
    ASSERT_GT(outputs->size(), 0u);
    for (size_t i = 0; i < outputs->size(); ++i) {
      ASSERT_TRUE((*outputs)[i].isTensor());
      const at::Tensor& output = (*outputs)[i].toTensor();
      const std::vector<char> bytes = read(prefix + "_out" + std::to_string(i) + ".bin");
      at::Tensor expected = at::empty(output.sizes(), output.scalar_type());
      ASSERT_EQ(expected.nbytes(), bytes.size());
      std::copy(bytes.begin(), bytes.end(), static_cast<char*>(expected.mutable_data_ptr()));
      EXPECT_TRUE(at::allclose(output.to(at::kDouble), expected.to(at::kDouble), 1e-4, 1e-5, /*equal_nan=*/true))
          << output << "\nexpected\n"
          << expected;
    }
  }
}

// Arithmetic, constants, convolutions, control flow, state, views, loops of the exporter's own operators, dtypes, and
// shapes that change from call to call.
INSTANTIATE_TEST_SUITE_P(Corpus, AtenProgramsTest,
                         ::testing::Values(Case{"add", 1}, Case{"linear", 1}, Case{"convs", 1}, Case{"cond", 2},
                                           Case{"dyn_batch", 4}, Case{"gru_portable", 1}, Case{"ops_binary", 1},
                                           Case{"ops_unary", 1}, Case{"ops_matmul", 1}, Case{"ops_pad_up", 1},
                                           Case{"ops_sort", 1}, Case{"conv3d_portable", 1}, Case{"channels_last_in", 1},
                                           Case{"to_dim_order", 1}, Case{"keep_view_copy", 1}, Case{"counter", 4},
                                           Case{"dtype_bool", 1}, Case{"dtype_float16", 1}, Case{"dtype_int64", 1}),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(AtenProgramTest, InputsArePreparedAndOutputsPrinted) {
  Module module(std::string(kCorpusFolder) + "/add/model.pte");
  const auto method = module.method("forward");
  ASSERT_TRUE(method.ok());
  const auto inputs = executorch::extension::prepare_input_tensors(**method);
  ASSERT_TRUE(inputs.ok());
  ASSERT_EQ((*method)->execute(), Error::Ok);
  const EValue& output = (*method)->get_output(0);
  EXPECT_TRUE(at::equal(output.toTensor(), at::full(output.toTensor().sizes(), 2.0f)));
  std::ostringstream text;
  text << EValue(at::tensor({1.5f, 2.0f}));
  EXPECT_EQ(text.str(), "tensor(sizes=[2], [1.5, 2.])");
}

// TEN-31: the functions of TensorPtr over at::Tensor.
TEST(AtenTensorPtrTest, TensorsArePyTorchs) {
  using namespace executorch::extension;  // NOLINT: as the documents' samples do
  const TensorPtr tensor = make_tensor_ptr({2, 3}, {1, 2, 3, 4, 5, 6}, at::kFloat);
  EXPECT_TRUE(at::equal(*tensor, at::arange(1, 7, at::kFloat).reshape({2, 3})));
  EXPECT_TRUE(at::equal(*full({2, 2}, 4), at::full({2, 2}, 4.0f)));
  EXPECT_TRUE(at::equal(*ones_like(tensor), at::ones({2, 3})));
  EXPECT_TRUE(at::equal(*scalar_tensor(3), at::scalar_tensor(3.0f)));
  EXPECT_EQ(randn({4, 5})->sizes(), at::IntArrayRef({4, 5}));
  const TensorPtr copy = clone_tensor_ptr(tensor, at::kDouble);
  EXPECT_TRUE(at::equal(*copy, tensor->to(at::kDouble)));
  EXPECT_NE(copy->const_data_ptr(), tensor->const_data_ptr());
  const TensorPtr view = make_tensor_ptr(tensor, {3, 2});
  EXPECT_EQ(view->const_data_ptr(), tensor->const_data_ptr());
  EXPECT_EQ(view->size(0), 3);
}

TEST(AtenTensorPtrTest, SizesChangeWithinTheMemoryUnlessStatic) {
  using namespace executorch::extension;  // NOLINT
  TensorPtr tensor = make_tensor_ptr({2, 3}, {1, 2, 3, 4, 5, 6}, at::kInt);
  EXPECT_EQ(resize_tensor_ptr(tensor, {2, 2}), Error::Ok);
  EXPECT_TRUE(at::equal(*tensor, at::arange(1, 5, at::kInt).reshape({2, 2})));
  EXPECT_EQ(resize_tensor_ptr(tensor, {6, 1}), Error::Ok);
  EXPECT_EQ(resize_tensor_ptr(tensor, {7, 1}), Error::NotSupported);
  EXPECT_EQ(resize_tensor_ptr(tensor, {6}), Error::NotSupported);
  EXPECT_EQ(tensor->sizes(), at::IntArrayRef({6, 1}));
  float data[6] = {};
  TensorPtr fixed = from_blob(data, {2, 3}, at::kFloat, executorch::aten::TensorShapeDynamism::STATIC);
  EXPECT_EQ(resize_tensor_ptr(fixed, {3, 2}), Error::NotSupported);
}

TEST(AtenTensorPtrTest, TheDeleterIsCalledOnce) {
  using namespace executorch::extension;  // NOLINT
  int calls = 0;
  float data[2] = {1, 2};
  at::Tensor kept;
  {
    const TensorPtr tensor = from_blob(data, {2}, at::kFloat, [&calls](void*) { ++calls; });
    kept = *tensor;
  }
  EXPECT_EQ(calls, 0) << "an at::Tensor keeps its memory itself";
  kept.reset();
  EXPECT_EQ(calls, 1);
}

}  // namespace
