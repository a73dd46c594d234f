// SPDX-License-Identifier: BSD-3-Clause
// libFuzzer target for VGF files: reads a file, checks its modules, and reads every byte of its constants. README.md
// says how to build it.
#include <cstddef>
#include <cstdint>

#include <executorch/runtime/platform/platform.h>

#include "mutate_in_place.h"
#include "spirv_module.h"
#include "vgf_file.h"

using namespace executorch::backends::vgf;

// Errors of damaged files are expected.
extern "C" void et_pal_emit_log_message(et_timestamp_t, et_pal_log_level_t, const char*, const char*, size_t,
                                        const char*, size_t) {}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned int seed) {
  return executorch::fuzz::mutate_in_place(data, size, max_size, seed);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto file = read_vgf(data, size);
  if (!file.ok()) {
    return 0;
  }
  for (const Segment& segment : file->segments) {
    (void)check_module(*file, segment);
  }
  unsigned sum = 0;
  for (const Constant& constant : file->constants) {
    const Resource& resource = file->resources.at(constant.resource);
    for (size_t i = 0; i < resource.bytes; ++i) {
      sum += constant.data[i];
    }
  }
  return static_cast<int>(sum & 0);
}
