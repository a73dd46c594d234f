// SPDX-License-Identifier: BSD-3-Clause
// A nest of loops over the elements of several tensors of one shape, each with its own strides.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/portable/cpu/pattern/types.h"

namespace torch::executor::native {

/// Loops, outermost first, for N operands (1 to 4). Strides are in elements; stride 0 broadcasts.
template <size_t N>
class LoopNest {
 public:
  size_t depth() const { return depth_; }
  int64_t size(size_t level) const { return sizes_[level]; }
  int64_t stride(size_t level, size_t operand) const { return strides_[level][operand]; }

  /// Adds a loop inside the present ones. A loop of one iteration is dropped. A loop that continues the one around it
  /// for every operand is merged with it.
  void push(int64_t size, const int64_t (&strides)[N]);

  /// Removes the innermost loop (one iteration if there is none) and returns it.
  int64_t pop(int64_t (&strides)[N]);

  /// Calls `body(offsets)` for every iteration of the nest; `offsets[n]` is the element offset of operand n. No size
  /// may be zero.
  template <typename Body>
  void for_each(const Body& body) const {
    if (depth_ == 0) {  // frequent, and its body is short
      const int64_t offsets[N] = {};
      body(offsets);
      return;
    }
    walk([](const void* b, const int64_t* offsets) { (*static_cast<const Body*>(b))(offsets); }, &body);
  }

 private:
  // Compiled once for all bodies: a call through a pointer for each run costs less than a copy of this code for each
  // operator.
  void walk(void (*call)(const void* body, const int64_t* offsets), const void* body) const;

  size_t depth_ = 0;
  int64_t sizes_[kTensorDimensionLimit];
  int64_t strides_[kTensorDimensionLimit][N];
};

extern template class LoopNest<1>;
extern template class LoopNest<2>;
extern template class LoopNest<3>;
extern template class LoopNest<4>;

}  // namespace torch::executor::native
