// SPDX-License-Identifier: BSD-3-Clause
#include "library.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <string>
#include <vector>

#include <executorch/extension/delegate/shared_library.h>
#include <executorch/runtime/platform/log.h>

#include "OpenvinoBackend.h"

namespace executorch {
namespace backends {
namespace openvino {

using extension::delegate::file_of_code;
using extension::delegate::LibrarySearch;
using extension::delegate::load_once;
using extension::delegate::Symbol;
using runtime::Error;
using runtime::Result;

namespace {

#if defined(_WIN32)
constexpr char kName[] = "openvino_c.dll";
#elif defined(__APPLE__)
constexpr char kName[] = "libopenvino_c.dylib";
#else
constexpr char kName[] = "libopenvino_c.so";
#endif
constexpr char kWhatToDo[] =
    "install OpenVINO (pip install openvino==2025.4.1) and set OPENVINO_LIB_PATH to its libopenvino_c or the folder of "
    "it";

/// First names on the linker's paths, then those in the Python package `openvino`, which is installed beside ours:
/// site-packages/openvino/libs beside site-packages/sdk/extension/pybindings/_portable_lib.so, which has this code.
std::vector<std::string> names() {
  std::string folder = file_of_code(reinterpret_cast<const void*>(&names));
  for (int levels = 4; levels > 0; --levels) {
    const size_t slash = folder.find_last_of("/\\");
    if (slash == std::string::npos) {
      return {kName};
    }
    folder.resize(slash);
  }
  return {kName, folder + "/openvino/libs"};
}

/// The functions of the library, and the pointers in `to` that get them.
std::vector<Symbol> symbols(Library& to) {
#define ET_OPENVINO_SYMBOL(name) {"ov_" #name, &to.name}
  return {
      {"ov_get_openvino_version", &to.get_openvino_version},
      ET_OPENVINO_SYMBOL(version_free),
      ET_OPENVINO_SYMBOL(get_last_err_msg),
      ET_OPENVINO_SYMBOL(free),
      ET_OPENVINO_SYMBOL(core_create),
      ET_OPENVINO_SYMBOL(core_free),
      ET_OPENVINO_SYMBOL(core_set_property),
      ET_OPENVINO_SYMBOL(core_import_model),
      ET_OPENVINO_SYMBOL(core_read_model_from_memory_buffer),
      ET_OPENVINO_SYMBOL(core_compile_model),
      ET_OPENVINO_SYMBOL(model_free),
      ET_OPENVINO_SYMBOL(compiled_model_inputs_size),
      ET_OPENVINO_SYMBOL(compiled_model_outputs_size),
      ET_OPENVINO_SYMBOL(compiled_model_input_by_index),
      ET_OPENVINO_SYMBOL(compiled_model_output_by_index),
      ET_OPENVINO_SYMBOL(compiled_model_create_infer_request),
      ET_OPENVINO_SYMBOL(compiled_model_get_property),
      ET_OPENVINO_SYMBOL(compiled_model_free),
      ET_OPENVINO_SYMBOL(port_get_element_type),
      ET_OPENVINO_SYMBOL(port_get_partial_shape),
      ET_OPENVINO_SYMBOL(partial_shape_free),
      ET_OPENVINO_SYMBOL(output_const_port_free),
      ET_OPENVINO_SYMBOL(tensor_create_from_host_ptr),
      ET_OPENVINO_SYMBOL(tensor_get_shape),
      ET_OPENVINO_SYMBOL(tensor_data),
      ET_OPENVINO_SYMBOL(tensor_free),
      ET_OPENVINO_SYMBOL(shape_free),
      ET_OPENVINO_SYMBOL(infer_request_set_input_tensor_by_index),
      ET_OPENVINO_SYMBOL(infer_request_set_output_tensor_by_index),
      ET_OPENVINO_SYMBOL(infer_request_get_output_tensor_by_index),
      ET_OPENVINO_SYMBOL(infer_request_infer),
      ET_OPENVINO_SYMBOL(infer_request_free),
  };
#undef ET_OPENVINO_SYMBOL
}

std::string version_of(const Library& library) {
  OvVersion version{};
  std::string text;
  if (library.get_openvino_version(&version) == 0) {
    text = version.build_number != nullptr ? version.build_number : "";
    library.version_free(&version);
  }
  return text;
}

/// Element types have other numbers in releases before 2025.1.
bool is_known_release(const std::string& version) {
  char* end = nullptr;
  const long year = std::strtol(version.c_str(), &end, 10);
  const long minor = *end == '.' ? std::strtol(end + 1, nullptr, 10) : 0;
  return year > 2025 || (year == 2025 && minor >= 1);
}

// Memory that runs out in the library's static initialisers ends the process, and nothing here can catch it.
LibrarySearch search() {
  return {"OpenVINO", names(), openvino_library_variable, kWhatToDo};
}

/// "", or what is wrong with the release. Sets its version.
std::string check_release(Library& library) {
  library.version = version_of(library);
  return is_known_release(library.version)
             ? ""
             : "the version of OpenVINO is '" + library.version + "', expected 2025.1 or later; " + kWhatToDo;
}

}  // namespace

Result<const Library*> library() {
  return load_once<Library>(search, symbols, check_release);
}

std::string last_error(const Library& library) {
  const char* const message = library.get_last_err_msg();
  if (message == nullptr) {
    return "OpenVINO gives no reason";
  }
  // Only the last line is the message; the lines before it are places in OpenVINO's sources.
  std::string line = message;
  library.free(message);
  constexpr char kBlanks[] = " \n\t";
  line.resize(line.find_last_not_of(kBlanks) + 1);
  const size_t end = line.rfind('\n');
  line.erase(0, end == std::string::npos ? 0 : end + 1);
  return line.empty() ? "OpenVINO gives no reason" : line;
}

bool is_lack_of_memory(const std::string& reason) {
  // std::bad_alloc, CL_OUT_OF_HOST_MEMORY, CL_MEM_OBJECT_ALLOCATION_FAILURE, CL_OUT_OF_RESOURCES and oneDNN's words.
  const char* const words[] = {"bad_alloc", "OUT_OF_", "ALLOCATION_FAILURE", "out of memory", "out_of_memory"};
  return std::any_of(std::begin(words), std::end(words),
                     [&](const char* word) { return reason.find(word) != std::string::npos; });
}

Error answer(const Library& library, OvStatus status, Error refusal, const std::string& what) {
  if (status == 0) {
    return Error::Ok;
  }
  const std::string reason = last_error(library);
  ET_LOG(Error, "OpenVINO%s: %s", what.c_str(), reason.c_str());
  return is_lack_of_memory(reason) ? Error::MemoryAllocationFailed : refusal;
}

}  // namespace openvino
}  // namespace backends
}  // namespace executorch
