// SPDX-License-Identifier: BSD-3-Clause
// cadence::quantized_matmul: batches of matrix products. `transposed` says that Y is (batch, n, k).
#include "kernels/cadence/cpu/dot_products.h"

namespace torch::executor::native {
namespace {

using namespace cadence;

int64_t batch_of(const Tensor& tensor) {
  int64_t batch = 1;
  for (ssize_t d = 0; d + 2 < tensor.dim(); ++d) {
    batch *= tensor.size(d);
  }
  return batch;
}

// Checks the sizes, resizes `out` and stores m, k and n.
bool prepare(KernelRuntimeContext& ctx, const char* op, const Tensor& X, const Tensor& Y, bool transposed, Tensor& out,
             int64_t (&mkn)[3]) {
  ET_KERNEL_CHECK_MSG(ctx, X.dim() >= 2 && Y.dim() >= 2, InvalidArgument, false,
                      "%s: expected matrices, found %zd and %zd dimensions", op, static_cast<ssize_t>(X.dim()),
                      static_cast<ssize_t>(Y.dim()));
  mkn[0] = X.size(X.dim() - 2);
  mkn[1] = X.size(X.dim() - 1);
  mkn[2] = Y.size(Y.dim() - (transposed ? 2 : 1));
  const int64_t inner = Y.size(Y.dim() - (transposed ? 1 : 2));
  ET_KERNEL_CHECK_MSG(ctx, inner == mkn[1] && batch_of(X) == batch_of(Y), InvalidArgument, false,
                      "%s: expected matrices of one inner size and batch, found inner sizes %lld and %lld, batches "
                      "%lld and %lld",
                      op, static_cast<long long>(mkn[1]), static_cast<long long>(inner),
                      static_cast<long long>(batch_of(X)), static_cast<long long>(batch_of(Y)));
  const Tensor& larger = X.dim() > Y.dim() ? X : Y;
  const size_t rank = static_cast<size_t>(larger.dim());
  int64_t sizes[kTensorDimensionLimit];
  for (size_t d = 0; d < rank; ++d) {
    sizes[d] = larger.size(static_cast<ssize_t>(d));
  }
  sizes[rank - 2] = mkn[0];
  sizes[rank - 1] = mkn[2];
  return check_same_dtype(ctx, op, X, Y) && check_same_dtype(ctx, op, X, out) && check_order(ctx, op, "X", X) &&
         check_order(ctx, op, "Y", Y) && check_resize(ctx, op, out, sizes, rank) &&
         check_order(ctx, op, "an output", out);
}

// Rows of X times Y (k, n): sums of a block of columns, so that the inner loop reads rows of Y.
template <typename T>
void multiply_rows(const T* x, int64_t x_zero, const T* y, int64_t y_zero, int64_t k, int64_t n,
                   const Quantizer<T>& quantize, T* results) {
  constexpr int64_t kColumns = 64;
  for (int64_t start = 0; start < n; start += kColumns) {
    const int64_t count = n - start < kColumns ? n - start : kColumns;
    int64_t sums[kColumns] = {};
    for (int64_t i = 0; i < k; ++i) {
      const int64_t factor = static_cast<int64_t>(x[i]) - x_zero;
      for (int64_t j = 0; j < count; ++j) {
        sums[j] += factor * (static_cast<int64_t>(y[i * n + start + j]) - y_zero);
      }
    }
    for (int64_t j = 0; j < count; ++j) {
      results[start + j] = quantize(static_cast<float>(sums[j]));
    }
  }
}

// X (m, k) times Y, of 8-bit integers. The rows of a block are columns of Y, so that results are adjacent; if Y is not
// transposed, they are gathered.
template <typename T>
void multiply_blocks(const T* x, int64_t x_zero, const T* y, int64_t y_zero, const int64_t (&mkn)[3], bool transposed,
                     const Quantizer<T>& quantize, T* results) {
  const int64_t m = mkn[0], k = mkn[1], n = mkn[2];
  Block block;
  for (int64_t column = 0; column < n; column += Block::kRows) {
    const int64_t columns = n - column < Block::kRows ? n - column : Block::kRows;
    for (int64_t row = 0; row < m; row += Block::kColumns) {
      const int64_t rows = m - row < Block::kColumns ? m - row : Block::kColumns;
      block.multiply(
          columns, rows, k,
          [&](int64_t start, int64_t count, int16_t* to) {
            for (int64_t c = 0; c < columns; ++c) {
              const T* const from = transposed ? y + (column + c) * k + start : y + start * n + column + c;
              less_zero_point(from, transposed ? 1 : n, static_cast<int32_t>(y_zero), count, to + c * Block::kDepth);
            }
          },
          [&](int64_t r, int64_t start, int64_t count, int16_t* to) {
            less_zero_point(x + (row + r) * k + start, 1, static_cast<int32_t>(x_zero), count, to);
          });
      for (int64_t r = 0; r < rows; ++r) {
        store_sums(
            quantize, block.sums(r), [](int64_t) { return 0; }, true, 1.0f, columns, results + (row + r) * n + column);
      }
    }
  }
}

}  // namespace

Tensor& cadence_quantized_matmul_out(KernelRuntimeContext& ctx, const Tensor& X, int64_t X_zero_point, const Tensor& Y,
                                     int64_t Y_zero_point, const std::optional<Tensor>& /*bias*/,
                                     int64_t out_multiplier, int64_t out_shift, int64_t out_zero_point, bool transposed,
                                     Tensor& out) {
  constexpr const char* op = "cadence::quantized_matmul";
  float factor = 0;
  int64_t mkn[3];
  if (!read_factor(ctx, op, out_multiplier, out_shift, &factor) || !check_zero_point(ctx, op, X_zero_point) ||
      !check_zero_point(ctx, op, Y_zero_point) || !prepare(ctx, op, X, Y, transposed, out, mkn)) {
    return out;
  }
  const int64_t m = mkn[0], k = mkn[1], n = mkn[2];
  dispatch<int8_t, uint8_t, int16_t>(ctx, op, "operands", X.scalar_type(), [&](auto zero) {
    using T = decltype(zero);
    const Quantizer<T> quantize(factor, out_zero_point);
    const int64_t batch = batch_of(X);
    // One row reads each column once, so that copying them would not pay.
    if (m > 1 && k <= kNarrowSum && is_narrow<T, T>(X_zero_point, Y_zero_point)) {
      for (int64_t each = 0; each < batch; ++each) {
        multiply_blocks(X.const_data_ptr<T>() + each * m * k, X_zero_point, Y.const_data_ptr<T>() + each * k * n,
                        Y_zero_point, mkn, transposed, quantize, out.mutable_data_ptr<T>() + each * m * n);
      }
      return;
    }
    for (int64_t row = 0; row < batch * m; ++row) {
      const T* const x = X.const_data_ptr<T>() + row * k;
      const T* const y = Y.const_data_ptr<T>() + row / m * k * n;
      T* const results = out.mutable_data_ptr<T>() + row * n;
      if (!transposed) {
        multiply_rows(x, X_zero_point, y, Y_zero_point, k, n, quantize, results);
        continue;
      }
      for (int64_t column = 0; column < n; ++column) {
        results[column] =
            quantize(static_cast<float>(sum_of_products(x, X_zero_point, y + column * k, Y_zero_point, k)));
      }
    }
  });
  return out;
}

}  // namespace torch::executor::native
