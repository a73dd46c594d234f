// SPDX-License-Identifier: BSD-3-Clause
// The expected numbers are sums of a few terms, by arithmetic.
#include <executorch/runtime/core/memory_allocator.h>

#include <complex>
#include <vector>

#include "kernels/portable/test/kernel_test.h"

namespace torch::executor::native {
namespace {

using Numbers = std::vector<std::complex<float>>;

class FftTest : public KernelTest {
 protected:
  // A tensor of complex numbers, and the memory that it refers to.
  struct Complex {
    Complex(std::vector<int32_t> shape, Numbers values)
        : sizes(std::move(shape)), strides(sizes.size()), order(sizes.size()), data(std::move(values)) {
      for (size_t d = sizes.size(); d-- > 0;) {
        order[d] = static_cast<uint8_t>(d);
        strides[d] = d + 1 < sizes.size() ? strides[d + 1] * sizes[d + 1] : 1;
      }
    }
    std::vector<int32_t> sizes, strides;
    std::vector<uint8_t> order;
    Numbers data;
    executorch::aten::TensorImpl impl{ScalarType::ComplexFloat,
                                      static_cast<ssize_t>(sizes.size()),
                                      sizes.data(),
                                      data.data(),
                                      order.data(),
                                      strides.data()};
    Tensor tensor{&impl};
  };

  static void expect_near(const Numbers& found, const Numbers& expected) {
    ASSERT_EQ(found.size(), expected.size());
    for (size_t i = 0; i < found.size(); ++i) {
      EXPECT_NEAR(found[i].real(), expected[i].real(), 1e-5) << i;
      EXPECT_NEAR(found[i].imag(), expected[i].imag(), 1e-5) << i;
    }
  }

  TensorFactory<ScalarType::Float> tf;
  uint8_t temporary[4096];
  executorch::runtime::MemoryAllocator allocator{sizeof(temporary), temporary};
  KernelRuntimeContext with_memory{nullptr, &allocator};
  const int64_t last[1] = {-1};
};

TEST_F(FftTest, RealNumbersOfAnEvenAndAnOddLength) {
  Complex half({3}, Numbers(3)), whole({3}, Numbers(3));
  _fft_r2c_out(with_memory, tf.make({4}, {1, 2, 3, 4}), last, 0, /*onesided=*/true, half.tensor);
  expect_near(half.data, {{10, 0}, {-2, 2}, {-2, 0}});
  _fft_r2c_out(with_memory, tf.make({3}, {0, 3, 0}), last, 2, /*onesided=*/false, whole.tensor);
  expect_near(whole.data, {{1, 0}, {-0.5f, -0.8660254f}, {-0.5f, 0.8660254f}});
  EXPECT_EQ(with_memory.failure_state(), Error::Ok);
}

TEST_F(FftTest, BackToRealNumbers) {
  Complex half({3}, {{10, 0}, {-2, 2}, {-2, 0}});
  Tensor out = tf.zeros({4});
  _fft_c2r_out(with_memory, half.tensor, last, 2, 4, out);
  EXPECT_TENSOR_CLOSE(out, tf.make({4}, {1, 2, 3, 4}));
}

TEST_F(FftTest, TwoDimensionsThereAndBack) {
  const int64_t dims[2] = {0, 1};
  Complex half({2, 2}, Numbers(4));
  Tensor out = tf.zeros({2, 3});
  const Tensor x = tf.make({2, 3}, {1, -2, 3, 0.5, 4, -1});
  _fft_r2c_out(with_memory, x, dims, 0, /*onesided=*/true, half.tensor);
  EXPECT_NEAR(half.data[0].real(), 5.5, 1e-5);
  EXPECT_NEAR(half.data[2].real(), -1.5, 1e-5);  // the difference of the rows' sums
  _fft_c2r_out(with_memory, half.tensor, dims, 2, 3, out);
  EXPECT_TENSOR_CLOSE(out, x);
}

TEST_F(FftTest, ComplexNumbersForthAndBack) {
  Complex x({4}, {{1, 1}, {0, 0}, {0, 0}, {0, 0}}), y({4}, Numbers(4)), z({4}, Numbers(4));
  _fft_c2c_out(with_memory, x.tensor, last, 1, /*forward=*/true, y.tensor);
  expect_near(y.data, {{0.5f, 0.5f}, {0.5f, 0.5f}, {0.5f, 0.5f}, {0.5f, 0.5f}});
  _fft_c2c_out(with_memory, y.tensor, last, 1, /*forward=*/false, z.tensor);
  expect_near(z.data, x.data);
}

}  // namespace
}  // namespace torch::executor::native
