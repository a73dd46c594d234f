// SPDX-License-Identifier: BSD-3-Clause
#include "kernels/quantized/cpu/affine.h"

#include <cinttypes>
#include <cmath>
#include <limits>

#include "kernels/portable/cpu/pattern/compute_type.h"

namespace torch::executor::native {
namespace {

constexpr size_t kBlock = 64;

// Calls visitor(a zero of the C++ type of `dtype`) if the dtype holds quantized values and the build has code for it.
template <typename Visitor>
bool visit_quantized(ScalarType dtype, const Visitor& visitor) {
#define CASE(ctype, name)                          \
  case ScalarType::name:                           \
    if constexpr (is_selected(ScalarType::name)) { \
      visitor(ctype{});                            \
    }                                              \
    return is_selected(ScalarType::name);
  switch (dtype) {
    CASE(uint8_t, Byte)
    CASE(int8_t, Char)
    CASE(int16_t, Short)
    CASE(uint16_t, UInt16)
    CASE(int32_t, Int)
    default:
      return false;
  }
#undef CASE
}

// Rounds to the nearest even integer: from 1.5 * 2^23 (2^52) on, adjacent numbers differ by one. |x| must be below 2^22
// (2^51).
[[maybe_unused]] inline float round_even(float x) {
  return (x + 12582912.0f) - 12582912.0f;
}
[[maybe_unused]] inline double round_even(double x) {
  return (x + 6755399441055744.0) - 6755399441055744.0;
}

// low and high bound the quantized value; the order of clamping and of rounding to integers does not matter.
template <typename Real, typename Q>
void quantize_block(const Real* x, Q* q, size_t count, AffineParams params, QuantRange range, bool round_last) {
  const Real inverse = static_cast<Real>(1.0 / params.scale);  // as in PyTorch, where the scale is a Python number
  const Real zero_point = static_cast<Real>(params.zero_point);
  const Real low = static_cast<Real>(range.min), high = static_cast<Real>(range.max);
  if (round_last) {
    for (size_t i = 0; i < count; ++i) {
      Real y = x[i] * inverse + zero_point;
      y = y > low ? y : low;
      y = y < high ? y : high;
      q[i] = static_cast<Q>(static_cast<int64_t>(round_even(y)));
    }
    return;
  }
  const Real least = low - zero_point, most = high - zero_point;
  for (size_t i = 0; i < count; ++i) {
    Real y = x[i] * inverse;
    y = y > least ? y : least;
    y = y < most ? y : most;
    q[i] = static_cast<Q>(static_cast<int64_t>(round_even(y) + zero_point));
  }
}

template <typename Real>
void quantize_block(const Real* x, const Tensor& out, int64_t start, size_t count, AffineParams params,
                    QuantRange range, bool round_last) {
  visit_quantized(out.scalar_type(), [&](auto zero) {
    auto* q = static_cast<decltype(zero)*>(out.mutable_data_ptr()) + start;
    quantize_block(x, q, count, params, range, round_last);
  });
}

const void* element(const Tensor& tensor, int64_t i) {
  return static_cast<const char*>(tensor.const_data_ptr()) + i * tensor.element_size();
}

size_t block_size(int64_t done, int64_t count) {
  return count - done < static_cast<int64_t>(kBlock) ? static_cast<size_t>(count - done) : kBlock;
}

// Reads elements of `tensor` as `Real`, through a type to which every build with that dtype can convert.
template <typename Real>
void load_reals(const Tensor& tensor, int64_t start, Real* x, size_t count) {
  const ScalarType dtype = tensor.scalar_type();
  const auto widen = [&](auto zero) {
    decltype(zero) narrow[kBlock];
    load_fn(dtype, compute_type_of<decltype(zero)>())(narrow, element(tensor, start), count);
    for (size_t i = 0; i < count; ++i) {
      x[i] = static_cast<Real>(narrow[i]);
    }
  };
  if (compute_type_of<Real>() == ComputeType::Float || dtype == ScalarType::Double) {
    load_fn(dtype, compute_type_of<Real>())(x, element(tensor, start), count);
  } else if (arithmetic_type(dtype) == ComputeType::Int) {
    widen(int64_t{});
  } else {
    widen(float{});
  }
}

template <typename Real>
void quantize_all(const Tensor& in, Tensor& out, int64_t start, int64_t count, AffineParams params, QuantRange range,
                  bool round_last) {
  for (int64_t done = 0; done < count; done += kBlock) {
    const size_t size = block_size(done, count);
    Real x[kBlock];
    load_reals(in, start + done, x, size);
    quantize_block(x, out, start + done, size, params, range, round_last);
  }
}

template <typename Real>
void dequantize_all(const Tensor& in, Tensor& out, int64_t start, int64_t count, AffineParams params) {
  const ConvertFn store = store_fn(compute_type_of<Real>(), out.scalar_type());
  const Real scale = static_cast<Real>(params.scale), zero_point = static_cast<Real>(params.zero_point);
  for (int64_t done = 0; done < count; done += kBlock) {
    const size_t size = block_size(done, count);
    Real x[kBlock];
    load_reals(in, start + done, x, size);
    for (size_t i = 0; i < size; ++i) {
      x[i] = (x[i] - zero_point) * scale;
    }
    store(const_cast<void*>(element(out, start + done)), x, size);
  }
}

// A float does not hold all integers of these dtypes.
bool needs_double(ScalarType dtype) {
  return dtype == ScalarType::Int;
}

// In a build for other dtypes, no call needs double.
constexpr bool kComputesInDouble = is_selected(ScalarType::Double) || is_selected(ScalarType::Int);

}  // namespace

bool check_quantized_dtype(KernelRuntimeContext& ctx, const char* op, ScalarType dtype, QuantRange range) {
  bool holds = false;
  visit_quantized(dtype, [&](auto zero) {
    using Limits = std::numeric_limits<decltype(zero)>;
    holds = range.min <= range.max && range.min >= static_cast<int64_t>(Limits::min()) &&
            range.max <= static_cast<int64_t>(Limits::max());
  });
  if (!holds) {
    ET_LOG(Error,
           "%s: dtype %s with quant_min %" PRId64 " and quant_max %" PRId64
           " is not a quantized type: Byte, Char, Short, UInt16 or Int with bounds that lie in it",
           op, toString(dtype), range.min, range.max);
    ctx.fail(Error::InvalidArgument);
  }
  return holds;
}

bool check_real_dtype(KernelRuntimeContext& ctx, const char* op, ScalarType dtype) {
  if (dtype == ScalarType::Float || dtype == ScalarType::Half || dtype == ScalarType::BFloat16 ||
      dtype == ScalarType::Double) {
    return true;
  }
  ET_LOG(Error, "%s: the real values must be Float, Half, BFloat16 or Double, they are %s", op, toString(dtype));
  ctx.fail(Error::InvalidArgument);
  return false;
}

bool check_dtype_argument(KernelRuntimeContext& ctx, const char* op, ScalarType argument, const Tensor& tensor) {
  if (argument == tensor.scalar_type()) {
    return true;
  }
  ET_LOG(Error, "%s: the program names dtype %s for a tensor of dtype %s", op, toString(argument),
         toString(tensor.scalar_type()));
  ctx.fail(Error::InvalidArgument);
  return false;
}

void quantize_run(const Tensor& in, Tensor& out, int64_t start, int64_t count, AffineParams params, QuantRange range,
                  QuantizeMode mode) {
  if (mode.wide || needs_double(out.scalar_type()) || in.scalar_type() == ScalarType::Double) {
    if constexpr (kComputesInDouble) {
      quantize_all<double>(in, out, start, count, params, range, mode.round_last);
    }
  } else {
    quantize_all<float>(in, out, start, count, params, range, mode.round_last);
  }
}

void quantize_floats(const float* x, Tensor& out, int64_t start, int64_t count, AffineParams params, QuantRange range) {
  if (!needs_double(out.scalar_type())) {
    quantize_block(x, out, start, static_cast<size_t>(count), params, range, /*round_last=*/false);
    return;
  }
  if constexpr (kComputesInDouble) {
    for (int64_t i = 0; i < count; ++i) {
      const double wide = static_cast<double>(x[i]);
      quantize_block(&wide, out, start + i, 1, params, range, /*round_last=*/false);
    }
  }
}

void dequantize_run(const Tensor& in, Tensor& out, int64_t start, int64_t count, AffineParams params, bool wide) {
  if (wide || needs_double(in.scalar_type()) || out.scalar_type() == ScalarType::Double) {
    if constexpr (kComputesInDouble) {
      dequantize_all<double>(in, out, start, count, params);
    }
  } else {
    dequantize_all<float>(in, out, start, count, params);
  }
}

bool ParamTable::read(KernelRuntimeContext& ctx, const char* op, const Tensor& scales,
                      const std::optional<Tensor>& zero_points, int64_t count) {
  scale_type_ = scales.scalar_type();
  bool holds =
      scales.numel() == count && is_supported_dtype(scale_type_) && executorch::runtime::isFloatingType(scale_type_);
  if (zero_points) {
    zero_point_type_ = zero_points->scalar_type();
    holds = holds && zero_points->numel() == count && zero_point_type_ != ScalarType::Bool &&
            is_supported_dtype(zero_point_type_);
    zero_points_ = zero_points->const_data_ptr();
  }
  scales_ = scales.const_data_ptr();
  if (!holds) {
    ET_LOG(Error,
           "%s: expected %" PRId64
           " floating-point scales and as many zero points or none; found %zd scales of dtype %s "
           "and %zd zero points",
           op, count, (ssize_t)scales.numel(), toString(scale_type_),
           zero_points ? (ssize_t)zero_points->numel() : (ssize_t)0);
    ctx.fail(Error::InvalidArgument);
  }
  return holds;
}

double ParamTable::zero_point_at(int64_t i) const {
  const void* at = static_cast<const char*>(zero_points_) +
                   static_cast<size_t>(i) * executorch::runtime::elementSize(zero_point_type_);
  if (zero_point_type_ == ScalarType::Double) {
    return *static_cast<const double*>(at);
  }
  if (arithmetic_type(zero_point_type_) == ComputeType::Int) {
    int64_t value = 0;
    load_fn(zero_point_type_, ComputeType::Int)(&value, at, 1);
    return static_cast<double>(value);
  }
  float value = 0;
  load_fn(zero_point_type_, ComputeType::Float)(&value, at, 1);
  return static_cast<double>(value);
}

AffineParams ParamTable::at(int64_t i) const {
  AffineParams params{0.0, 0.0};
  if (scale_type_ == ScalarType::Double) {
    params.scale = static_cast<const double*>(scales_)[i];
  } else {
    float scale = 0;
    const size_t size = executorch::runtime::elementSize(scale_type_);
    load_fn(scale_type_, ComputeType::Float)(&scale, static_cast<const char*>(scales_) + static_cast<size_t>(i) * size,
                                             1);
    params.scale = static_cast<double>(scale);
  }
  if (zero_points_ != nullptr) {
    params.zero_point = zero_point_at(i);
  }
  return params;
}

}  // namespace torch::executor::native
