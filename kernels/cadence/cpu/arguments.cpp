// SPDX-License-Identifier: BSD-3-Clause
#include "kernels/cadence/cpu/arguments.h"

#include <cmath>
#include <cstdio>

namespace torch::executor::native::cadence {

bool check_order(KernelRuntimeContext& ctx, const char* op, const char* name, const Tensor& tensor) {
  ET_KERNEL_CHECK_MSG(ctx, executorch::runtime::tensor_is_default_dim_order(tensor), InvalidArgument, false,
                      "%s: expected %s in the default dim order", op, name);
  return true;
}

bool check_dtype(KernelRuntimeContext& ctx, const char* op, const char* name, const Tensor& tensor, ScalarType dtype) {
  ET_KERNEL_CHECK_MSG(ctx, tensor.scalar_type() == dtype, InvalidArgument, false, "%s: expected %s of %s, found %s", op,
                      name, toString(dtype), toString(tensor.scalar_type()));
  return true;
}

bool check_scale(KernelRuntimeContext& ctx, const char* op, const char* name, double scale) {
  ET_KERNEL_CHECK_MSG(ctx, scale > 0 && std::isfinite(scale), InvalidArgument, false,
                      "%s: expected %s above 0, found %g", op, name, scale);
  return true;
}

bool read_number(KernelRuntimeContext& ctx, const char* op, const char* name, const Tensor& tensor, double* number) {
  ET_KERNEL_CHECK_MSG(ctx, tensor.numel() == 1, InvalidArgument, false, "%s: expected one number as %s, found %zd", op,
                      name, static_cast<ssize_t>(tensor.numel()));
  return dispatch<float, double, int8_t, uint8_t, int16_t, int32_t, int64_t>(
      ctx, op, name, tensor.scalar_type(),
      [&](auto zero) { *number = static_cast<double>(*tensor.const_data_ptr<decltype(zero)>()); });
}

bool read_number(KernelRuntimeContext& ctx, const char* op, const char* name, const Tensor& tensor, int64_t* number) {
  double read = 0;
  if (!read_number(ctx, op, name, tensor, &read)) {
    return false;
  }
  ET_KERNEL_CHECK_MSG(ctx, read >= -2147483648.0 && read <= 4294967295.0 && read == std::floor(read), InvalidArgument,
                      false, "%s: expected an integer as %s, found %g", op, name, read);
  *number = static_cast<int64_t>(read);
  return true;
}

bool read_quantization(KernelRuntimeContext& ctx, const char* op, const char* name, const Tensor& scale,
                       const Tensor& zero_point, Quantization* read) {
  char text[32];
  std::snprintf(text, sizeof(text), "%s_scale", name);
  if (!read_number(ctx, op, text, scale, &read->scale)) {
    return false;
  }
  std::snprintf(text, sizeof(text), "%s_zero_point", name);
  return read_number(ctx, op, text, zero_point, &read->zero_point);
}

bool read_numbers(KernelRuntimeContext& ctx, const char* op, const char* name, IntArrayRef values, size_t count,
                  int64_t least, int64_t* numbers) {
  ET_KERNEL_CHECK_MSG(ctx, values.size() == 1 || values.size() >= count, InvalidArgument, false,
                      "%s: expected %zu numbers as %s, found %zu", op, count, name, values.size());
  for (size_t i = 0; i < count; ++i) {
    numbers[i] = values.size() == 1 ? values[0] : values[values.size() - count + i];
    ET_KERNEL_CHECK_MSG(ctx, numbers[i] >= least && numbers[i] <= INT32_MAX, InvalidArgument, false,
                        "%s: expected %s from %lld on, found %lld", op, name, static_cast<long long>(least),
                        static_cast<long long>(numbers[i]));
  }
  return true;
}

bool read_factor(KernelRuntimeContext& ctx, const char* op, int64_t multiplier, int64_t shift, float* factor) {
  ET_KERNEL_CHECK_MSG(
      ctx, multiplier != 0 && multiplier >= INT32_MIN && multiplier <= INT32_MAX && shift >= -64 && shift <= 64,
      InvalidArgument, false,
      "%s: expected a multiplier of 32 bits that is not 0, and a shift from -64 to 64, found %lld and %lld", op,
      static_cast<long long>(multiplier), static_cast<long long>(shift));
  const double magnitude = std::fabs(static_cast<double>(multiplier)) / 2147483648.0;
  *factor = static_cast<float>(1.0 / (1.0 / std::ldexp(magnitude, static_cast<int>(shift))));
  return true;
}

}  // namespace torch::executor::native::cadence
