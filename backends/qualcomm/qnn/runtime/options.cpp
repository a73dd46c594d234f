// SPDX-License-Identifier: BSD-3-Clause
#include "options.h"

#include <cinttypes>
#include <cstdint>
#include <cstring>
#include <optional>

#include <executorch/extension/delegate/flat_table.h>
#include <executorch/runtime/platform/log.h>

namespace executorch {
namespace backends {
namespace qnn {

using extension::delegate::FlatBytes;
using extension::delegate::FlatTable;
using runtime::ArrayRef;
using runtime::CompileSpec;
using runtime::Error;
using runtime::Result;

namespace {

constexpr char kKey[] = "qnn_compile_spec";

// Fields of the options, by their positions in the schema.
constexpr uint32_t kBackendOptions = 1;
constexpr uint32_t kBackendType = 0;  // in the options of the backend

std::optional<int32_t> processor_in(const void* data, size_t size) {
  FlatBytes bytes(static_cast<const uint8_t*>(data), size);
  const FlatTable options = FlatTable::root(bytes);
  if (!options.has(kBackendOptions)) {
    return std::nullopt;
  }
  const auto processor = options.table(kBackendOptions).number<int32_t>(kBackendType);
  return bytes.is_damaged() ? std::nullopt : std::optional<int32_t>(processor);
}

}  // namespace

Result<Options> read_options(ArrayRef<CompileSpec> specs) {
  Options options;
  for (const CompileSpec& spec : specs) {
    if (std::strcmp(spec.key, kKey) != 0) {
      continue;
    }
    const auto processor = processor_in(spec.value.buffer, spec.value.nbytes);
    ET_CHECK_OR_RETURN_ERROR(processor.has_value(), InvalidProgram,
                             "QNN: the compile spec %s has %zu bytes that are not options: export the model again",
                             kKey, spec.value.nbytes);
    ET_CHECK_OR_RETURN_ERROR(*processor == 1 || *processor == 2 || *processor == 4, NotSupported,
                             "QNN: a program is for the processor %" PRId32
                             ", expected 1 (GPU), 2 (HTP) or 4 (LPAI): export the model again",
                             *processor);
    options.processor = static_cast<Processor>(*processor);
  }
  return options;
}

}  // namespace qnn
}  // namespace backends
}  // namespace executorch
