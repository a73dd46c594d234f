// SPDX-License-Identifier: BSD-3-Clause
// _softmax.out, _log_softmax.out
#include <algorithm>
#include <cmath>

#include "kernels/portable/cpu/math/accumulate_type.h"
#include "kernels/portable/cpu/math/softmax.h"
#include "kernels/portable/cpu/math/vector_math.h"
#include "kernels/portable/cpu/math/visit_dtype.h"
#include "kernels/portable/cpu/pattern/checks.h"
#include "kernels/portable/cpu/pattern/lines.h"

namespace torch::executor::native {
namespace {

// One contiguous row.
ET_ALWAYS_INLINE void softmax_row_body(const float* in, float* out, int64_t size, bool log) {
  const float largest = vector_max(in, size);
  for (int64_t i = 0; i < size; ++i) {
    out[i] = vector_exp(in[i] - largest);
  }
  const float sum = vector_sum(out, size);
  if (log) {
    const float shift = std::log(sum);
    for (int64_t i = 0; i < size; ++i) {
      out[i] = in[i] - largest - shift;
    }
  } else {
    const float factor = 1.0f / sum;
    for (int64_t i = 0; i < size; ++i) {
      out[i] *= factor;
    }
  }
}
ET_MULTIVERSION(static, softmax_row, (const float* in, float* out, int64_t size, bool log), (in, out, size, log))

// Up to kColumns adjacent rows, whose elements are `inner` apart.
constexpr int64_t kColumns = 32;
ET_ALWAYS_INLINE void softmax_columns_body(const float* in, float* out, int64_t size, int64_t inner, int64_t columns,
                                           bool log) {
  float largest[kColumns];
  float sum[kColumns];
  for (int64_t j = 0; j < columns; ++j) {
    largest[j] = in[j];
    sum[j] = 0.0f;
  }
  for (int64_t i = 1; i < size; ++i) {
    for (int64_t j = 0; j < columns; ++j) {
      const float x = in[i * inner + j];
      largest[j] = x > largest[j] ? x : largest[j];
    }
  }
  for (int64_t i = 0; i < size; ++i) {
    for (int64_t j = 0; j < columns; ++j) {
      const float x = vector_exp(in[i * inner + j] - largest[j]);
      out[i * inner + j] = x;
      sum[j] += x;
    }
  }
  for (int64_t j = 0; j < columns; ++j) {
    sum[j] = log ? std::log(sum[j]) : 1.0f / sum[j];
  }
  for (int64_t i = 0; i < size; ++i) {
    for (int64_t j = 0; j < columns; ++j) {
      float& x = out[i * inner + j];
      x = log ? in[i * inner + j] - largest[j] - sum[j] : x * sum[j];
    }
  }
}
ET_MULTIVERSION(static, softmax_columns,
                (const float* in, float* out, int64_t size, int64_t inner, int64_t columns, bool log),
                (in, out, size, inner, columns, log))

void softmax_float(const float* in, float* out, const SoftmaxRows& rows, bool log) {
  for (int64_t o = 0; o < rows.outer; ++o) {
    const float* source = in + o * rows.size * rows.inner;
    float* result = out + o * rows.size * rows.inner;
    if (rows.inner == 1) {
      softmax_row(source, result, rows.size, log);
      continue;
    }
    for (int64_t j = 0; j < rows.inner; j += kColumns) {
      const int64_t columns = rows.inner - j < kColumns ? rows.inner - j : kColumns;
      softmax_columns(source + j, result + j, rows.size, rows.inner, columns, log);
    }
  }
}

// For any dtype and any dim orders of both tensors.
template <typename In, typename Out>
void softmax_any(const Tensor& in, Tensor& out, size_t dim, bool log) {
  using Sum = AccumulateType<In>;
  const StridedView views[] = {at_least_1d(in), at_least_1d(out)};
  const int64_t size = views[0].sizes[dim];
  const int64_t in_stride = views[0].strides[dim];
  const int64_t out_stride = views[1].strides[dim];
  for_each_line(views, dim, [&](const int64_t* offsets) {
    const In* x = in.const_data_ptr<In>() + offsets[0];
    Out* y = out.mutable_data_ptr<Out>() + offsets[1];
    const auto at = [&](int64_t i) { return static_cast<Sum>(x[i * in_stride]); };
    Sum largest = at(0);
    for (int64_t i = 1; i < size; ++i) {
      largest = at(i) > largest ? at(i) : largest;
    }
    Sum sum = 0;
    for (int64_t i = 0; i < size; ++i) {
      sum += std::exp(at(i) - largest);
    }
    const Sum shift = log ? std::log(sum) : Sum(0);
    for (int64_t i = 0; i < size; ++i) {
      const Sum distance = at(i) - largest;
      y[i * out_stride] = static_cast<Out>(log ? distance - shift : std::exp(distance) / sum);
    }
  });
}

// The numbers of elements outside, along and inside `dim` in memory. Here the dimensions are counted in memory order.
SoftmaxRows rows_of(const Tensor& in, size_t dim) {
  SoftmaxRows rows;
  bool after = false;
  for (size_t place = 0; place < static_cast<size_t>(in.dim()); ++place) {
    const size_t d = in.dim_order()[place];
    if (d == dim) {
      rows.size = in.size(static_cast<ssize_t>(d));
      after = true;
    } else {
      (after ? rows.inner : rows.outer) *= in.size(static_cast<ssize_t>(d));
    }
  }
  return rows;
}

bool is_widening(const Tensor& in, bool half_to_float, const Tensor& out) {
  return half_to_float && in.scalar_type() == ScalarType::Half && out.scalar_type() == ScalarType::Float;
}

Tensor& softmax(KernelRuntimeContext& ctx, const char* op, const Tensor& in, int64_t dim, bool half_to_float,
                Tensor& out, bool log) {
  SoftmaxRows rows;
  if (!plan_softmax(ctx, op, in, dim, half_to_float, out, &rows) || in.numel() == 0) {
    return out;
  }
  const bool widen = is_widening(in, half_to_float, out);
  visit_floating(ctx, op, in.scalar_type(), [&](auto tag) {
    using T = typename decltype(tag)::Type;
    if constexpr (std::is_same_v<T, float>) {
      if (rows.same_dim_order) {
        softmax_float(in.const_data_ptr<float>(), out.mutable_data_ptr<float>(), rows, log);
        return;
      }
    }
    if (widen) {
      softmax_any<T, float>(in, out, rows.dim, log);
    } else {
      softmax_any<T, T>(in, out, rows.dim, log);
    }
  });
  return out;
}

}  // namespace

bool plan_softmax(KernelRuntimeContext& ctx, const char* op, const Tensor& in, int64_t dim, bool half_to_float,
                  Tensor& out, SoftmaxRows* rows) {
  const bool widen = is_widening(in, half_to_float, out);
  ET_KERNEL_CHECK_MSG(ctx, widen || !half_to_float, InvalidArgument, false,
                      "%s: half_to_float needs a Half input and a Float output", op);
  size_t axis = 0;
  if ((!widen && !check_same_dtype(ctx, op, in, out)) || !check_dim(ctx, op, dim, in.dim(), &axis) ||
      !check_resize_like(ctx, op, out, in)) {
    return false;
  }
  *rows = rows_of(in, axis);
  const auto in_order = in.dim_order();
  rows->same_dim_order = std::equal(in_order.begin(), in_order.end(), out.dim_order().begin());
  rows->dim = axis;
  return true;
}

Tensor& softmax_out(KernelRuntimeContext& ctx, const Tensor& in, int64_t dim, bool half_to_float, Tensor& out) {
  return softmax(ctx, "_softmax.out", in, dim, half_to_float, out, /*log=*/false);
}

Tensor& log_softmax_out(KernelRuntimeContext& ctx, const Tensor& in, int64_t dim, bool half_to_float, Tensor& out) {
  return softmax(ctx, "_log_softmax.out", in, dim, half_to_float, out, /*log=*/true);
}

}  // namespace torch::executor::native
