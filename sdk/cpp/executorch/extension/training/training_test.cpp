// SPDX-License-Identifier: BSD-3-Clause
// Training takes the same steps as PyTorch eager: tests/data/training, with losses and parameters of torch.optim.SGD.
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <executorch/extension/data_loader/file_data_loader.h>
#include <executorch/extension/flat_tensor/flat_tensor_data_map.h>
#include <executorch/extension/tensor/tensor.h>
#include <executorch/extension/training/module/state_dict_util.h>
#include <executorch/extension/training/module/training_module.h>
#include <executorch/extension/training/optimizer/sgd.h>
#include <executorch/runtime/platform/runtime.h>

#include "paths.h"

using executorch::aten::ScalarType;
using executorch::aten::Tensor;
using executorch::extension::FileDataLoader;
using executorch::extension::FlatTensorDataMap;
using executorch::extension::make_tensor_ptr;
using executorch::extension::TensorPtr;
using executorch::extension::training::load_state_dict;
using executorch::extension::training::TrainingModule;
using executorch::extension::training::optimizer::SGD;
using executorch::extension::training::optimizer::SGDOptions;
using executorch::extension::training::optimizer::SGDParamGroup;
using executorch::runtime::DataLoader;
using executorch::runtime::Error;
using executorch::runtime::EValue;
using executorch::tests::kDataFolder;

namespace {

using NamedTensors = std::map<std::string_view, Tensor>;

const std::string kFolder = std::string(kDataFolder) + "/training";
constexpr size_t kSteps = 40;

std::unique_ptr<DataLoader> open(const std::string& name) {
  auto loader = FileDataLoader::from((kFolder + "/" + name).c_str());
  EXPECT_TRUE(loader.ok()) << name;
  return std::make_unique<FileDataLoader>(std::move(loader.get()));
}

std::unique_ptr<TrainingModule> load(const std::string& name) {
  std::unique_ptr<DataLoader> data = name == "xor" ? nullptr : open(name + ".ptd");
  return std::make_unique<TrainingModule>(open(name + ".pte"), nullptr, nullptr, nullptr, std::move(data));
}

/// expected.json: the numbers of the list behind a key, at its nth occurrence.
std::vector<double> expected(const std::string& key, size_t nth) {
  static const std::string text = [] {
    std::ifstream file(kFolder + "/expected.json");
    return std::string(std::istreambuf_iterator<char>(file), {});
  }();
  size_t at = 0;
  for (size_t i = 0; i <= nth; ++i) {
    at = text.find("\"" + key + "\": [", at) + 1;
  }
  EXPECT_NE(at, std::string::npos + 1) << key;
  std::vector<double> numbers;
  const char* next = text.c_str() + text.find('[', at) + 1;
  for (char* end = nullptr; numbers.empty() || *next == ','; next = end) {
    numbers.push_back(std::strtod(next + (*next == ',' ? 1 : 0), &end));
  }
  return numbers;
}

void expect_near(const std::vector<double>& wanted, const float* found, size_t count) {
  ASSERT_EQ(wanted.size(), count);
  // Both compute in float32 but add in another order; the differences grow over 40 steps.
  for (size_t i = 0; i < count; ++i) {
    EXPECT_NEAR(found[i], wanted[i], 2e-5 * (1 + std::abs(wanted[i]))) << i;
  }
}

struct Point {
  TensorPtr x;
  TensorPtr target;
  std::vector<EValue> inputs() const { return {*x, *target}; }
};

/// The points of XOR in the order of expected.json.
std::vector<Point> points() {
  std::vector<Point> made;
  for (const int64_t first : {0, 1}) {
    for (const int64_t second : {0, 1}) {
      made.push_back(
          {make_tensor_ptr({1, 2}, std::vector<float>{static_cast<float>(first), static_cast<float>(second)}),
           make_tensor_ptr({1}, std::vector<int64_t>{first ^ second})});
    }
  }
  return made;
}

struct Case {
  const char* program;
  size_t run;
  SGDOptions options;
};

class TrainingTest : public testing::TestWithParam<Case> {
 protected:
  void SetUp() override { executorch::runtime::runtime_init(); }
};

// BLD2-21, RT-17: with the losses and the parameters of eager after 40 steps; weights inside of the program, and
// outside.
TEST_P(TrainingTest, TakesTheStepsOfEager) {
  const auto& [program, run, options] = GetParam();
  const auto module = load(program);
  const auto parameters = module->named_parameters("forward");
  ASSERT_TRUE(parameters.ok());
  SGD optimizer(*parameters, options);
  std::vector<float> losses;
  const auto data = points();
  for (size_t step = 0; step < kSteps; ++step) {
    const auto outputs = module->execute_forward_backward("forward", data[step % data.size()].inputs());
    ASSERT_TRUE(outputs.ok());
    ASSERT_EQ(outputs->size(), 2u) << "the loss and the prediction";
    losses.push_back(outputs->at(0).toTensor().const_data_ptr<float>()[0]);
    const auto gradients = module->named_gradients("forward");
    ASSERT_TRUE(gradients.ok());
    ASSERT_EQ(optimizer.step(*gradients), Error::Ok);
  }
  expect_near(expected("losses", run), losses.data(), losses.size());
  ASSERT_EQ(parameters->size(), 4u);
  for (const auto& [name, tensor] : *parameters) {
    SCOPED_TRACE(std::string(name));
    expect_near(expected(std::string(name), run), tensor.const_data_ptr<float>(), static_cast<size_t>(tensor.numel()));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Options, TrainingTest,
    testing::Values(Case{"xor", 0, SGDOptions(0.1)}, Case{"xor", 1, SGDOptions(0.1, 0.9, 0.5, 0.01)},
                    Case{"xor", 2, SGDOptions(0.05, 0.8, 0, 0.001, true)}, Case{"xor_external", 0, SGDOptions(0.1)},
                    Case{"xor_external", 1, SGDOptions(0.1, 0.9, 0.5, 0.01)},
                    Case{"xor_external", 2, SGDOptions(0.05, 0.8, 0, 0.001, true)}),
    [](const auto& info) { return std::string(info.param.program) + "_" + std::to_string(info.param.run); });

TEST(TrainingModuleTest, GradientsNeedARun) {
  executorch::runtime::runtime_init();
  const auto module = load("xor");
  EXPECT_EQ(module->named_gradients("forward").error(), Error::InvalidState);
  const auto data = points();
  ASSERT_TRUE(module->execute_forward_backward("forward", data[1].inputs()).ok());
  const auto gradients = module->named_gradients("forward");
  ASSERT_TRUE(gradients.ok());
  EXPECT_EQ(gradients->at("second.weight").sizes()[0], 2);
  EXPECT_EQ(gradients->at("second.weight").sizes()[1], 10);
  EXPECT_TRUE(module->unload_method("forward"));
  EXPECT_EQ(module->named_gradients("forward").error(), Error::InvalidState);
  EXPECT_FALSE(module->unload_method("forward"));
}

TEST(TrainingModuleTest, NamedAttributesAreTheParametersOutsideOfTheProgram) {
  executorch::runtime::runtime_init();
  const auto module = load("xor_external");
  const auto attributes = module->named_attributes("forward");
  ASSERT_TRUE(attributes.ok());
  const auto parameters = module->named_parameters("forward");
  ASSERT_TRUE(parameters.ok());
  ASSERT_EQ(attributes->size(), parameters->size());
  for (const auto& [name, tensor] : *parameters) {
    EXPECT_EQ(attributes->at(name).const_data_ptr(), tensor.const_data_ptr()) << name;
  }
  const auto inside = load("xor")->named_attributes("forward");
  ASSERT_TRUE(inside.ok());
  EXPECT_TRUE(inside->empty());
}

TEST(TrainingModuleTest, OtherMethodsAreRefused) {
  executorch::runtime::runtime_init();
  const auto module = load("xor");
  EXPECT_EQ(module->execute_forward_backward("backward", {}).error(), Error::InvalidArgument);
  EXPECT_EQ(module->named_parameters("__et_training_fqn_forward").error(), Error::InvalidArgument);
  EXPECT_EQ(module->named_attributes("backward").error(), Error::InvalidArgument);
  EXPECT_FALSE(module->execute_forward_backward("forward", {}).ok());
  TrainingModule nothing(open("xor_external.ptd"));
  EXPECT_FALSE(nothing.named_parameters("forward").ok());
}

TEST(StateDictTest, HasTheTensorsOfAFile) {
  executorch::runtime::runtime_init();
  const auto loader = open("xor_external.ptd");
  const auto map = FlatTensorDataMap::load(loader.get());
  ASSERT_TRUE(map.ok());
  const auto state = load_state_dict(*map);
  ASSERT_TRUE(state.ok());
  const auto module = load("xor_external");
  const auto parameters = module->named_parameters("forward");
  ASSERT_TRUE(parameters.ok());
  ASSERT_EQ(state->size(), parameters->size());
  for (const auto& [name, tensor] : *parameters) {
    const TensorPtr& loaded = state->at(std::string(name));
    ASSERT_EQ(loaded->sizes(), tensor.sizes()) << name;
    for (ssize_t i = 0; i < tensor.numel(); ++i) {
      EXPECT_EQ(loaded->const_data_ptr<float>()[i], tensor.const_data_ptr<float>()[i]) << name;
    }
  }
}

class SGDTest : public testing::Test {
 protected:
  void SetUp() override { executorch::runtime::runtime_init(); }

  TensorPtr weight = make_tensor_ptr({2}, std::vector<double>{1, 2});
  TensorPtr gradient = make_tensor_ptr({2}, std::vector<double>{10, 20});
  NamedTensors weights{{"w", *weight}};
  NamedTensors gradients{{"w", *gradient}};

  void expect_weight(double first, double second) {
    EXPECT_DOUBLE_EQ(weight->const_data_ptr<double>()[0], first);
    EXPECT_DOUBLE_EQ(weight->const_data_ptr<double>()[1], second);
  }
};

// By hand: v = 10, then 0.5 * 10 + (1 - 0.25) * 10 = 12.5; of the second element twice that.
TEST_F(SGDTest, DoublesWithMomentumAndDampening) {
  SGD optimizer(weights, SGDOptions(0.25, 0.5, 0.25));
  ASSERT_EQ(optimizer.step(gradients), Error::Ok);
  expect_weight(1 - 2.5, 2 - 5.0);
  ASSERT_EQ(optimizer.step(gradients), Error::Ok);
  expect_weight(1 - 2.5 - 3.125, 2 - 5.0 - 6.25);
}

TEST_F(SGDTest, GroupsHaveOptionsOfTheirOwnAndMayComeLater) {
  const TensorPtr other = make_tensor_ptr({1}, std::vector<float>{4});
  const TensorPtr other_gradient = make_tensor_ptr({1}, std::vector<float>{2});
  SGD optimizer(std::vector<SGDParamGroup>{SGDParamGroup(weights, std::make_unique<SGDOptions>(1.0))}, SGDOptions(0.5));
  optimizer.add_param_group(NamedTensors{{"other", *other}});
  ASSERT_EQ(optimizer.step({{"w", *gradient}, {"other", *other_gradient}}), Error::Ok);
  expect_weight(1 - 10, 2 - 20);
  EXPECT_EQ(other->const_data_ptr<float>()[0], 3);
  // A parameter without a gradient does not change.
  ASSERT_EQ(optimizer.step({{"other", *other_gradient}}), Error::Ok);
  expect_weight(1 - 10, 2 - 20);
}

TEST_F(SGDTest, ATensorWithoutElementsHasNothingToStep) {
  const TensorPtr empty = make_tensor_ptr({0, 3}, std::vector<float>{});
  SGD optimizer(NamedTensors{{"empty", *empty}}, SGDOptions(0.1, 0.9));
  EXPECT_EQ(optimizer.step({{"empty", *empty}}), Error::Ok);
}

TEST_F(SGDTest, WrongGradientsChangeNothing) {
  SGD optimizer(weights, SGDOptions(1));
  const TensorPtr shorter = make_tensor_ptr({1}, std::vector<double>{1});
  const TensorPtr floats = make_tensor_ptr({2}, std::vector<float>{1, 1});
  EXPECT_EQ(optimizer.step({{"v", *gradient}}), Error::InvalidArgument);
  EXPECT_EQ(optimizer.step({{"w", *gradient}, {"x", *gradient}}), Error::InvalidArgument);
  EXPECT_EQ(optimizer.step({{"w", *shorter}}), Error::InvalidArgument);
  EXPECT_EQ(optimizer.step({{"w", *floats}}), Error::InvalidArgument);
  expect_weight(1, 2);
  const TensorPtr rows = make_tensor_ptr({2, 2}, std::vector<float>{1, 2, 3, 4});
  const TensorPtr columns = make_tensor_ptr({2, 2}, std::vector<float>{1, 2, 3, 4}, {1, 0});
  SGD of_rows(NamedTensors{{"m", *rows}}, SGDOptions(1));
  EXPECT_EQ(of_rows.step({{"m", *columns}}), Error::InvalidArgument);
  const TensorPtr numbers = make_tensor_ptr({1}, std::vector<int64_t>{1});
  SGD of_integers(NamedTensors{{"n", *numbers}}, SGDOptions(1));
  EXPECT_EQ(of_integers.step({{"n", *numbers}}), Error::InvalidArgument);
}

TEST_F(SGDTest, TensorsWithoutDataAreErrorsOfTheStep) {
  executorch::aten::SizesType sizes[] = {2};
  executorch::aten::DimOrderType order[] = {0};
  executorch::aten::TensorImpl impl(ScalarType::Double, 1, sizes, nullptr, order);
  for (const Tensor& wrong : {Tensor(&impl), Tensor(nullptr)}) {
    for (const double momentum : {0.0, 0.5}) {
      SGD optimizer(weights, SGDOptions(1, momentum));
      EXPECT_EQ(optimizer.step({{"w", wrong}}), Error::InvalidArgument) << "the gradient";
      SGD of_wrong(NamedTensors{{"w", wrong}}, SGDOptions(1, momentum));
      EXPECT_EQ(of_wrong.step(gradients), Error::InvalidArgument) << "the parameter";
    }
  }
  expect_weight(1, 2);
}

TEST_F(SGDTest, WrongOptionsAndNamesAreErrorsOfTheStep) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const SGDOptions& options : {SGDOptions(-1), SGDOptions(nan), SGDOptions(1, -1), SGDOptions(1, 0, 0, -1),
                                    SGDOptions(1, nan), SGDOptions(1, 0, 0, nan), SGDOptions(1, 0.5, nan),
                                    SGDOptions(1, 0, 0, 0, true), SGDOptions(1, 0.5, 0.5, 0, true)}) {
    SGD optimizer(weights, options);
    EXPECT_EQ(optimizer.step(gradients), Error::InvalidArgument);
  }
  SGD twice(std::vector<SGDParamGroup>{weights, weights}, SGDOptions(1));
  EXPECT_EQ(twice.step(gradients), Error::InvalidArgument);
  expect_weight(1, 2);
}

}  // namespace
