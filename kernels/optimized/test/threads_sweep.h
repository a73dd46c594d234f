// SPDX-License-Identifier: BSD-3-Clause
// The calls that threads_sweep_test.cpp repeats on several numbers of threads.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "kernels/portable/test/kernel_test.h"

namespace torch::executor::native {

using Sizes = std::vector<int32_t>;

/// Calls of a kernel that run at the same time, each with its own outputs.
constexpr size_t kNested = 2;

struct Call {
  std::string sizes;
  Sizes out;
  /// The last argument is the number of the call among those that run at the same time.
  std::function<void(KernelRuntimeContext&, Tensor&, size_t)> run;
};

/// Creates the calls of one kernel and owns their tensors.
class Calls {
 public:
  std::vector<Call> all;

  Tensor values(const Sizes& sizes, uint32_t seed) {
    Tensor tensor = floats_.zeros(sizes);
    float* data = tensor.mutable_data_ptr<float>();
    uint32_t state = seed * 2654435761u + 1;
    for (ssize_t i = 0; i < tensor.numel(); ++i) {
      state = state * 1664525u + 1013904223u;
      data[i] = static_cast<float>(state >> 8) / 8388608.0f - 1.0f;  // such that sums are rounded
    }
    return tensor;
  }
  Tensor positive(const Sizes& sizes, uint32_t seed) {
    Tensor tensor = values(sizes, seed);
    for (ssize_t i = 0; i < tensor.numel(); ++i) {
      tensor.mutable_data_ptr<float>()[i] += 1.5f;
    }
    return tensor;
  }
  Tensor channels_last(const Sizes& sizes, uint32_t seed) {
    const Tensor from = values(sizes, seed);
    const std::vector<float> data(from.const_data_ptr<float>(), from.const_data_ptr<float>() + from.numel());
    return floats_.make(sizes, data, strides_of(sizes));
  }
  Tensor zeros(const Sizes& sizes) { return floats_.zeros(sizes); }
  Tensor indices(const Sizes& sizes) { return longs_.zeros(sizes); }

  void add(std::string sizes, Sizes out, std::function<void(KernelRuntimeContext&, Tensor&, size_t)> run) {
    all.push_back({std::move(sizes), std::move(out), std::move(run)});
  }

 private:
  static Sizes strides_of(const Sizes& sizes) {
    return {sizes[1] * sizes[2] * sizes[3], 1, sizes[1] * sizes[3], sizes[1]};
  }

  TensorFactory<ScalarType::Float> floats_;
  TensorFactory<ScalarType::Long> longs_;
};

/// A kernel of the library by the name of its operator, and the function that adds its calls.
struct SweptKernel {
  const char* name;
  void (*add_calls)(Calls& calls);
};

/// Every kernel of the library, at sizes around the grain sizes of threads.
ArrayRef<SweptKernel> swept_kernels();

}  // namespace torch::executor::native
