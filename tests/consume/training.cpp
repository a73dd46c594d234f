// SPDX-License-Identifier: BSD-3-Clause
// An application that trains: a program without gradients is refused, and the optimizer takes a step.
#include <cstdio>
#include <map>
#include <memory>
#include <string_view>
#include <vector>

#include <executorch/extension/data_loader/file_data_loader.h>
#include <executorch/extension/tensor/tensor.h>
#include <executorch/extension/training/module/training_module.h>
#include <executorch/extension/training/optimizer/sgd.h>

using executorch::runtime::Error;
namespace training = executorch::extension::training;

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: %s add.pte\n", argv[0]);
    return 2;
  }
  auto loader = executorch::extension::FileDataLoader::from(argv[1]);
  if (!loader.ok()) {
    return 1;
  }
  training::TrainingModule module(std::make_unique<executorch::extension::FileDataLoader>(std::move(*loader)));
  if (module.named_parameters("forward").error() != Error::InvalidArgument) {
    std::fprintf(stderr, "a program without gradients is not refused\n");
    return 1;
  }
  const auto weight = executorch::extension::make_tensor_ptr({2}, std::vector<float>{1, 2});
  const auto gradient = executorch::extension::make_tensor_ptr({2}, std::vector<float>{4, 8});
  const std::map<std::string_view, executorch::aten::Tensor> weights{{"w", *weight}};
  training::optimizer::SGD optimizer(weights, training::optimizer::SGDOptions(0.25));
  if (optimizer.step({{"w", *gradient}}) != Error::Ok || weight->const_data_ptr<float>()[1] != 0) {
    std::fprintf(stderr, "the step is wrong\n");
    return 1;
  }
  std::puts("the step is right");
  return 0;
}
