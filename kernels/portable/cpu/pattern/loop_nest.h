// SPDX-License-Identifier: BSD-3-Clause
// A nest of loops over the elements of several tensors of one shape, each with its own strides.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/portable/cpu/pattern/types.h"

namespace torch::executor::native {

/// Loops, outermost first, for N operands. Strides are in elements; 0 broadcasts.
template <size_t N>
class LoopNest {
 public:
  size_t depth() const { return depth_; }
  int64_t size(size_t level) const { return sizes_[level]; }
  int64_t stride(size_t level, size_t operand) const { return strides_[level][operand]; }

  /// Adds a loop inside the present ones. A loop of one iteration is dropped and one that continues the loop around it
  /// for every operand is merged with it.
  void push(int64_t size, const int64_t (&strides)[N]) {
    if (size == 1) {
      return;
    }
    if (depth_ > 0) {
      bool continues = true;
      for (size_t n = 0; n < N; ++n) {
        continues = continues && strides_[depth_ - 1][n] == strides[n] * size;
      }
      if (continues) {
        sizes_[depth_ - 1] *= size;
        set_strides(depth_ - 1, strides);
        return;
      }
    }
    sizes_[depth_] = size;
    set_strides(depth_, strides);
    ++depth_;
  }

  /// The innermost loop (one iteration if there is none), taken out of the nest.
  int64_t pop(int64_t (&strides)[N]) {
    if (depth_ == 0) {
      for (size_t n = 0; n < N; ++n) {
        strides[n] = 0;
      }
      return 1;
    }
    --depth_;
    for (size_t n = 0; n < N; ++n) {
      strides[n] = strides_[depth_][n];
    }
    return sizes_[depth_];
  }

  /// Calls `body(offsets)` for every iteration of the nest; `offsets[n]` is the element offset of operand n. No size
  /// may be zero.
  template <typename Body>
  void for_each(const Body& body) const {
    int64_t offsets[N] = {};
    int64_t index[kTensorDimensionLimit] = {};
    for (;;) {
      body(offsets);
      size_t level = depth_;
      for (;;) {
        if (level == 0) {
          return;
        }
        --level;
        for (size_t n = 0; n < N; ++n) {
          offsets[n] += strides_[level][n];
        }
        if (++index[level] < sizes_[level]) {
          break;
        }
        for (size_t n = 0; n < N; ++n) {
          offsets[n] -= strides_[level][n] * sizes_[level];
        }
        index[level] = 0;
      }
    }
  }

 private:
  void set_strides(size_t level, const int64_t (&strides)[N]) {
    for (size_t n = 0; n < N; ++n) {
      strides_[level][n] = strides[n];
    }
  }

  size_t depth_ = 0;
  int64_t sizes_[kTensorDimensionLimit];
  int64_t strides_[kTensorDimensionLimit][N];
};

}  // namespace torch::executor::native
