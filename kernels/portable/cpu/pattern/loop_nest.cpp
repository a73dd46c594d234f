// SPDX-License-Identifier: BSD-3-Clause
#include "kernels/portable/cpu/pattern/loop_nest.h"

#include <algorithm>

namespace torch::executor::native {

template <size_t N>
void LoopNest<N>::push(int64_t size, const int64_t (&strides)[N]) {
  if (size == 1) {
    return;
  }
  bool continues = depth_ > 0;
  for (size_t n = 0; continues && n < N; ++n) {
    continues = strides_[depth_ - 1][n] == strides[n] * size;
  }
  if (continues) {
    sizes_[depth_ - 1] *= size;
  } else {
    sizes_[depth_++] = size;
  }
  std::copy(strides, strides + N, strides_[depth_ - 1]);
}

template <size_t N>
int64_t LoopNest<N>::pop(int64_t (&strides)[N]) {
  if (depth_ == 0) {
    std::fill(strides, strides + N, 0);
    return 1;
  }
  --depth_;
  std::copy(strides_[depth_], strides_[depth_] + N, strides);
  return sizes_[depth_];
}

template <size_t N>
void LoopNest<N>::walk(void (*call)(const void*, const int64_t*), const void* body) const {
  int64_t offsets[N] = {};
  int64_t index[kTensorDimensionLimit] = {};
  for (;;) {
    call(body, offsets);
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

template class LoopNest<1>;
template class LoopNest<2>;
template class LoopNest<3>;
template class LoopNest<4>;

}  // namespace torch::executor::native
