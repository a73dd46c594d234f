// SPDX-License-Identifier: BSD-3-Clause
#include "kernel_test.h"

namespace torch::executor::native {
namespace {

class SoftmaxTest : public KernelTest {
 protected:
  TensorFactory<ScalarType::Float> tf;
};

TEST_F(SoftmaxTest, PyTorchNumbers) {
  Tensor out = tf.zeros({5, 3});
  const Tensor in =
      tf.make({5, 3}, {1, 2, 3, -1000, 0, 1000, -kInfinity, -kInfinity, -kInfinity, kNaN, 1, 2, kInfinity, 1, 2});
  softmax_out(ctx, in, -1, false, out);
  EXPECT_TENSOR_CLOSE(out, tf.make({5, 3}, {0.090030573, 0.24472848, 0.66524094, 0, 0, 1, kNaN, kNaN, kNaN, kNaN, kNaN,
                                            kNaN, kNaN, kNaN, kNaN}));
  Tensor log = tf.zeros({2, 3});
  log_softmax_out(ctx, tf.make({2, 3}, {1, 2, 3, -1000, 0, 1000}), 1, false, log);
  EXPECT_TENSOR_CLOSE(log, tf.make({2, 3}, {-2.4076059, -1.4076059, -0.40760595, -2000, -1000, 0}));
}

TEST_F(SoftmaxTest, AlongAnyDimension) {
  Tensor out = tf.zeros({3, 2});
  softmax_out(ctx, tf.make({3, 2}, sample_values(6)), 0, false, out);
  EXPECT_TENSOR_CLOSE(out, tf.make({3, 2}, {0.25427523, 0.25427523, 0.32649586, 0.32649586, 0.41922897, 0.41922897}));
}

// Long rows and many columns, against the definition in double, for each dimension of (3, 37, 41).
TEST_F(SoftmaxTest, MatchesDefinition) {
  const int sizes[3] = {3, 37, 41};
  const std::vector<float> x = sample_values(3 * 37 * 41);
  for (int dim = 0; dim < 3; ++dim) {
    for (bool log : {false, true}) {
      std::vector<float> want(x.size());
      const size_t inner = dim == 0 ? 37 * 41 : dim == 1 ? 41 : 1, size = static_cast<size_t>(sizes[dim]);
      for (size_t i = 0; i < x.size(); ++i) {
        const size_t start = i / (inner * size) * inner * size + i % inner;
        double sum = 0;
        for (size_t j = 0; j < size; ++j) sum += std::exp(static_cast<double>(x[start + j * inner]));
        want[i] = static_cast<float>(log ? x[i] - std::log(sum) : std::exp(static_cast<double>(x[i])) / sum);
      }
      Tensor out = tf.zeros({3, 37, 41});
      log ? log_softmax_out(ctx, tf.make({3, 37, 41}, x), dim, false, out)
          : softmax_out(ctx, tf.make({3, 37, 41}, x), dim, false, out);
      EXPECT_TENSOR_CLOSE_WITH_TOL(out, tf.make({3, 37, 41}, want), 2e-6, 1e-7);
    }
  }
}

TEST_F(SoftmaxTest, OtherDtypesLayoutsAndRanks) {
  TensorFactory<ScalarType::Double> td;
  Tensor wide = td.zeros({3});
  softmax_out(ctx, td.make({3}, {1, 2, 3}), 0, false, wide);
  EXPECT_TENSOR_CLOSE(wide, td.make({3}, {0.09003057317038046, 0.24472847105479764, 0.6652409557748218}));

  TensorFactory<ScalarType::Half> th;
  Tensor widened = tf.zeros({3});
  softmax_out(ctx, th.make({3}, {1, 2, 3}), 0, true, widened);
  EXPECT_TENSOR_CLOSE(widened, tf.make({3}, {0.090030573, 0.24472848, 0.66524094}));

  Tensor scalar = tf.zeros({});
  softmax_out(ctx, tf.full({}, 5.0f), 0, false, scalar);
  EXPECT_TENSOR_EQ(scalar, tf.full({}, 1.0f));

  const Tensor in = tf.make({1, 3, 2, 2}, sample_values(12));
  Tensor plain = tf.zeros({1, 3, 2, 2}), last = tf.full_channels_last({1, 3, 2, 2}, 0);
  softmax_out(ctx, in, 1, false, plain);
  softmax_out(ctx, tf.channels_last_like(in), 1, false, last);
  EXPECT_TENSOR_CLOSE(last, tf.channels_last_like(plain));
  // Eager's softmax of channels last is contiguous.
  Tensor mixed = tf.zeros({1, 3, 2, 2});
  softmax_out(ctx, tf.channels_last_like(in), 1, false, mixed);
  EXPECT_TENSOR_CLOSE(mixed, plain);

  Tensor empty = tf.zeros({0, 3});
  softmax_out(ctx, tf.zeros({0, 3}), 1, false, empty);
}

TEST_F(SoftmaxTest, BadArgumentsFail) {
  TensorFactory<ScalarType::Int> ti;
  Tensor out = tf.zeros({2, 3});
  softmax_out(ctx, tf.ones({2, 3}), 2, false, out);
  expect_failure();
  softmax_out(ctx, tf.ones({2, 3}), -3, false, out);
  expect_failure();
  softmax_out(ctx, tf.ones({2, 3}), 1, true, out);
  expect_failure();
  softmax_out(ctx, tf.ones({2, 4}), 1, false, out);
  expect_failure();
  Tensor ints = ti.zeros({2, 3});
  softmax_out(ctx, ti.ones({2, 3}), 1, false, ints);
  expect_failure();
}

}  // namespace
}  // namespace torch::executor::native
