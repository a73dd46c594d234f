// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/devtools/bundled_program/bundled_program.h>

#include <type_traits>

namespace surface {

using executorch::runtime::Error;
using executorch::runtime::Method;
namespace bundled = executorch::bundled_program;
namespace older = torch::executor::bundled_program;

static_assert(std::is_same_v<bundled::SerializedBundledProgram, const void> &&
              std::is_same_v<older::serialized_bundled_program, const void>);
static_assert(std::is_same_v<bundled::Method, Method>);
static_assert(std::is_same_v<decltype(&bundled::load_bundled_input), Error (*)(Method&, const void*, size_t)>);
static_assert(
    std::is_same_v<decltype(&bundled::verify_method_outputs), Error (*)(Method&, const void*, size_t, double, double)>);
static_assert(std::is_same_v<decltype(&bundled::compute_method_output_error_stats),
                             bundled::ErrorStats (*)(Method&, const void*, size_t)>);
static_assert(std::is_same_v<decltype(&bundled::get_program_data), Error (*)(void*, size_t, const void**, size_t*)>);
static_assert(std::is_same_v<decltype(bundled::is_bundled_program(nullptr, 0)), bool>);
static_assert(std::is_same_v<decltype(bundled::is_bundled_program(nullptr)), bool>);
static_assert(std::is_same_v<decltype(bundled::ErrorStats::status), Error> &&
              std::is_same_v<decltype(bundled::ErrorStats::mean_abs_error), double> &&
              std::is_same_v<decltype(bundled::ErrorStats::max_abs_error), double> &&
              std::is_same_v<decltype(bundled::ErrorStats::mean_relative_error), double> &&
              std::is_same_v<decltype(bundled::ErrorStats::max_relative_error), double>);
static_assert(std::is_same_v<decltype(&older::LoadBundledInput), Error (*)(Method&, const void*, size_t)>);
static_assert(std::is_same_v<decltype(&older::VerifyResultWithBundledExpectedOutput),
                             Error (*)(Method&, const void*, size_t, double, double)>);
static_assert(std::is_same_v<decltype(&older::GetProgramData), Error (*)(void*, size_t, const void**, size_t*)>);
static_assert(std::is_same_v<decltype(&older::IsBundledProgram), bool (*)(void*)>);

// Default arguments and the macro.
inline Error defaults(Method& method) {
  return executorch::BUNDLED_PROGRAM_NAMESPACE::verify_method_outputs(method, nullptr, 0);
}

}  // namespace surface
