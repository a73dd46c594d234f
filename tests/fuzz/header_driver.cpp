// SPDX-License-Identifier: BSD-3-Clause
#include "header_driver.h"

#include <cstdlib>

#include <executorch/extension/flat_tensor/serialize/flat_tensor_header.h>
#include <executorch/runtime/executor/program.h>
#include <executorch/runtime/platform/runtime.h>
#include <executorch/schema/extended_header.h>

#include "exact_buffer.h"

namespace executorch {
namespace fuzz {

using executorch::extension::FlatTensorHeader;
using executorch::runtime::ExtendedHeader;
using executorch::runtime::Program;

void run_headers(const uint8_t* data, size_t size) {
  executorch::runtime::runtime_init();
  const ExactBuffer bytes(data, size);
  const auto header = ExtendedHeader::Parse(bytes.data.get(), bytes.bytes);
  if (header.ok()) {
    const bool behind = header->segment_base_offset == 0 || header->segment_base_offset >= header->program_size;
    const bool wraps = header->segment_data_size > UINT64_MAX - header->segment_base_offset;
    if (!behind || wraps || (header->segment_base_offset == 0 && header->segment_data_size != 0)) {
      std::abort();
    }
  }
  const auto ptd = FlatTensorHeader::Parse(bytes.data.get(), bytes.bytes);
  if (ptd.ok() && (ptd->flatbuffer_size > UINT64_MAX - ptd->flatbuffer_offset ||
                   ptd->segment_data_size > UINT64_MAX - ptd->segment_base_offset)) {
    std::abort();
  }
  const bool is_short = size < Program::kMinHeadBytes;
  if ((Program::check_header(bytes.data.get(), bytes.bytes) == Program::HeaderStatus::ShortData) != is_short) {
    std::abort();
  }
}

}  // namespace fuzz
}  // namespace executorch
