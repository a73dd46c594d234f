// SPDX-License-Identifier: BSD-3-Clause
#include "options.h"

#include <algorithm>
#include <climits>
#include <cstring>

#include <executorch/runtime/core/same_text.h>
#include <executorch/runtime/platform/log.h>

#include "OpenvinoBackend.h"

namespace executorch {
namespace backends {
namespace openvino {

using extension::delegate::Option;
using extension::delegate::OptionTable;
using runtime::ArrayRef;
using runtime::CompileSpec;
using runtime::Error;
using runtime::internal::same_text;

namespace {

constexpr Option<Options> kOptions[] = {
    {device_option_key, &Options::device, "the name of a device, such as CPU"},
    {performance_hint_option_key, &Options::performance_hint},
    {inference_precision_option_key, &Options::precision},
    {cache_dir_option_key, &Options::cache_dir, "the path of a folder"},
    {num_threads_option_key, &Options::num_threads, 0, INT_MAX, "a number of threads, or 0: OpenVINO decides"},
};
constexpr OptionTable<Options> kTable("OpenVINO", kOptions);

/// A value of a compile spec. A text in a program may end with a NUL or not.
std::string text_of(const CompileSpec& spec) {
  const auto* const data = static_cast<const char*>(spec.value.buffer);
  return data == nullptr ? "" : std::string(data, strnlen(data, spec.value.nbytes));
}

/// OpenVINO's names of devices and their lists: "CPU", "GPU.1", "AUTO:GPU,CPU".
bool is_name_of_device(const std::string& text) {
  return !text.empty() && text.size() < 100 &&
         std::all_of(
             text.begin(), text.end(),
             [](char c) {
               return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
                      std::strchr(".,:()_-", c) != nullptr;
             });
}

}  // namespace

const OptionTable<Options>& Options::table() {
  return kTable;
}

Error Options::complete(ArrayRef<CompileSpec> compile_specs) {
  for (const CompileSpec& spec : compile_specs) {
    if (device.empty() && same_text(spec.key, "device")) {
      device = text_of(spec);
    } else if (precision.empty() && same_text(spec.key, "INFERENCE_PRECISION_HINT")) {
      precision = text_of(spec);
    } else if (dynamic_group_size.empty() && same_text(spec.key, "DYNAMIC_QUANTIZATION_GROUP_SIZE")) {
      dynamic_group_size = text_of(spec);
    }
  }
  if (device.empty()) {
    device = "CPU";
  }
  ET_CHECK_OR_RETURN_ERROR(
      is_name_of_device(device), DelegateInvalidCompatibility,
      "OpenVINO: the device's name has other characters than letters, digits and .,:()_-; expected one "
      "such as CPU or GPU.1");
  if (device == "CPU") {
    precision = precision.empty() ? "f32" : precision;
    dynamic_group_size = dynamic_group_size.empty() ? "0" : dynamic_group_size;
  }
  return Error::Ok;
}

}  // namespace openvino
}  // namespace backends
}  // namespace executorch
