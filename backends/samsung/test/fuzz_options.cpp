// SPDX-License-Identifier: BSD-3-Clause
// libFuzzer target for the options in compile specs. README.md says how to build it.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include <executorch/runtime/platform/platform.h>

#include "options.h"

using executorch::runtime::CompileSpec;
using executorch::runtime::Error;

// Errors of damaged options are expected.
extern "C" void et_pal_emit_log_message(et_timestamp_t, et_pal_log_level_t, const char*, const char*, size_t,
                                        const char*, size_t) {}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  CompileSpec spec = {"enn_compile_options", {const_cast<uint8_t*>(data), size}};
  const auto chip = executorch::backends::enn::read_chip({&spec, 1});
  if (!chip.ok() && chip.error() != Error::InvalidProgram) {
    std::abort();
  }
  return 0;
}
