// SPDX-License-Identifier: BSD-3-Clause
// libFuzzer target for payloads and for the options in compile specs. README.md says how to build it.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include <executorch/runtime/platform/platform.h>

#include "options.h"
#include "payload.h"

using executorch::runtime::CompileSpec;
using executorch::runtime::Error;

// Errors of damaged bytes are expected.
extern "C" void et_pal_emit_log_message(et_timestamp_t, et_pal_log_level_t, const char*, const char*, size_t,
                                        const char*, size_t) {}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto binary = executorch::backends::qnn::read_payload({data, size});
  if (binary.ok() && binary->bytes.end() != data + size) {
    std::abort();
  }
  CompileSpec spec = {"qnn_compile_spec", {const_cast<uint8_t*>(data), size}};
  const auto options = executorch::backends::qnn::read_options({&spec, 1});
  if (!options.ok() && options.error() != Error::InvalidProgram && options.error() != Error::NotSupported) {
    std::abort();
  }
  return 0;
}
