// SPDX-License-Identifier: BSD-3-Clause
// Addition to single elements of a dtype, for operators that scatter.
#pragma once

#include "kernels/portable/cpu/pattern/arithmetic.h"
#include "kernels/portable/cpu/pattern/complex_number.h"

namespace torch::executor::native {

/// Adds the element at `from` to the one at `to`. Both have the given dtype, which must be a number.
class ElementAccumulate {
 public:
  explicit ElementAccumulate(ScalarType dtype)
      : dtype_(dtype), type_(arithmetic_type(dtype)), load_(load_fn(dtype, type_)), store_(store_fn(type_, dtype)) {}

  void operator()(void* to, const void* from) const {
    if (is_complex(dtype_)) {
      return write_complex(to, dtype_, 0, read_complex(to, dtype_, 0) + read_complex(from, dtype_, 0));
    }
    with_arithmetic_type(type_, [&](auto zero) {
      decltype(zero) sum;
      decltype(zero) addend;
      load_(&sum, to, 1);
      load_(&addend, from, 1);
      sum = wrapping_add(sum, addend);
      store_(to, &sum, 1);
    });
  }

 private:
  ScalarType dtype_;
  ComputeType type_;
  ConvertFn load_;
  ConvertFn store_;
};

}  // namespace torch::executor::native
