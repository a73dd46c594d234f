// SPDX-License-Identifier: BSD-3-Clause
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/optimized/cpu/elementwise/float_blocks.cpp"
#include "kernels/optimized/cpu/elementwise/float_blocks.h"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "kernels/simd/functions-inl.h"

HWY_BEFORE_NAMESPACE();
namespace torch::executor::native::HWY_NAMESPACE {

HWY_INLINE const float* floats(const void* data) {
  return static_cast<const float*>(data);
}

void add_scaled(const void* const* in, float* out, size_t count, const float* p) {
  const FloatVec scale = hn::Set(FloatTag(), p[0]);
  map(floats(in[0]), out, count,
      [=](FloatVec x, const auto& load) HWY_ATTR { return hn::MulAdd(scale, load(floats(in[1])), x); });
}

void mul(const void* const* in, float* out, size_t count, const float*) {
  map(floats(in[0]), out, count,
      [=](FloatVec x, const auto& load) HWY_ATTR { return hn::Mul(x, load(floats(in[1]))); });
}

void div(const void* const* in, float* out, size_t count, const float*) {
  map(floats(in[0]), out, count,
      [=](FloatVec x, const auto& load) HWY_ATTR { return hn::Div(x, load(floats(in[1]))); });
}

void clamp(const void* const* in, float* out, size_t count, const float* p) {
  const FloatVec low = hn::Set(FloatTag(), p[0]);
  const FloatVec high = hn::Set(FloatTag(), p[1]);
  map(floats(in[0]), out, count, [low, high](FloatVec x, const auto&) HWY_ATTR {
    x = hn::IfThenElse(hn::Lt(x, low), low, x);
    return hn::IfThenElse(hn::Gt(x, high), high, x);
  });
}

void relu(const void* const* in, float* out, size_t count, const float*) {
  const FloatVec zero = hn::Zero(FloatTag());
  map(floats(in[0]), out, count,
      [zero](FloatVec x, const auto&) HWY_ATTR { return hn::IfThenElse(hn::Lt(x, zero), zero, x); });
}

void square(const void* const* in, float* out, size_t count, const float*) {
  map(floats(in[0]), out, count, [](FloatVec x, const auto&) HWY_ATTR { return hn::Mul(x, x); });
}

void sqrt(const void* const* in, float* out, size_t count, const float*) {
  map(floats(in[0]), out, count, [](FloatVec x, const auto&) HWY_ATTR { return hn::Sqrt(x); });
}

void rsqrt(const void* const* in, float* out, size_t count, const float*) {
  const FloatVec one = hn::Set(FloatTag(), 1.0f);
  map(floats(in[0]), out, count, [one](FloatVec x, const auto&) HWY_ATTR { return hn::Div(one, hn::Sqrt(x)); });
}

#define DEFINE_FUNCTION(name)                                                                      \
  void name(const void* const* in, float* out, size_t count, const float*) {                       \
    map(floats(in[0]), out, count, [](FloatVec x, const auto&) HWY_ATTR { return name##_of(x); }); \
  }

DEFINE_FUNCTION(exp)
DEFINE_FUNCTION(sigmoid)
DEFINE_FUNCTION(tanh)
DEFINE_FUNCTION(gelu)
DEFINE_FUNCTION(gelu_tanh)

}  // namespace torch::executor::native::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace torch::executor::native {

#define ET_DEFINE(name)                                                                \
  HWY_EXPORT(name);                                                                    \
  void float_##name(const void* const* in, float* out, size_t count, const float* p) { \
    HWY_DYNAMIC_DISPATCH(name)(in, out, count, p);                                     \
  }
ET_FORALL_FLOAT_BLOCKS(ET_DEFINE)
#undef ET_DEFINE

}  // namespace torch::executor::native
#endif
