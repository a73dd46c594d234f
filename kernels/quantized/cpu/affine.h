// SPDX-License-Identifier: BSD-3-Clause
// Affine quantization: q = clamp(round(x / scale) + zero_point), x = (q - zero_point) * scale, for runs of elements
// that share their parameters. Rounding is to the nearest even integer. NaN becomes quant_min.
#pragma once

#include "kernels/portable/cpu/pattern/checks.h"

namespace torch::executor::native {

struct AffineParams {
  double scale;
  double zero_point;
};

/// Bounds of the quantized values.
struct QuantRange {
  int64_t min;
  int64_t max;
};

/// Checks that `dtype` holds quantized values (Byte, Char, Short, Int, UInt16) and quant_min <= quant_max lie in it.
/// Fails the context otherwise.
bool check_quantized_dtype(KernelRuntimeContext& ctx, const char* op, ScalarType dtype, QuantRange range);

/// Checks that `dtype` is Float, Half, BFloat16 or Double. Fails the context otherwise.
bool check_real_dtype(KernelRuntimeContext& ctx, const char* op, ScalarType dtype);

/// Checks that a dtype argument agrees with the tensor that it describes.
bool check_dtype_argument(KernelRuntimeContext& ctx, const char* op, ScalarType argument, const Tensor& tensor);

/// The differences between PyTorch's formulas: computing in double (if the scales are Double tensors), and rounding
/// after the zero point is added (per token) rather than before.
struct QuantizeMode {
  bool wide = false;
  bool round_last = false;
};

/// Quantizes elements [start, start + count) in memory order. The dtypes must have been checked.
void quantize_run(const Tensor& in, Tensor& out, int64_t start, int64_t count, AffineParams params, QuantRange range,
                  QuantizeMode mode);
/// The same for `count` floats that are not in a tensor.
void quantize_floats(const float* x, Tensor& out, int64_t start, int64_t count, AffineParams params, QuantRange range);
void dequantize_run(const Tensor& in, Tensor& out, int64_t start, int64_t count, AffineParams params, bool wide);

/// `count` scales of any floating-point dtype, and as many zero points of any dtype but Bool; no zero points mean 0.
class ParamTable {
 public:
  bool read(KernelRuntimeContext& ctx, const char* op, const Tensor& scales, const std::optional<Tensor>& zero_points,
            int64_t count);
  AffineParams at(int64_t i) const;
  /// Whether the scales are Double; PyTorch then computes in double.
  bool wide() const { return scale_type_ == ScalarType::Double; }

 private:
  double zero_point_at(int64_t i) const;

  const void* scales_ = nullptr;
  const void* zero_points_ = nullptr;
  ScalarType scale_type_ = ScalarType::Float;
  ScalarType zero_point_type_ = ScalarType::Long;
};

}  // namespace torch::executor::native
