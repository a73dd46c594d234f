// SPDX-License-Identifier: BSD-3-Clause
// libFuzzer target for the headers of payloads: accepted parts lie inside of the payload. README.md has the build.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include <executorch/runtime/platform/platform.h>

#include "payload.h"

using namespace executorch::backends::neuron;

// Errors of damaged payloads are expected.
extern "C" void et_pal_emit_log_message(et_timestamp_t, et_pal_log_level_t, const char*, const char*, size_t,
                                        const char*, size_t) {}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto network = read_payload({data, size});
  if (network.ok() &&
      (network->bytes.begin() != data + kHeaderSize || network->bytes.end() != data + size || network->bytes.empty() ||
       network->inputs > kMostTensors || network->outputs < 1 || network->outputs > kMostTensors)) {
    std::abort();
  }
  return 0;
}
