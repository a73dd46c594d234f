// SPDX-License-Identifier: BSD-3-Clause
#include "options.h"

#include <algorithm>
#include <array>
#include <cstring>

#include <executorch/runtime/core/same_text.h>
#include <executorch/runtime/platform/log.h>

#include "OpenvinoBackend.h"

namespace executorch {
namespace backends {
namespace openvino {

using runtime::ArrayRef;
using runtime::BackendOption;
using runtime::CompileSpec;
using runtime::Error;
using runtime::internal::same_text;

namespace {

using Text = std::array<char, runtime::kMaxOptionValueLength>;

/// The texts among the options.
struct TextOption {
  const char* key;
  std::string Options::* value;
};
constexpr TextOption kTexts[] = {
    {device_option_key, &Options::device},
    {performance_hint_option_key, &Options::performance_hint},
    {inference_precision_option_key, &Options::precision},
    {cache_dir_option_key, &Options::cache_dir},
};

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

Error Options::set(const BackendOption& option) {
  for (const TextOption& known : kTexts) {
    if (same_text(option.key, known.key)) {
      const auto* const text = std::get_if<Text>(&option.value);
      ET_CHECK_OR_RETURN_ERROR(text != nullptr, InvalidArgument, "OpenVINO: the option %s is a text", option.key);
      (this->*known.value).assign(text->data(), strnlen(text->data(), text->size()));
      return Error::Ok;
    }
  }
  if (same_text(option.key, num_threads_option_key)) {
    const auto* const count = std::get_if<int>(&option.value);
    ET_CHECK_OR_RETURN_ERROR(count != nullptr && *count >= 0, InvalidArgument,
                             "OpenVINO: the option %s is an int, 0 (OpenVINO decides) or more", option.key);
    num_threads = *count;
  }
  return Error::Ok;
}

void Options::get(BackendOption& option) const {
  for (const TextOption& known : kTexts) {
    if (same_text(option.key, known.key)) {
      Text text{};
      (this->*known.value).copy(text.data(), text.size() - 1);
      option.value = text;
    }
  }
  if (same_text(option.key, num_threads_option_key)) {
    option.value = num_threads;
  }
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
