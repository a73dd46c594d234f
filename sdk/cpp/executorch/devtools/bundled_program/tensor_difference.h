// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>

#include <executorch/runtime/core/exec_aten/exec_aten.h>

namespace executorch {
namespace runtime {
namespace internal {

/// The tolerance for comparing two numbers.
struct Tolerance {
  double relative;
  double absolute;
};

/// Sums over pairs of elements.
struct Differences {
  size_t count = 0;
  double sum_absolute = 0;
  double max_absolute = 0;
  double sum_relative = 0;
  double max_relative = 0;

  /// Adds the pair.
  void add(double found, double expected);
};

/// Whether |found - expected| <= atol + rtol * |expected|; infinities and NaN are only close to themselves.
bool is_close(double found, double expected, Tolerance tolerance);

/// Index, in logical order, of the first pair of elements that differ: in floating-point tensors by more than the
/// tolerance, in others by any amount. Returns numel() when all agree. The tensors have data and the same dtype and
/// sizes; their dim orders may differ.
size_t first_difference(const executorch::aten::Tensor& found, const executorch::aten::Tensor& expected,
                        Tolerance tolerance);

/// Adds all pairs of elements of two such tensors. False for dtypes that are not numeric.
bool add_differences(const executorch::aten::Tensor& found, const executorch::aten::Tensor& expected,
                     Differences* differences);

}  // namespace internal
}  // namespace runtime
}  // namespace executorch
