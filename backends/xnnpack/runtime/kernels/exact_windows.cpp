// SPDX-License-Identifier: BSD-3-Clause
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/xnnpack/runtime/kernels/exact_windows.cpp"
#include "backends/xnnpack/runtime/kernels/exact_windows.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "hwy/foreach_target.h"  // IWYU pragma: keep

#include "backends/xnnpack/runtime/steps/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace executorch {
namespace backends {
namespace xnnpack {
namespace HWY_NAMESPACE {

template <typename T>
HWY_INLINE T* add_bytes(T* pointer, size_t bytes) {
  return reinterpret_cast<T*>(reinterpret_cast<uintptr_t>(pointer) + bytes);
}

// The parameters of the functions below are those of XNNPACK's kernels. Pointers in `in` are to the channels of one
// pixel each, less `offset` bytes. `out_increment` is the number of bytes from the last channel of a pixel to the next
// pixel.

/// The largest number of each channel in windows of `elements` pixels, clamped to [`least`, `most`].
/// @param in_increment Bytes from the end of a window's pointers to those of the next window.
template <typename E>
HWY_INLINE void max_pool(size_t pixels, size_t elements, size_t channels, const void** in, size_t offset, E* out,
                         size_t in_increment, size_t out_increment, float least, float most) {
  const Vec low = vector::constant(least), high = vector::constant(most);
  const Vec nan = vector::constant(std::numeric_limits<float>::quiet_NaN());
  const size_t last = elements - 1;
  for (; pixels > 0; --pixels) {
    for_vectors(channels, [&](size_t channel, auto load, auto store) HWY_ATTR {
      const auto element = [&](size_t i)
                               HWY_ATTR { return load(add_bytes(static_cast<const E*>(in[i]), offset) + channel); };
      Vec largest = element(0);
      auto is_nan = hn::IsNaN(largest);
      // Two at a time, as one instruction finds NaN in either. hn::Max drops NaN on x86.
      for (size_t i = 1; i <= last; i += 2) {
        const Vec a = element(i), b = element(std::min(i + 1, last));
        is_nan = hn::Or(is_nan, hn::IsEitherNaN(a, b));
        largest = hn::Max(hn::Max(largest, a), b);
      }
      store(hn::IfThenElse(is_nan, nan, hn::Min(hn::Max(largest, low), high)), out + channel);
    });
    in = add_bytes(in + elements, in_increment);
    out = add_bytes(out + channels, out_increment);
  }
}

/// Means of four pixels each: the upper and lower left and right one, by the weights of right and lower.
template <typename E>
HWY_INLINE void resize(size_t pixels, size_t channels, const void** in, size_t offset, const E* weights, E* out,
                       size_t out_increment) {
  const Vec one = vector::constant(1.0f);
  for (; pixels > 0; --pixels) {
    const auto pixel = [&](size_t i) HWY_ATTR { return add_bytes(static_cast<const E*>(in[i]), offset); };
    const E *upper_left = pixel(0), *upper_right = pixel(1), *lower_left = pixel(2), *lower_right = pixel(3);
    // At the last column or row both are the same pixel, with the weight 0, and 0 times infinity would be NaN.
    const auto weight = [](E of_second, bool is_same) {
      return vector::constant(is_same ? 0.5f : hwy::ConvertScalarTo<float>(of_second));
    };
    const Vec right = weight(weights[0], upper_left == upper_right), left = hn::Sub(one, right);
    const Vec lower = weight(weights[1], upper_left == lower_left), upper = hn::Sub(one, lower);
    for_vectors(channels, [&](size_t channel, auto load, auto store) HWY_ATTR {
      const Vec a = hn::MulAdd(load(upper_right + channel), right, hn::Mul(load(upper_left + channel), left));
      const Vec b = hn::MulAdd(load(lower_right + channel), right, hn::Mul(load(lower_left + channel), left));
      store(hn::MulAdd(b, lower, hn::Mul(a, upper)), out + channel);
    });
    in += 4;
    weights += 2;
    out = add_bytes(out + channels, out_increment);
  }
}

void max_pool_floats(size_t pixels, size_t elements, size_t channels, const void** in, size_t offset, void* out,
                     size_t in_increment, size_t out_increment, float least, float most) {
  max_pool(pixels, elements, channels, in, offset, static_cast<float*>(out), in_increment, out_increment, least, most);
}

void max_pool_halves(size_t pixels, size_t elements, size_t channels, const void** in, size_t offset, void* out,
                     size_t in_increment, size_t out_increment, float least, float most) {
  max_pool(pixels, elements, channels, in, offset, static_cast<hwy::float16_t*>(out), in_increment, out_increment,
           least, most);
}

void resize_floats(size_t pixels, size_t channel_bytes, const void** in, size_t offset, const void* weights, void* out,
                   size_t out_increment) {
  resize(pixels, channel_bytes / sizeof(float), in, offset, static_cast<const float*>(weights),
         static_cast<float*>(out), out_increment);
}

void resize_halves(size_t pixels, size_t channel_bytes, const void** in, size_t offset, const void* weights, void* out,
                   size_t out_increment) {
  resize(pixels, channel_bytes / sizeof(hwy::float16_t), in, offset, static_cast<const hwy::float16_t*>(weights),
         static_cast<hwy::float16_t*>(out), out_increment);
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

HWY_EXPORT(max_pool_floats);
HWY_EXPORT(max_pool_halves);
HWY_EXPORT(resize_floats);
HWY_EXPORT(resize_halves);

// Kernels with the signatures that XNNPACK calls.
void max_pool_floats_kernel(size_t pixels, size_t elements, size_t channels, const void** in, size_t offset, void* out,
                            size_t in_increment, size_t out_increment, const void* params) {
  const auto& limits = static_cast<const xnn_f32_minmax_params*>(params)->scalar;
  HWY_DYNAMIC_DISPATCH(max_pool_floats)
  (pixels, elements, channels, in, offset, out, in_increment, out_increment, limits.min, limits.max);
}

void max_pool_halves_kernel(size_t pixels, size_t elements, size_t channels, const void** in, size_t offset, void* out,
                            size_t in_increment, size_t out_increment, const void* params) {
  const auto& limits = static_cast<const xnn_f16_minmax_params*>(params)->scalar;
  HWY_DYNAMIC_DISPATCH(max_pool_halves)
  (pixels, elements, channels, in, offset, out, in_increment, out_increment, xnn_float16_to_float(limits.min),
   xnn_float16_to_float(limits.max));
}

void resize_floats_kernel(size_t pixels, size_t channel_bytes, const void** in, size_t offset, const void* weights,
                          void* out, size_t out_increment) {
  HWY_DYNAMIC_DISPATCH(resize_floats)(pixels, channel_bytes, in, offset, weights, out, out_increment);
}

void resize_halves_kernel(size_t pixels, size_t channel_bytes, const void** in, size_t offset, const void* weights,
                          void* out, size_t out_increment) {
  HWY_DYNAMIC_DISPATCH(resize_halves)(pixels, channel_bytes, in, offset, weights, out, out_increment);
}

// Configurations are XNNPACK's global variables. xnn_init_..._config() has initialised them; new operators read them.

void replace(const xnn_maxpool_config* config, xnn_maxpool_ukernel_fn kernel) {
  if (config != nullptr) {
    auto* changed = const_cast<xnn_maxpool_config*>(config);
    changed->ukernel = kernel;
    // XNNPACK's kernels read whole tiles of a window's pointers, ours exactly the pointers of the window.
    changed->first_pass_tile_size = changed->remainder_pass_tile_size = 1;
  }
}

void replace(const xnn_ibilinear_config* config, xnn_ibilinear_ukernel_fn kernel) {
  if (config != nullptr) {
    const_cast<xnn_ibilinear_config*>(config)->ukernel = kernel;
  }
}

}  // namespace

void use_exact_windows() {
  if (!HWY_ARCH_ARM) {
    replace(xnn_init_f32_maxpool_config(), max_pool_floats_kernel);
    replace(xnn_init_f16_maxpool_config(), max_pool_halves_kernel);
  }
  replace(xnn_init_f32_ibilinear_config(), resize_floats_kernel);
  replace(xnn_init_f16_ibilinear_config(), resize_halves_kernel);
}

}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch

#endif  // HWY_ONCE
