// SPDX-License-Identifier: BSD-3-Clause
// Results must be bitwise equal to those of the portable kernels, at sizes around those of vectors and runs, in both
// layouts.
#include <kernels/optimized_native_cpu/NativeFunctions.h>

#include "kernels/portable/test/kernel_test.h"

namespace torch::executor::native {
namespace {

using executorch::aten::IntArrayRef;
using Sizes = std::vector<int32_t>;

struct PoolCase {
  Sizes in;  // (N, C, H, W)
  std::vector<int64_t> kernel, stride, padding, dilation;
  bool ceil_mode;
};

const PoolCase kCases[] = {
    {{1, 3, 12, 41}, {3, 3}, {2, 2}, {1, 1}, {1, 1}, false},     // usual; rows are not multiples of vectors
    {{2, 2, 9, 600}, {2, 2}, {1, 1}, {0, 0}, {1, 1}, false},     // a row of several runs
    {{1, 300, 5, 6}, {2, 3}, {1, 1}, {1, 0}, {1, 1}, false},     // channels of several runs
    {{1, 5, 20, 21}, {3, 2}, {3, 3}, {1, 1}, {2, 3}, true},      // strides without a fast path
    {{1, 4, 7, 19}, {4, 4}, {2, 2}, {2, 2}, {1, 1}, true},       // a last window that starts in the padding
    {{1, 1, 3, 3}, {101, 101}, {1, 1}, {50, 50}, {1, 1}, true},  // a kernel larger than the input
    {{0, 2, 4, 4}, {2, 2}, {2, 2}, {0, 0}, {1, 1}, false},       // no elements
    {{3, 64, 30, 33}, {3, 3}, {2, 2}, {1, 1}, {1, 1}, false},    // enough for threads
};

class OptimizedPoolTest : public KernelTest {
 protected:
  TensorFactory<ScalarType::Float> tf;
  TensorFactory<ScalarType::Long> indices;

  // An input of these sizes whose values include NaN and infinities.
  Tensor input(const Sizes& sizes, bool channels_last) {
    std::vector<float> values = sample_values(count_of(sizes));
    for (size_t i = 0; i < values.size(); i += 97) {
      values[i] = i % 3 == 0 ? kNaN : i % 3 == 1 ? -kInfinity : kInfinity;
    }
    return tf.make_with_dimorder(sizes, values, order_of(channels_last));
  }

  static size_t count_of(const Sizes& sizes) {
    size_t count = 1;
    for (int32_t size : sizes) {
      count *= static_cast<size_t>(size);
    }
    return count;
  }

  static std::vector<uint8_t> order_of(bool channels_last) {
    return channels_last ? std::vector<uint8_t>{0, 2, 3, 1} : std::vector<uint8_t>{0, 1, 2, 3};
  }

  // An output that is larger than any result, so that the kernel resizes it.
  template <typename Factory>
  Tensor result(Factory& factory, const PoolCase& c, bool channels_last) {
    const Sizes sizes = {c.in[0], c.in[1], 2 * c.in[2] + 8, 2 * c.in[3] + 8};
    std::vector<typename Factory::ctype> values(count_of(sizes));
    return factory.make_with_dimorder(sizes, values, order_of(channels_last), TensorShapeDynamism::DYNAMIC_BOUND);
  }
};

TEST_F(OptimizedPoolTest, MaxMatchesPortable) {
  for (const PoolCase& c : kCases) {
    for (const bool channels_last : {false, true}) {
      SCOPED_TRACE(::testing::Message() << "case " << (&c - kCases) << ", channels last " << channels_last);
      const Tensor in = input(c.in, channels_last);
      Tensor out = result(tf, c, channels_last), want = result(tf, c, channels_last);
      Tensor places = result(indices, c, channels_last), want_places = result(indices, c, channels_last);
      opt_max_pool2d_with_indices_out(ctx, in, IntArrayRef(c.kernel.data(), 2), IntArrayRef(c.stride.data(), 2),
                                      IntArrayRef(c.padding.data(), 2), IntArrayRef(c.dilation.data(), 2), c.ceil_mode,
                                      out, places);
      max_pool2d_with_indices_out(ctx, in, IntArrayRef(c.kernel.data(), 2), IntArrayRef(c.stride.data(), 2),
                                  IntArrayRef(c.padding.data(), 2), IntArrayRef(c.dilation.data(), 2), c.ceil_mode,
                                  want, want_places);
      ASSERT_TENSOR_EQ(out, want);
      ASSERT_TENSOR_EQ(places, want_places);
    }
  }
}

TEST_F(OptimizedPoolTest, AverageMatchesPortable) {
  for (const PoolCase& c : kCases) {
    for (const bool channels_last : {false, true}) {
      for (const bool count_padding : {false, true}) {
        for (const std::optional<int64_t> divisor : {std::optional<int64_t>(), std::optional<int64_t>(-7)}) {
          SCOPED_TRACE(::testing::Message() << "case " << (&c - kCases) << ", channels last " << channels_last);
          const Tensor in = input(c.in, channels_last);
          Tensor out = result(tf, c, channels_last), want = result(tf, c, channels_last);
          opt_avg_pool2d_out(ctx, in, IntArrayRef(c.kernel.data(), 2), IntArrayRef(c.stride.data(), 2),
                             IntArrayRef(c.padding.data(), 2), c.ceil_mode, count_padding, divisor, out);
          avg_pool2d_out(ctx, in, IntArrayRef(c.kernel.data(), 2), IntArrayRef(c.stride.data(), 2),
                         IntArrayRef(c.padding.data(), 2), c.ceil_mode, count_padding, divisor, want);
          ASSERT_TENSOR_EQ(out, want);
        }
      }
    }
  }
}

TEST_F(OptimizedPoolTest, RefusesWhatPortableRefuses) {
  const int64_t two = 2, minus = -1;
  Tensor out = tf.zeros({1, 1, 2, 2}), places = indices.zeros({1, 1, 2, 2});
  opt_max_pool2d_with_indices_out(ctx, tf.zeros({1, 1, 4, 4}), IntArrayRef(&minus, 1), {}, IntArrayRef(&two, 1),
                                  IntArrayRef(&two, 1), false, out, places);
  expect_failure();
  opt_avg_pool2d_out(ctx, tf.zeros({1, 1, 4, 4}), IntArrayRef(&two, 1), {}, IntArrayRef(&two, 1), false, true,
                     std::nullopt, out);
  expect_failure();
}

}  // namespace
}  // namespace torch::executor::native
