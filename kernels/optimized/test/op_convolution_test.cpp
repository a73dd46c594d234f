// SPDX-License-Identifier: BSD-3-Clause
// Runs the portable kernel's tests on this kernel, and shapes at which this kernel changes its algorithm.
#include <kernels/optimized_native_cpu/NativeFunctions.h>
#include <kernels/portable/NativeFunctions.h>

#define convolution_out opt_convolution_out
#define ConvolutionTest OptimizedConvolutionTest
#include "kernels/portable/test/op_convolution_test.cpp"
#include "share.h"

namespace torch::executor::native {
namespace {

const Case kVectorCases[] = {
    {{1, 3, 37, 41}, {3, 1, 3, 3}, {1, 1}, {1, 1}, {1, 1}, 3, false, {0}},     // rows of whole vectors and a rest
    {{1, 2, 150, 201}, {2, 1, 3, 3}, {1, 1}, {1, 1}, {1, 1}, 2, false, {0}},   // a plane in several bands
    {{1, 2, 151, 200}, {4, 1, 5, 5}, {2, 2}, {2, 2}, {1, 1}, 2, false, {0}},   // the same, strided, two filters for
                                                                               // each channel
    {{1, 2, 40, 45}, {2, 1, 5, 3}, {3, 3}, {0, 1}, {2, 2}, 2, false, {0}},     // strided and dilated
    {{1, 1, 2, 9}, {1, 1, 5, 7}, {1, 2}, {4, 6}, {1, 1}, 1, false, {0}},       // more padding than image
    {{1, 2, 3, 70}, {2, 1, 9, 9}, {1, 1}, {4, 4}, {1, 1}, 2, false, {0}},      // too many taps
    {{1, 2, 3, 9000}, {2, 1, 3, 3}, {1, 1}, {1, 1}, {1, 1}, 2, false, {0}},    // a row that fits no band
    {{1, 33, 20, 21}, {13, 33, 3, 3}, {1, 1}, {1, 1}, {1, 1}, 1, false, {0}},  // several panels, more taps than a block
    {{1, 3, 33, 35}, {7, 3, 7, 7}, {2, 2}, {3, 3}, {1, 1}, 1, false, {0}},     // as the first layer of many models
    {{1, 20, 15, 17}, {30, 20, 1, 1}, {2, 2}, {0, 0}, {1, 1}, 1, false, {0}},  // pointwise, strided
    {{2, 30, 14, 15}, {40, 30, 1, 1}, {1, 1}, {0, 0}, {1, 1}, 1, false, {0}},  // pointwise
    {{1, 24, 10, 40}, {24, 8, 3, 3}, {1, 2}, {2, 1}, {2, 1}, 3, false, {0}},   // groups
    {{2, 12, 9, 21}, {12, 20, 3, 4}, {2, 2}, {1, 1}, {1, 1}, 1, true, {0}},    // transposed
    {{1, 12, 7, 6}, {12, 5, 5, 2}, {3, 1}, {4, 1}, {2, 3}, 2, true, {1, 0}},   // the same, dilated, in groups
    {{1, 4, 5, 70}, {4, 6, 1, 3}, {1, 4}, {0, 2}, {1, 1}, 1, true, {0, 2}},    // with gaps between the results
};

TEST_F(ConvolutionTest, ShapesAroundVectorsPanelsAndBands) {
  size_t index = 0;
  for (const Case& c : kVectorCases) {
    for (int layout : {0, 1, 5, 7}) {
      if (!::executorch::tests::in_share(index++)) {
        continue;
      }
      SCOPED_TRACE(::testing::Message() << "case " << (&c - kVectorCases) << " layout " << layout);
      check<ScalarType::Float>(c, layout % 2 == 0, (layout & 1) != 0, (layout & 2) != 0, (layout & 4) != 0);
    }
  }
}

}  // namespace
}  // namespace torch::executor::native
