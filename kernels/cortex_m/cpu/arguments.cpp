// SPDX-License-Identifier: BSD-3-Clause
#include "kernels/cortex_m/cpu/arguments.h"

namespace torch::executor::native::cortex_m {
namespace {

long long wide(int64_t value) {
  return static_cast<long long>(value);
}

}  // namespace

bool check_dtype(KernelRuntimeContext& ctx, const char* op, const char* name, const Tensor& tensor, ScalarType dtype) {
  ET_KERNEL_CHECK_MSG(ctx, tensor.scalar_type() == dtype, InvalidArgument, false,
                      "%s: expected %s of dtype %s, found %s", op, name, toString(dtype),
                      toString(tensor.scalar_type()));
  return true;
}

bool check_offset(KernelRuntimeContext& ctx, const char* op, const char* name, int64_t offset) {
  ET_KERNEL_CHECK_MSG(ctx, offset >= INT16_MIN && offset <= INT16_MAX, InvalidArgument, false,
                      "%s: expected %s from %d to %d, found %lld", op, name, INT16_MIN, INT16_MAX, wide(offset));
  return true;
}

bool check_multiplier(KernelRuntimeContext& ctx, const char* op, int64_t multiplier, int64_t shift) {
  ET_KERNEL_CHECK_MSG(ctx, multiplier >= INT32_MIN && multiplier <= INT32_MAX, InvalidArgument, false,
                      "%s: expected a multiplier of 32 bits, found %lld", op, wide(multiplier));
  ET_KERNEL_CHECK_MSG(ctx, shift >= -31 && shift <= 31, InvalidArgument, false,
                      "%s: expected a shift from -31 to 31, found %lld", op, wide(shift));
  return true;
}

bool check_output(KernelRuntimeContext& ctx, const char* op, int64_t zero_point, int64_t min, int64_t max,
                  Int8Output* output) {
  ET_KERNEL_CHECK_MSG(ctx, min >= INT8_MIN && min <= max && max <= INT8_MAX, InvalidArgument, false,
                      "%s: expected activation_min <= activation_max from %d to %d, found %lld and %lld", op, INT8_MIN,
                      INT8_MAX, wide(min), wide(max));
  *output = {static_cast<int32_t>(zero_point), static_cast<int32_t>(min), static_cast<int32_t>(max)};
  return check_offset(ctx, op, "an output zero point", zero_point);
}

bool is_channels_last(const Tensor& tensor) {
  constexpr uint8_t kOrder[] = {0, 2, 3, 1};
  int64_t stride = 1;
  for (size_t i = 4; i-- > 0;) {
    const uint8_t d = kOrder[i];
    if (tensor.sizes()[d] != 1 && tensor.strides()[d] != stride) {
      return false;
    }
    stride *= tensor.sizes()[d];
  }
  return true;
}

bool check_image(KernelRuntimeContext& ctx, const char* op, const char* name, const Tensor& tensor) {
  ET_KERNEL_CHECK_MSG(ctx, tensor.dim() == 4, InvalidArgument, false, "%s: expected %s of 4 dimensions, found %zd", op,
                      name, static_cast<ssize_t>(tensor.dim()));
  ET_KERNEL_CHECK_MSG(ctx, is_channels_last(tensor), InvalidArgument, false,
                      "%s: expected %s in the memory format channels_last; export the model with inputs of that format",
                      op, name);
  return check_dtype(ctx, op, name, tensor, ScalarType::Char);
}

bool check_pair(KernelRuntimeContext& ctx, const char* op, const char* name, IntArrayRef values, int64_t least,
                int64_t (&pair)[2]) {
  ET_KERNEL_CHECK_MSG(ctx, values.size() == 1 || values.size() == 2, InvalidArgument, false,
                      "%s: expected one or two numbers as the %s, found %zu", op, name, values.size());
  for (size_t i = 0; i < 2; ++i) {
    pair[i] = values[values.size() == 1 ? 0 : i];
    ET_KERNEL_CHECK_MSG(ctx, pair[i] >= least && pair[i] <= INT32_MAX, InvalidArgument, false,
                        "%s: expected a %s from %lld to %lld, found %lld", op, name, wide(least), wide(INT32_MAX),
                        wide(pair[i]));
  }
  return true;
}

bool check_int32s(KernelRuntimeContext& ctx, const char* op, const char* name, const std::optional<Tensor>& tensor,
                  int64_t count) {
  if (!tensor.has_value()) {
    return true;
  }
  ET_KERNEL_CHECK_MSG(ctx, tensor->numel() == count, InvalidArgument, false,
                      "%s: expected %lld numbers in %s, found %zd", op, wide(count), name,
                      static_cast<ssize_t>(tensor->numel()));
  return check_dtype(ctx, op, name, *tensor, ScalarType::Int);
}

bool Channels::read(KernelRuntimeContext& ctx, const char* op, const Tensor& multiplier, const Tensor& shift,
                    int64_t count) {
  if (!check_int32s(ctx, op, "requantize_multipliers", multiplier, count) ||
      !check_int32s(ctx, op, "requantize_shifts", shift, count)) {
    return false;
  }
  multipliers = multiplier.const_data_ptr<int32_t>();
  shifts = shift.const_data_ptr<int32_t>();
  for (int64_t i = 0; i < count; ++i) {
    if (!check_multiplier(ctx, op, multipliers[i], shifts[i])) {
      return false;
    }
  }
  return true;
}

}  // namespace torch::executor::native::cortex_m
