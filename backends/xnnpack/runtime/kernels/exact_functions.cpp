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

void sqrt_floats(const float* in, float* out, size_t count) {
  for_vectors(count, [&](size_t i, auto load, auto store) HWY_ATTR { store(hn::Sqrt(load(in + i)), out + i); });
}

void rsqrt_floats(const float* in, float* out, size_t count) {
  const Vec one = vector::constant(1.0f);
  for_vectors(count,
              [&](size_t i, auto load, auto store) HWY_ATTR { store(hn::Div(one, hn::Sqrt(load(in + i))), out + i); });
}

/// The larger (if `largest`) or smaller number of each pair; NaN if either is NaN. If `is_one`, `y` is a scalar.
void extremes_of_floats(const float* x, const float* y, bool is_one, bool largest, float* out, size_t count) {
  const Vec number = vector::constant(is_one ? *y : 0.0f);
  for_vectors(count, [&](size_t i, auto load, auto store) HWY_ATTR {
    const Vec a = load(x + i);
    const Vec b = is_one ? number : load(y + i);
    // The instructions handle NaN differently: x86 returns `b`, Arm the other operand.
    const auto is_nan = hn::Or(hn::IsNaN(a), hn::IsNaN(b));
    store(hn::IfThenElse(is_nan, hn::Add(a, b), largest ? hn::Max(a, b) : hn::Min(a, b)), out + i);
  });
}

/// Whether any element is finite and above `limit`.
bool has_finite_above(const float* in, size_t count, float limit) {
  auto found = hn::MaskFalse(Tag());
  const Vec least = vector::constant(limit);
  for_vectors(count, [&](size_t i, auto load, auto) HWY_ATTR {
    const Vec x = load(in + i);
    found = hn::Or(found, hn::And(hn::Gt(x, least), hn::IsFinite(x)));
  });
  return !hn::AllFalse(Tag(), found);
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
HWY_EXPORT(rsqrt_floats);
HWY_EXPORT(extremes_of_floats);
HWY_EXPORT(has_finite_above);

using Uparams = union xnn_unary_uparams;

// Kernels with the signature that XNNPACK calls: `batch` is in bytes; the output may be the input.
void sqrt_kernel(size_t batch, const void* in, void* out, const Uparams*) {
  HWY_DYNAMIC_DISPATCH(sqrt_floats)(static_cast<const float*>(in), static_cast<float*>(out), batch / sizeof(float));
}

void rsqrt_kernel(size_t batch, const void* in, void* out, const Uparams*) {
  HWY_DYNAMIC_DISPATCH(rsqrt_floats)(static_cast<const float*>(in), static_cast<float*>(out), batch / sizeof(float));
}

template <bool kIsOne, bool kLargest>
void extreme_kernel(size_t batch, const void* x, const void* y, void* out, const void*) {
  HWY_DYNAMIC_DISPATCH(extremes_of_floats)
  (static_cast<const float*>(x), static_cast<const float*>(y), kIsOne, kLargest, static_cast<float*>(out),
   batch / sizeof(float));
}

template <bool kLargest>
void replace_extremes(const xnn_binary_elementwise_config* config) {
  if (config != nullptr) {
    auto* kernels = const_cast<xnn_binary_elementwise_config*>(config);
    kernels->op_ukernel = extreme_kernel<false, kLargest>;
    kernels->opc_ukernel = kernels->ropc_ukernel = extreme_kernel<true, kLargest>;
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
    if (HWY_DYNAMIC_DISPATCH(has_finite_above)(x, count, kLimit)) {
      std::transform(x, x + count, y, [](float value) { return std::log(value); });
    } else {
      fast_log(count * sizeof(float), x, y, params);
    }
    x += count;
    y += count;
    left -= count;
  }
}

/// The configurations are variables of XNNPACK's, initialised by the first call; operators read them when created.
xnn_vunary_ukernel_fn replace(const xnn_unary_elementwise_config* config, xnn_vunary_ukernel_fn kernel) {
  return config == nullptr ? nullptr
                           : std::exchange(const_cast<xnn_unary_elementwise_config*>(config)->ukernel, kernel);
}

}  // namespace

void use_exact_functions() {
  replace(xnn_init_f32_sqrt_config(), sqrt_kernel);
  replace(xnn_init_f32_rsqrt_config(), rsqrt_kernel);
  replace_extremes<true>(xnn_init_f32_vmax_config());
  replace_extremes<false>(xnn_init_f32_vmin_config());
  fast_log = replace(xnn_init_f32_log_config(), log_kernel);
}

}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch

#endif  // HWY_ONCE
