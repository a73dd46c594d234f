// SPDX-License-Identifier: BSD-3-Clause
// Results must be bitwise equal to those of the portable kernel, at sizes around those of vectors and runs.
#include <kernels/optimized_native_cpu/NativeFunctions.h>

#include "kernels/portable/test/kernel_test.h"

namespace torch::executor::native {
namespace {

using executorch::aten::IntArrayRef;
using Sizes = std::vector<int32_t>;

struct PoolCase {
  Sizes in;  // (N, C, D, H, W) or (C, D, H, W)
  std::vector<int64_t> kernel, stride, padding, dilation;
  bool ceil_mode;
};

const PoolCase kCases[] = {
    {{1, 3, 5, 12, 41}, {3, 3, 3}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, false},  // usual; rows are not multiples of vectors
    {{2, 3, 4, 9, 10}, {1, 3, 3}, {1, 2, 2}, {0, 1, 1}, {1, 1, 1}, false},   // pictures alone
    {{1, 2, 7, 3, 600}, {2, 2, 2}, {2, 1, 1}, {0, 0, 0}, {1, 1, 1}, false},  // a row of several runs
    {{1, 2, 9, 20, 21}, {3, 3, 2}, {3, 3, 3}, {1, 1, 1}, {2, 2, 3}, true},   // dilation, and rounding up
    {{1, 4, 7, 7, 19}, {4, 4, 4}, {2, 2, 2}, {2, 2, 2}, {1, 1, 1}, true},    // a last window that starts in the padding
    {{1, 1, 3, 3, 3}, {101, 101, 101}, {1, 1, 1}, {50, 50, 50}, {1, 1, 1}, true},  // a kernel larger than the input
    {{0, 2, 4, 4, 4}, {2, 2, 2}, {2, 2, 2}, {0, 0, 0}, {1, 1, 1}, false},          // no elements
    {{5, 6, 7, 17}, {2, 3, 3}, {2, 2, 2}, {1, 1, 1}, {1, 1, 1}, false},            // without a batch
    {{2, 32, 8, 14, 15}, {3, 3, 3}, {2, 2, 2}, {1, 1, 1}, {1, 1, 1}, false},       // enough for threads
    {{2, 1, 3, 8, 1}, {2, 2, 1}, {1, 1, 1}, {0, 0, 0}, {1, 1, 1}, false},          // columns of one element
};

class OptimizedMaxPool3dTest : public KernelTest {
 protected:
  TensorFactory<ScalarType::Float> tf;
  TensorFactory<ScalarType::Long> indices;

  static size_t count_of(const Sizes& sizes) {
    size_t count = 1;
    for (int32_t size : sizes) {
      count *= static_cast<size_t>(size);
    }
    return count;
  }

  static std::vector<uint8_t> order_of(const Sizes& sizes, bool channels_last) {
    if (sizes.size() == 4) {
      return channels_last ? std::vector<uint8_t>{1, 2, 3, 0} : std::vector<uint8_t>{0, 1, 2, 3};
    }
    return channels_last ? std::vector<uint8_t>{0, 2, 3, 4, 1} : std::vector<uint8_t>{0, 1, 2, 3, 4};
  }

  // Values that include NaN, infinities and equal numbers.
  Tensor input(const Sizes& sizes, bool channels_last) {
    std::vector<float> values = sample_values(count_of(sizes));
    for (size_t i = 0; i < values.size(); i += 97) {
      values[i] = i % 3 == 0 ? kNaN : i % 3 == 1 ? -kInfinity : kInfinity;
    }
    return tf.make_with_dimorder(sizes, values, order_of(sizes, channels_last));
  }

  // An output that is larger than any result, so that the kernel resizes it.
  template <typename Factory>
  Tensor result(Factory& factory, const PoolCase& c, bool channels_last) {
    Sizes sizes = c.in;
    for (size_t i = sizes.size() - 3; i < sizes.size(); ++i) {
      sizes[i] = 2 * sizes[i] + 8;
    }
    std::vector<typename Factory::ctype> values(count_of(sizes));
    return factory.make_with_dimorder(sizes, values, order_of(sizes, channels_last),
                                      TensorShapeDynamism::DYNAMIC_BOUND);
  }
};

TEST_F(OptimizedMaxPool3dTest, MatchesPortable) {
  for (const PoolCase& c : kCases) {
    for (const bool channels_last : {false, true}) {
      SCOPED_TRACE(::testing::Message() << "case " << (&c - kCases) << ", channels last " << channels_last);
      const Tensor in = input(c.in, channels_last);
      Tensor out = result(tf, c, channels_last), want = result(tf, c, channels_last);
      Tensor places = result(indices, c, channels_last), want_places = result(indices, c, channels_last);
      const IntArrayRef kernel(c.kernel.data(), 3), stride(c.stride.data(), 3), padding(c.padding.data(), 3),
          dilation(c.dilation.data(), 3);
      opt_max_pool3d_with_indices_out(ctx, in, kernel, stride, padding, dilation, c.ceil_mode, out, places);
      max_pool3d_with_indices_out(ctx, in, kernel, stride, padding, dilation, c.ceil_mode, want, want_places);
      ASSERT_TENSOR_EQ(out, want);
      ASSERT_TENSOR_EQ(places, want_places);
    }
  }
}

TEST_F(OptimizedMaxPool3dTest, OtherTypesAreThoseOfThePortableKernel) {
  TensorFactory<ScalarType::Int> ints;
  const int64_t two = 2, zero = 0, one = 1;
  Tensor out = ints.zeros({1, 1, 1, 2}), places = indices.zeros({1, 1, 1, 2});
  opt_max_pool3d_with_indices_out(ctx, ints.make({1, 2, 2, 4}, {1, 2, 3, 4, 8, 7, 6, 5, 0, 0, 9, 0, 0, 0, 0, 9}),
                                  IntArrayRef(&two, 1), {}, IntArrayRef(&zero, 1), IntArrayRef(&one, 1), false, out,
                                  places);
  EXPECT_TENSOR_EQ(out, ints.make({1, 1, 1, 2}, {8, 9}));
  EXPECT_TENSOR_EQ(places, indices.make({1, 1, 1, 2}, {4, 10}));
}

TEST_F(OptimizedMaxPool3dTest, RefusesWhatPortableRefuses) {
  const int64_t two = 2, minus = -1;
  Tensor out = tf.zeros({1, 1, 2, 2, 2}), places = indices.zeros({1, 1, 2, 2, 2});
  opt_max_pool3d_with_indices_out(ctx, tf.zeros({1, 1, 4, 4, 4}), IntArrayRef(&minus, 1), {}, IntArrayRef(&two, 1),
                                  IntArrayRef(&two, 1), false, out, places);
  expect_failure();
}

}  // namespace
}  // namespace torch::executor::native
