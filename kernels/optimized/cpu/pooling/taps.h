// SPDX-License-Identifier: BSD-3-Clause
// Pooling of a run of adjacent windows, one element of each window (a tap) at a time, for the best instruction set of
// the machine.
#pragma once

#include <cstdint>

namespace torch::executor::native {

/// The most windows of a run.
constexpr int64_t kPoolRun = 256;

/// Updates the maxima of `count` windows: for window i, compares in[i * step], whose index is position +
/// i * position_step, with largest[i], and stores the larger value and its index in place[i]. NaN is larger than any
/// number.
void max_tap(const float* in, int64_t step, int32_t position, int32_t position_step, int64_t count, float* largest,
             int32_t* place);

/// sums[i] += in[i * step] for i < count
void add_tap(const float* in, int64_t step, int64_t count, float* sums);

}  // namespace torch::executor::native
