// SPDX-License-Identifier: BSD-3-Clause
#include "options.h"

#include <cstddef>
#include <cstring>
#include <optional>

#include <executorch/extension/delegate/flat_table.h>
#include <executorch/extension/delegate/payload.h>
#include <executorch/runtime/core/span.h>
#include <executorch/runtime/platform/log.h>

namespace executorch {
namespace backends {
namespace enn {

using extension::delegate::FlatBytes;
using extension::delegate::FlatTable;
using extension::delegate::has_identifier;
using runtime::ArrayRef;
using runtime::CompileSpec;
using runtime::Error;
using runtime::Result;
using runtime::Span;

namespace {

constexpr char kKey[] = "enn_compile_options";

std::optional<int32_t> chip_in(Span<const uint8_t> bytes) {
  if (!has_identifier(bytes, "EETO")) {
    return std::nullopt;
  }
  FlatBytes reading(bytes.data(), bytes.size());
  const int32_t chip = FlatTable::root(reading).number<int32_t>(0);
  return reading.is_damaged() ? std::nullopt : std::optional<int32_t>(chip);
}

}  // namespace

Result<int32_t> read_chip(ArrayRef<CompileSpec> specs) {
  for (const CompileSpec& spec : specs) {
    if (std::strcmp(spec.key, kKey) == 0) {
      const auto chip = chip_in({static_cast<const uint8_t*>(spec.value.buffer), spec.value.nbytes});
      ET_CHECK_OR_RETURN_ERROR(
          chip.has_value(), InvalidProgram,
          "Samsung: the compile spec %s has %zu bytes that are not options: export the model again", kKey,
          spec.value.nbytes);
      return *chip;
    }
  }
  return 0;
}

}  // namespace enn
}  // namespace backends
}  // namespace executorch
