// SPDX-License-Identifier: BSD-3-Clause
// An application with the high-level API: adds two tensors with the program it is given.
#include <cstdio>

#include <executorch/extension/module/module.h>
#include <executorch/extension/tensor/tensor.h>

using executorch::extension::from_blob;
using executorch::extension::Module;

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: %s add.pte\n", argv[0]);
    return 2;
  }
  Module module(argv[1]);
  float x[6] = {1, 2, 3, 4, 5, 6};
  const auto input = from_blob(x, {2, 3});
  const auto result = module.forward({input, input});
  if (!result.ok()) {
    std::fprintf(stderr, "forward failed: %s\n", to_string(result.error()));
    return 1;
  }
  const float* const sums = result->at(0).toTensor().const_data_ptr<float>();
  for (int i = 0; i < 6; ++i) {
    if (sums[i] != 2 * x[i]) {
      std::fprintf(stderr, "sum %d is %g\n", i, static_cast<double>(sums[i]));
      return 1;
    }
  }
  std::puts("the sums are right");
  return 0;
}
