// SPDX-License-Identifier: BSD-3-Clause
// libFuzzer target for payloads of Core ML: reads everything that a delegate reads, and every byte of the files.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include <executorch/runtime/platform/platform.h>

#include "container.h"

using namespace executorch::backends::coreml;

// Errors of damaged payloads are expected.
extern "C" void et_pal_emit_log_message(et_timestamp_t, et_pal_log_level_t, const char*, const char*, size_t,
                                        const char*, size_t) {}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  (void)read_shared(data, size);
  const auto folder = read_payload(data, size);
  if (!folder.ok()) {
    return 0;
  }
  size_t total = 0;
  unsigned sum = 0;
  for (const File& file : folder->files) {
    total += file.size;
    for (size_t i = 0; i < file.size; ++i) {
      sum += file.data[i];
    }
    // No path leads out of the folder.
    if (("/" + file.path + "/").find("/../") != std::string::npos || file.path.empty() || file.path[0] == '/') {
      std::abort();
    }
  }
  if (total > size) {
    std::abort();  // files that share contents
  }
  (void)read_metadata(*folder);
  return static_cast<int>(sum & 0);
}
