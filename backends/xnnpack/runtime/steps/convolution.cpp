// SPDX-License-Identifier: BSD-3-Clause
#include "steps/convolution.h"

#include <cpuinfo.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "private/xnnpack_kernels.h"
#include "private/xnnpack_runtime.h"

namespace executorch {
namespace backends {
namespace xnnpack {

xnn_status find_or_pack(xnn_weights_cache_t weights, uint32_t seed, const StepData& constants,
                        runtime::internal::CheckedSize size, const std::function<void(void*)>& fill,
                        const void** packed) {
  const runtime::internal::CheckedSize readable = size + XNN_EXTRA_BYTES;
  if (weights == nullptr || !readable.at_most(std::numeric_limits<size_t>::max() / 2)) {
    return weights == nullptr ? xnn_status_invalid_parameter : xnn_status_out_of_memory;
  }
  const xnn_weights_cache_look_up_key key{seed, constants.in[1], constants.in[2]};
  const auto bytes = static_cast<size_t>(readable.value());
  size_t offset = xnn_weights_cache_look_up(weights, &key);
  if (offset == XNN_CACHE_NOT_FOUND) {
    void* memory = weights->reserve_space(weights->context, bytes);
    if (memory == nullptr) {
      return xnn_status_out_of_memory;
    }
    // `fill` leaves gaps, and no uninitialised memory must get into a file of packed weights.
    std::memset(memory, 0, bytes);
    fill(memory);
    offset = xnn_look_up_or_insert_weights_cache(weights, &key, memory, bytes);
  } else {
    // Like XNNPACK's convolutions, look the weights up again with a size, so that the cache can compare it.
    offset = xnn_look_up_or_insert_weights_cache(weights, &key, nullptr, bytes);
  }
  *packed = weights->offset_to_addr(weights->context, offset);
  return *packed == nullptr ? xnn_status_out_of_memory : xnn_status_success;
}

size_t core_cache_size() {
  constexpr size_t kLeast = 256 << 10, kUsual = 512 << 10, kMost = 2048 << 10;
  const cpuinfo_cache* cache = cpuinfo_initialize() ? cpuinfo_get_l2_cache(0) : nullptr;
  // With simultaneous multithreading, a core counts as two processors.
  return cache == nullptr || cache->size == 0
             ? kUsual
             : std::clamp<size_t>(cache->size / ceil_div(cache->processor_count, 2), kLeast, kMost);
}

const xnn_gemm_config* find_panel_products() {
  const xnn_gemm_config* products = xnn_init_f32_gemm_config();
  const bool fits = products != nullptr && products->log2_kr == 0 && products->log2_sr == 0 &&
                    products->minmax.gemm[products->mr - 1].function[XNN_UARCH_DEFAULT] != nullptr;
  return fits ? products : nullptr;
}

}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch
