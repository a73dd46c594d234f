// SPDX-License-Identifier: BSD-3-Clause
// Inputs of a method, of zeros.
#pragma once

#include <cstdio>
#include <vector>

#include <executorch/extension/tensor/tensor_ptr_maker.h>
#include <executorch/runtime/core/evalue.h>
#include <executorch/runtime/executor/method_meta.h>

namespace executorch {
namespace bench {

struct Zeros {
  std::vector<extension::TensorPtr> tensors;
  std::vector<runtime::EValue> values;

  /// False, with a line on stderr, when an input is no tensor.
  bool make(const runtime::MethodMeta& meta) {
    for (size_t index = 0; index < meta.num_inputs(); ++index) {
      const auto tensor = meta.input_tensor_meta(index);
      if (!tensor.ok()) {
        std::fprintf(stderr, "input %zu is no tensor\n", index);
        return false;
      }
      const auto sizes = tensor->sizes();
      tensors.push_back(extension::zeros({sizes.begin(), sizes.end()}, tensor->scalar_type()));
      values.emplace_back(tensors.back());
    }
    return true;
  }

  long bytes() const {
    long bytes = 0;
    for (const auto& tensor : tensors) {
      bytes += static_cast<long>(tensor->nbytes());
    }
    return bytes;
  }
};

}  // namespace bench
}  // namespace executorch
