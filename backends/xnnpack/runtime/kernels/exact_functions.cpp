// SPDX-License-Identifier: BSD-3-Clause
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/xnnpack/runtime/kernels/exact_functions.cpp"
#include "backends/xnnpack/runtime/kernels/exact_functions.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

#include "hwy/foreach_target.h"  // IWYU pragma: keep

#include "backends/xnnpack/runtime/steps/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace executorch {
namespace backends {
namespace xnnpack {
namespace HWY_NAMESPACE {

template <typename E>
HWY_INLINE void square_roots(const E* in, E* out, size_t count) {
  for_vectors(count, [&](size_t i, auto load, auto store) HWY_ATTR { store(hn::Sqrt(load(in + i)), out + i); });
}

void sqrt_floats(const void* in, void* out, size_t bytes) {
  square_roots(static_cast<const float*>(in), static_cast<float*>(out), bytes / sizeof(float));
}

void sqrt_halves(const void* in, void* out, size_t bytes) {
  square_roots(static_cast<const hwy::float16_t*>(in), static_cast<hwy::float16_t*>(out),
               bytes / sizeof(hwy::float16_t));
}

void rsqrt_floats(const float* in, float* out, size_t count) {
  const Vec one = vector::constant(1.0f);
  for_vectors(count,
              [&](size_t i, auto load, auto store) HWY_ATTR { store(hn::Div(one, hn::Sqrt(load(in + i))), out + i); });
}

/// The larger (if `largest`) or smaller number of each pair; NaN if either is NaN. If `is_one`, `y` is a scalar.
template <typename E>
HWY_INLINE void extremes(const E* x, const E* y, bool is_one, bool largest, E* out, size_t count) {
  const Vec number = vector::constant(is_one ? hwy::ConvertScalarTo<float>(*y) : 0.0f);
  for_vectors(count, [&](size_t i, auto load, auto store) HWY_ATTR {
    const Vec a = load(x + i);
    const Vec b = is_one ? number : load(y + i);
    // The instructions handle NaN differently: x86 returns `b`, Arm the other operand.
    const auto is_nan = hn::Or(hn::IsNaN(a), hn::IsNaN(b));
    store(hn::IfThenElse(is_nan, hn::Add(a, b), largest ? hn::Max(a, b) : hn::Min(a, b)), out + i);
  });
}

void extremes_of_floats(const void* x, const void* y, bool is_one, bool largest, void* out, size_t bytes) {
  extremes(static_cast<const float*>(x), static_cast<const float*>(y), is_one, largest, static_cast<float*>(out),
           bytes / sizeof(float));
}

void extremes_of_halves(const void* x, const void* y, bool is_one, bool largest, void* out, size_t bytes) {
  extremes(static_cast<const hwy::float16_t*>(x), static_cast<const hwy::float16_t*>(y), is_one, largest,
           static_cast<hwy::float16_t*>(out), bytes / sizeof(hwy::float16_t));
}

/// Whether all elements are at most `limit`; NaN is not.
bool are_at_most(const float* in, size_t count, float limit) {
  auto all = hn::Not(hn::MaskFalse(Tag()));
  const Vec most = vector::constant(limit);
  for_vectors(count, [&](size_t i, auto load, auto) HWY_ATTR { all = hn::And(all, hn::Le(load(in + i), most)); });
  return hn::AllTrue(Tag(), all);
}

}  // namespace HWY_NAMESPACE
}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include "private/xnnpack_kernels.h"

namespace executorch {
namespace backends {
namespace xnnpack {
namespace {

HWY_EXPORT(sqrt_floats);
HWY_EXPORT(sqrt_halves);
HWY_EXPORT(rsqrt_floats);
HWY_EXPORT(extremes_of_floats);
HWY_EXPORT(extremes_of_halves);
HWY_EXPORT(are_at_most);

using Uparams = union xnn_unary_uparams;

// Kernels with the signature that XNNPACK calls: `batch` is in bytes; the output may be the input.
void sqrt_kernel(size_t batch, const void* in, void* out, const Uparams*) {
  HWY_DYNAMIC_DISPATCH(sqrt_floats)(in, out, batch);
}

void half_sqrt_kernel(size_t batch, const void* in, void* out, const Uparams*) {
  HWY_DYNAMIC_DISPATCH(sqrt_halves)(in, out, batch);
}

void rsqrt_kernel(size_t batch, const void* in, void* out, const Uparams*) {
  HWY_DYNAMIC_DISPATCH(rsqrt_floats)(static_cast<const float*>(in), static_cast<float*>(out), batch / sizeof(float));
}

template <bool kIsOne, bool kLargest>
void extreme_kernel(size_t batch, const void* x, const void* y, void* out, const void*) {
  HWY_DYNAMIC_DISPATCH(extremes_of_floats)(x, y, kIsOne, kLargest, out, batch);
}

template <bool kIsOne, bool kLargest>
void half_extreme_kernel(size_t batch, const void* x, const void* y, void* out, const void*) {
  HWY_DYNAMIC_DISPATCH(extremes_of_halves)(x, y, kIsOne, kLargest, out, batch);
}

void replace(const xnn_binary_elementwise_config* config, xnn_vbinary_ukernel_fn of_two,
             xnn_vbinary_ukernel_fn of_one) {
  auto* kernels = const_cast<xnn_binary_elementwise_config*>(config);
  kernels->op_ukernel = of_two;
  kernels->opc_ukernel = kernels->ropc_ukernel = of_one;
}

/// Replaces maximum or minimum in float16. XNNPACK takes its reference kernel on processors for which it has no other.
void replace_in_halves(const xnn_binary_elementwise_config* config, xnn_binary_operator op,
                       xnn_vbinary_ukernel_fn of_two, xnn_vbinary_ukernel_fn of_one) {
  if (config == nullptr) {
    replace(xnn_init_binary_reference_config(op, xnn_datatype_fp16), of_two, of_one);
  } else if (!HWY_ARCH_ARM_A64) {  // which has instructions for float16
    replace(config, of_two, of_one);
  }
}

xnn_vunary_ukernel_fn fast_log = nullptr;

void log_kernel(size_t batch, const void* in, void* out, const Uparams* params) {
  constexpr size_t kBlock = 1024;
  constexpr float kLimit = 2.4e38f;  // sqrt(2) * 2^127 = 2.406e38
  const auto* x = static_cast<const float*>(in);
  auto* y = static_cast<float*>(out);
  for (size_t left = batch / sizeof(float); left > 0;) {
    const size_t count = std::min(kBlock, left);
    if (HWY_DYNAMIC_DISPATCH(are_at_most)(x, count, kLimit)) {
      fast_log(count * sizeof(float), x, y, params);
    } else {
      std::transform(x, x + count, y, [](float value) { return std::log(value); });
    }
    x += count;
    y += count;
    left -= count;
  }
}

/// `config` is a global variable of XNNPACK, which xnn_init_..._config() has initialised; new operators read it.
xnn_vunary_ukernel_fn replace(const xnn_unary_elementwise_config* config, xnn_vunary_ukernel_fn kernel) {
  return config == nullptr ? nullptr
                           : std::exchange(const_cast<xnn_unary_elementwise_config*>(config)->ukernel, kernel);
}

}  // namespace

void use_exact_functions() {
  replace(xnn_init_f32_sqrt_config(), sqrt_kernel);
  replace(xnn_init_f32_rsqrt_config(), rsqrt_kernel);
  replace(xnn_init_f32_vmax_config(), extreme_kernel<false, true>, extreme_kernel<true, true>);
  replace(xnn_init_f32_vmin_config(), extreme_kernel<false, false>, extreme_kernel<true, false>);
  fast_log = replace(xnn_init_f32_log_config(), log_kernel);
  if (!HWY_ARCH_ARM_A64) {  // which has instructions for float16
    replace(xnn_init_f16_sqrt_config(), half_sqrt_kernel);
  }
  replace_in_halves(xnn_init_f16_vmax_config(), xnn_binary_maximum, half_extreme_kernel<false, true>,
                    half_extreme_kernel<true, true>);
  replace_in_halves(xnn_init_f16_vmin_config(), xnn_binary_minimum, half_extreme_kernel<false, false>,
                    half_extreme_kernel<true, false>);
}

}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch

#endif  // HWY_ONCE
