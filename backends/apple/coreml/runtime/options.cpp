// SPDX-License-Identifier: BSD-3-Clause
#include "options.h"

#include <algorithm>
#include <climits>
#include <cstring>
#include <iterator>

#include <executorch/runtime/core/same_text.h>
#include <executorch/runtime/platform/log.h>

#include "include/coreml_backend/coreml_backend_options.h"

namespace executorch {
namespace backends {
namespace coreml {

using extension::delegate::Option;
using extension::delegate::OptionTable;
using runtime::ArrayRef;
using runtime::CompileSpec;
using runtime::Error;
using runtime::internal::same_text;

namespace {

bool is_unit(const std::string& text) {
  constexpr const char* kUnits[] = {"cpu_only", "cpu_and_gpu", "cpu_and_ne", "all"};
  return std::any_of(std::begin(kUnits), std::end(kUnits), [&](const char* unit) { return text == unit; });
}

constexpr Option<Options> kOptions[] = {
    {compute_unit_option_key, &Options::compute_unit, "cpu_only, cpu_and_gpu, cpu_and_ne or all", is_unit},
    {cache_dir_option_key, &Options::cache_dir, "the path of a folder"},
    {cache_limit_option_key, &Options::cache_limit_mib, 0, INT_MAX, "a number of MiB, 0 or more"},
};
constexpr OptionTable<Options> kTable("Core ML", kOptions);

}  // namespace

const OptionTable<Options>& Options::table() {
  return kTable;
}

Error Options::complete(ArrayRef<CompileSpec> compile_specs) {
  for (const CompileSpec& spec : compile_specs) {
    const auto* const data = static_cast<const char*>(spec.value.buffer);
    if (compute_unit.empty() && data != nullptr && same_text(spec.key, "compute_units")) {
      compute_unit.assign(data, strnlen(data, spec.value.nbytes));
    }
  }
  compute_unit = compute_unit.empty() ? "all" : compute_unit;
  ET_CHECK_OR_RETURN_ERROR(
      is_unit(compute_unit), InvalidProgram,
      "Core ML: expected the compute unit cpu_only, cpu_and_gpu, cpu_and_ne or all in the program: export it again");
  return Error::Ok;
}

}  // namespace coreml
}  // namespace backends
}  // namespace executorch
