// SPDX-License-Identifier: BSD-3-Clause
#include "steps/convolution.h"

#include <cstring>
#include <limits>

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
    // Not all of it is filled, and it may end up in a file.
    std::memset(memory, 0, bytes);
    fill(memory);
    offset = xnn_look_up_or_insert_weights_cache(weights, &key, memory, bytes);
  } else {
    // As XNNPACK's convolutions do: it tells the provider how many bytes are read.
    offset = xnn_look_up_or_insert_weights_cache(weights, &key, nullptr, bytes);
  }
  *packed = weights->offset_to_addr(weights->context, offset);
  return *packed == nullptr ? xnn_status_out_of_memory : xnn_status_success;
}

}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch
