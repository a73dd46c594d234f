// SPDX-License-Identifier: BSD-3-Clause
// libFuzzer target for payloads. README.md says how to build it.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include <executorch/runtime/platform/platform.h>

#include "payload.h"

using executorch::backends::neutron::Payload;
using executorch::backends::neutron::read_payload;
using executorch::runtime::Error;

// Errors of damaged payloads are expected.
extern "C" void et_pal_emit_log_message(et_timestamp_t, et_pal_log_level_t, const char*, const char*, size_t,
                                        const char*, size_t) {}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Payload payload;
  const Error error = read_payload({data, size}, payload);
  const bool is_inside = error != Error::Ok || (payload.microcode >= data && payload.kernels <= data + size);
  if ((error != Error::Ok && error != Error::InvalidProgram) || !is_inside) {
    std::abort();
  }
  return 0;
}
