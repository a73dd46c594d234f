// SPDX-License-Identifier: BSD-3-Clause
#include "options.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>

#include <executorch/runtime/core/same_text.h>
#include <executorch/runtime/platform/log.h>

#include "include/coreml_backend/coreml_backend_options.h"

namespace executorch {
namespace backends {
namespace coreml {

using runtime::ArrayRef;
using runtime::BackendOption;
using runtime::CompileSpec;
using runtime::Error;
using runtime::internal::same_text;

namespace {

using Text = std::array<char, runtime::kMaxOptionValueLength>;

bool is_unit(const std::string& text) {
  constexpr const char* kUnits[] = {"cpu_only", "cpu_and_gpu", "cpu_and_ne", "all"};
  return std::any_of(std::begin(kUnits), std::end(kUnits), [&](const char* unit) { return text == unit; });
}

}  // namespace

Error Options::set(const BackendOption& option) {
  if (same_text(option.key, cache_limit_option_key)) {
    const auto* const limit = std::get_if<int>(&option.value);
    ET_CHECK_OR_RETURN_ERROR(limit != nullptr && *limit >= 0, InvalidArgument,
                             "Core ML: the option %s is an int, 0 or more", option.key);
    cache_limit_mib = *limit;
    return Error::Ok;
  }
  const bool is_compute_unit = same_text(option.key, compute_unit_option_key);
  if (!is_compute_unit && !same_text(option.key, cache_dir_option_key)) {
    return Error::Ok;
  }
  const auto* const text = std::get_if<Text>(&option.value);
  ET_CHECK_OR_RETURN_ERROR(text != nullptr, InvalidArgument, "Core ML: the option %s is a text", option.key);
  const std::string value(text->data(), strnlen(text->data(), text->size()));
  ET_CHECK_OR_RETURN_ERROR(!is_compute_unit || value.empty() || is_unit(value), InvalidArgument,
                           "Core ML: the option %s is %s; expected cpu_only, cpu_and_gpu, cpu_and_ne or all",
                           option.key, value.c_str());
  (is_compute_unit ? compute_unit : cache_dir) = value;
  return Error::Ok;
}

void Options::get(BackendOption& option) const {
  if (same_text(option.key, cache_limit_option_key)) {
    option.value = cache_limit_mib;
    return;
  }
  const bool is_compute_unit = same_text(option.key, compute_unit_option_key);
  if (is_compute_unit || same_text(option.key, cache_dir_option_key)) {
    Text text{};
    (is_compute_unit ? compute_unit : cache_dir).copy(text.data(), text.size() - 1);
    option.value = text;
  }
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
      "Core ML: the program's compute unit is none of cpu_only, cpu_and_gpu, cpu_and_ne and all: export it again");
  return Error::Ok;
}

}  // namespace coreml
}  // namespace backends
}  // namespace executorch
