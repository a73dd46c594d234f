// SPDX-License-Identifier: BSD-3-Clause
// Inputs of a method, of zeros.
#pragma once

#include <cstdint>
#include <cstdio>
#include <vector>

#include <executorch/extension/tensor/tensor_ptr_maker.h>
#include <executorch/runtime/core/evalue.h>
#include <executorch/runtime/executor/method_meta.h>

namespace executorch {
namespace bench {

struct Zeros {
  std::vector<std::vector<uint8_t>> elements;
  std::vector<extension::TensorPtr> tensors;
  std::vector<runtime::EValue> values;

  /// False, with a line on stderr, when an input is not a tensor.
  bool make(const runtime::MethodMeta& meta) {
    for (size_t index = 0; index < meta.num_inputs(); ++index) {
      const auto tensor = meta.input_tensor_meta(index);
      if (!tensor.ok()) {
        std::fprintf(stderr, "input %zu is not a tensor\n", index);
        return false;
      }
      const auto sizes = tensor->sizes();
      elements.emplace_back(tensor->nbytes());
      tensors.push_back(
          extension::from_blob(elements.back().data(), {sizes.begin(), sizes.end()}, tensor->scalar_type()));
      values.emplace_back(tensors.back());
    }
    return true;
  }

  long bytes() const {
    long bytes = 0;
    for (const auto& of_tensor : elements) {
      bytes += static_cast<long>(of_tensor.size());
    }
    return bytes;
  }
};

}  // namespace bench
}  // namespace executorch
