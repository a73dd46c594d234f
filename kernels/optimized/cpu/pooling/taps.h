// SPDX-License-Identifier: BSD-3-Clause
// Pooling, one element of the windows (a tap) at a time for a run of neighbouring windows, for the best instruction set
// of the machine.
#pragma once

#include <cstdint>

namespace torch::executor::native {

/// Windows of a run at most.
constexpr int64_t kPoolRun = 256;

/// For window i of `count` the element in[i * step] at position + i * position_step: largest[i] and its place[i]. A NaN
/// is larger than anything.
void max_tap(const float* in, int64_t step, int32_t position, int32_t position_step, int64_t count, float* largest,
             int32_t* place);

/// sums[i] += in[i * step] for i < count
void add_tap(const float* in, int64_t step, int64_t count, float* sums);

}  // namespace torch::executor::native
