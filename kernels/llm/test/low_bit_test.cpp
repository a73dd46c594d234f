// SPDX-License-Identifier: BSD-3-Clause
// Linear layers and embeddings of packed weights. Expected results are sums in double of the dequantised integers.
#include <kernels/llm/NativeFunctions.h>

#include <cstring>

#include <executorch/extension/memory_allocator/malloc_memory_allocator.h>

#include "kernels/llm/cpu/lowbit/multiply.h"
#include "kernels/llm/test/low_bit_weights.h"
#include "kernels/portable/test/kernel_test.h"

#ifdef ET_USE_THREADPOOL
#include <executorch/extension/threadpool/threadpool.h>
#endif

namespace torch::executor::native {
namespace {

using low_bit::Shape;
using low_bit::Weights;

class LowBitTest : public KernelTest {
 protected:
  LowBitTest() { ctx = KernelRuntimeContext(nullptr, &allocator); }
  ~LowBitTest() override { choose_multiplication(nullptr); }

  static std::vector<float> activations(int32_t rows, int32_t columns) {
    std::vector<float> x;
    for (int32_t i = 0; i < rows * columns; ++i) {
      x.push_back(std::sin(static_cast<float>(i) * 0.7f) + 0.25f);
    }
    return x;
  }

  // The dequantised int8 activations of a row; the activations of a group with NaN or infinity are NaN.
  static std::vector<double> quantized(const float* x, const Shape& s) {
    std::vector<double> result;
    const int32_t length = s.row_activations ? s.columns : s.group;
    for (int32_t first = 0; first < s.columns; first += length) {
      const int32_t end = std::min(first + length, s.columns);
      float least = 0, most = 0;
      bool finite = true;
      for (int32_t i = first; i < end; ++i) {
        least = std::min(least, x[i]);
        most = std::max(most, x[i]);
        finite = finite && std::isfinite(x[i]);
      }
      float scale = std::max(most, -least) / 127.0f, zero = 0.0f;
      if (s.row_activations) {
        scale = std::max((most - least) / 255.0f, std::numeric_limits<float>::epsilon());
        zero = -128.0f - std::nearbyint(least / scale);
      }
      const bool none = scale < std::numeric_limits<float>::min();  // too small for an inverse
      for (int32_t i = first; i < end; ++i) {
        const float number = none ? 0.0f : std::nearbyint(x[i] * (1.0f / scale)) + zero;
        const float limited = std::min(std::max(number, -128.0f), 127.0f);
        result.push_back(finite ? static_cast<double>(scale) * static_cast<double>(limited - zero) : kNaN);
      }
    }
    return result;
  }

  Tensor bytes_of(const Weights& weights) {
    const std::vector<uint8_t> packed = weights.packed();
    return tb.make({static_cast<int32_t>(packed.size())}, packed);
  }

  // Both linear operators against sums in double, for these activations.
  void check(const Weights& w, const std::vector<float>& x) {
    const Shape& s = w.shape;
    const int32_t rows = static_cast<int32_t>(x.size()) / s.columns;
    const Tensor packed = bytes_of(w), in = tf.make({rows, s.columns}, x);
    Tensor eight = tf.full({rows, s.rows}, 99), exact = tf.full({rows, s.rows}, 99);
    linear_8bit_act_out(ctx, in, packed, s.group, s.rows, s.columns, eight);
    linear_packed_out(ctx, in, packed, s.group, s.rows, s.columns, exact);
    for (int32_t i = 0; i < rows; ++i) {
      const std::vector<double> a = quantized(x.data() + i * s.columns, s);
      for (int32_t j = 0; j < s.rows; ++j) {
        double quantized_sum = 0, float_sum = 0, size = 1e-3;
        for (int32_t k = 0; k < s.columns; ++k) {
          quantized_sum += a[static_cast<size_t>(k)] * w.at(j, k);
          float_sum += static_cast<double>(x[static_cast<size_t>(i * s.columns + k)]) * w.at(j, k);
          size += std::abs(a[static_cast<size_t>(k)]) * (std::abs(w.at(j, k)) + 1);
        }
        const ssize_t at = i * s.rows + j;
        expect_near(eight.const_data_ptr<float>()[at], quantized_sum, 2e-6 * size, i, j);
        // Floats are added one by one, each time with an error of at most 2^-24 of the sum.
        expect_near(exact.const_data_ptr<float>()[at], float_sum, (2e-6 + 6e-8 * s.columns) * size, i, j);
      }
    }
  }

  static void expect_near(float found, double expected, double tolerance, int32_t i, int32_t j) {
    if (std::isnan(expected)) {
      ASSERT_TRUE(std::isnan(found)) << "row " << i << ", output " << j << ": " << found;
    } else if (std::isfinite(expected)) {
      ASSERT_NEAR(found, expected, tolerance) << "row " << i << ", output " << j;
    }
  }

  ::executorch::extension::MallocMemoryAllocator allocator;
  TensorFactory<ScalarType::Float> tf;
  TensorFactory<ScalarType::Byte> tb;
  TensorFactory<ScalarType::Long> tl;
};

const Shape kShapes[] = {
    {8, 32, 15, 96, false, false, false, 0, true},  // Q8_0
    {8, 32, 33, 2080, false, false, false, 0, true},
    {8, 4, 16, 20, false, true, true, 0, true},
    {8, 256, 5, 600, true, false, true, 0, true},
    {8, 4, 18, 36, true, true, false, 3, true},
    {8, 20, 31, 60, false, true, true, 0, true},
    {4, 32, 1, 32},
    {4, 32, 16, 64, true},
    {4, 8, 17, 40, false, true, true},
    {4, 32, 33, 72, true, true},
    {4, 128, 31, 300},
    {8, 32, 15, 96},
    {8, 4, 16, 20, false, true, true},
    {8, 256, 5, 600, true, false, true},
    {1, 32, 20, 70},
    {2, 16, 18, 50, false, true},
    {3, 32, 7, 64, true},
    {5, 32, 16, 160, true, false, true},
    {6, 16, 19, 48, false, false, true},
    {7, 64, 3, 129, false, true, true},
    {4, 32, 1, 256, true, false, false, 8},  // Q4_K
    {4, 32, 33, 512, true, false, false, 8},
    {5, 32, 16, 768, true, false, false, 8},    // Q5_K
    {6, 16, 15, 256, false, false, false, 16},  // Q6_K
    {6, 16, 17, 1024, false, false, false, 16},
    {8, 4, 18, 36, true, true, false, 3},
    // Groups with a remainder of 16 columns.
    {4, 24, 17, 72, true},
    {4, 40, 16, 80, false, true},
    {8, 12, 17, 36, true},
    {8, 20, 31, 60, false, true, true},
    {8, 24, 1, 48},
    // More columns, and more groups, than are unpacked at a time.
    {4, 32, 17, 1088, true},
    {8, 4, 16, 140, false, true},
    {6, 16, 18, 1536, false, false, false, 16},
    {5, 256, 15, 2300, true, true},
};

/// QNT-07: each number of bits, and one row or more; numbers of rows and columns around the sizes of tiles and groups.
TEST_F(LowBitTest, LinearOfEveryInstructionSet) {
  for (const Multiplication* const* set = kMultiplications; *set != nullptr; ++set) {
    if (!(*set)->runs()) {
      continue;
    }
    SCOPED_TRACE((*set)->name);
    choose_multiplication(*set);
    for (const Shape& shape : kShapes) {
      const Weights weights(shape);
      for (const int32_t rows : {1, 2, 3, 4, 5, 8, 9, 17}) {
        check(weights, activations(rows, shape.columns));
      }
    }
  }
  choose_multiplication(nullptr);
  for (const int32_t rows : {127, 128, 129, 131}) {
    check(Weights({4, 32, 17, 64, true}), activations(rows, 64));
  }
}

/// The largest and the smallest weights, and activations that are all at a limit: no sum of products saturates.
TEST_F(LowBitTest, ExtremeWeightsAndActivations) {
  for (const Multiplication* const* set = kMultiplications; *set != nullptr; ++set) {
    if (!(*set)->runs()) {
      continue;
    }
    SCOPED_TRACE((*set)->name);
    choose_multiplication(*set);
    for (const Shape& shape : kShapes) {
      Weights weights(shape);
      for (const int weight : {0, (1 << shape.bits) - 1}) {
        std::fill(weights.q.begin(), weights.q.end(), static_cast<uint8_t>(weight));
        for (const float level : {-1.0f, 1.0f, 0.0f, 1e-42f, 1e30f}) {
          std::vector<float> x = activations(3, shape.columns);
          std::fill(x.begin(), x.end(), level);
          check(weights, x);
          x.resize(static_cast<size_t>(shape.columns));
          check(weights, x);
        }
      }
    }
  }
}

TEST_F(LowBitTest, NaNAndInfinityReachTheirRowsOnly) {
  const Shape shapes[] = {{4, 32, 17, 100, true, false},
                          {4, 32, 17, 100, false, true},
                          {8, 32, 17, 100},
                          {8, 32, 17, 100, false, false, false, 0, true}};
  for (const Shape& shape : shapes) {
    const Weights weights(shape);
    for (const float bad : {kNaN, kInfinity, -kInfinity}) {
      std::vector<float> x = activations(9, 100);
      x[3 * 100 + 99] = bad;
      check(weights, x);
      x.resize(100);
      x[0] = bad;
      check(weights, x);
    }
  }
}

TEST_F(LowBitTest, Embedding) {
  for (const Shape& shape : kShapes) {
    const Weights weights(shape);
    const int64_t last = shape.rows - 1;
    Tensor out = tf.zeros({2, 2, shape.columns});
    shared_embedding_out(ctx, bytes_of(weights), shape.group, shape.rows, shape.columns,
                         tl.make({2, 2}, {last, 0, last / 2, last}), out);
    const int64_t indices[] = {last, 0, last / 2, last};
    for (int64_t i = 0; i < 4 * shape.columns; ++i) {
      ASSERT_FLOAT_EQ(out.const_data_ptr<float>()[i],
                      static_cast<float>(weights.at(indices[i / shape.columns], i % shape.columns)));
    }
  }
}

TEST_F(LowBitTest, RefusesWhatDoesNotFit) {
  const Weights weights({4, 32, 17, 64});
  const std::vector<uint8_t> good = weights.packed();
  const Tensor packed = bytes_of(weights), x = tf.make({1, 64}, activations(1, 64));
  Tensor out = tf.full({1, 17}, 99), rows = tf.zeros({1, 64});
  const auto fails = [&](const std::vector<uint8_t>& bytes) {
    const Tensor wrong = tb.make({static_cast<int32_t>(bytes.size())}, bytes);
    linear_8bit_act_out(ctx, x, wrong, 32, 17, 64, out);
    expect_failure();
    ctx = KernelRuntimeContext(nullptr, &allocator);
  };
  fails({});
  fails({good.begin(), good.end() - 1});
  fails({good.begin(), good.begin() + 63});
  // Magic, bits, flags, zero point, group, rows, columns, groups of a block.
  for (const size_t at : {0, 4, 5, 7, 8, 9, 12, 16, 19, 20, 23}) {
    std::vector<uint8_t> wrong = good;
    wrong[at] = 0xFF;
    fails(wrong);
  }
  std::vector<uint8_t> in_blocks = Weights({4, 32, 17, 64, true, false, false, 2}).packed();
  for (const uint8_t count : {0, 1, 3, 4}) {  // groups of a block: none, fewer, no divisor, more than there are
    in_blocks[20] = count;
    fails(in_blocks);
  }
  in_blocks[20] = 2;
  in_blocks[5] |= kWideScales;
  fails(in_blocks);
  std::vector<uint8_t> signed_bytes = good;  // of 4 bits
  signed_bytes[5] |= kSignedBytes;
  fails(signed_bytes);
  linear_8bit_act_out(ctx, x, packed, 32, 16, 64, out);
  expect_failure();
  linear_packed_out(ctx, tf.zeros({1, 63}), packed, 32, 17, 64, out);
  expect_failure();
  linear_packed_out(ctx, x, tf.zeros({8}), 32, 17, 64, out);
  expect_failure();
  linear_8bit_act_out(ctx, x, packed, 32, 17, 64, out);  // no temporary memory
  expect_failure(Error::MemoryAllocationFailed);
  for (const int64_t index : {-1, 17}) {
    shared_embedding_out(ctx, packed, 32, 17, 64, tl.make({1}, {index}), rows);
    expect_failure();
  }
  EXPECT_TENSOR_EQ(out, tf.full({1, 17}, 99));
}

TEST_F(LowBitTest, NoRows) {
  const Weights weights({4, 32, 17, 64});
  Tensor out = tf.zeros({0, 17});
  linear_8bit_act_out(ctx, tf.zeros({0, 64}), bytes_of(weights), 32, 17, 64, out);
  linear_packed_out(ctx, tf.zeros({0, 64}), bytes_of(weights), 32, 17, 64, out);
}

#ifdef ET_USE_THREADPOOL
TEST_F(LowBitTest, ThreadsDoNotChangeResults) {
  using ::executorch::extension::threadpool::get_threadpool;
  for (const Shape& s : {Shape{4, 32, 1000, 608, true}, Shape{6, 16, 500, 512, false, false, false, 16}}) {
    const Tensor packed = bytes_of(Weights(s));
    for (const int32_t rows : {1, 3, 37, 130}) {
      const Tensor x = tf.make({rows, s.columns}, activations(rows, s.columns));
      Tensor one = tf.zeros({rows, s.rows});
      for (const uint32_t threads : {1u, 2u, 3u, 8u}) {
        ASSERT_TRUE(get_threadpool()->_unsafe_reset_threadpool(threads));
        Tensor out = tf.full({rows, s.rows}, kNaN);
        linear_8bit_act_out(ctx, x, packed, s.group, s.rows, s.columns, threads == 1 ? one : out);
        if (threads > 1) {
          ASSERT_EQ(std::memcmp(one.const_data_ptr(), out.const_data_ptr(), one.nbytes()), 0) << threads << " threads";
        }
      }
    }
  }
  get_threadpool()->_unsafe_reset_threadpool(0);
}
#endif

}  // namespace
}  // namespace torch::executor::native
