// SPDX-License-Identifier: BSD-3-Clause
#include "library.h"

#include <dirent.h>
#include <dlfcn.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <utility>
#include <vector>

#include <executorch/runtime/platform/log.h>

#include "OpenvinoBackend.h"

namespace executorch {
namespace backends {
namespace openvino {

using runtime::Error;
using runtime::Result;

namespace {

#ifdef __APPLE__
constexpr char kName[] = "libopenvino_c.dylib";
#else
constexpr char kName[] = "libopenvino_c.so";
#endif
constexpr char kWhatToDo[] =
    "install OpenVINO (pip install openvino==2025.4.1) and set OPENVINO_LIB_PATH to its libopenvino_c or the folder of "
    "it";

/// The library in a folder: `libopenvino_c.so`, or the one with the highest version after that name. "" if there is
/// none.
std::string library_in(const std::string& folder) {
  std::string found;
  DIR* const entries = opendir(folder.c_str());
  if (entries == nullptr) {
    return found;
  }
  const std::string stem = std::string(kName).substr(0, std::string(kName).rfind('.'));
  while (const dirent* entry = readdir(entries)) {
    const std::string name = entry->d_name;
    if (name.compare(0, stem.size() + 1, stem + ".") == 0) {
      found = std::max(found, name);
    }
  }
  closedir(entries);
  return found.empty() ? found : folder + "/" + found;
}

bool is_folder(const std::string& path) {
  struct stat status{};
  return stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

/// The library in the Python package `openvino` that is installed beside the package which this code is a part of:
/// site-packages/sdk/extension/pybindings/_portable_lib.so and site-packages/openvino/libs. "" if there is none.
std::string library_beside_this() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&library_beside_this), &info) == 0 || info.dli_fname == nullptr) {
    return "";
  }
  std::string folder = info.dli_fname;
  for (int levels = 4; levels > 0; --levels) {
    const size_t slash = folder.rfind('/');
    if (slash == std::string::npos) {
      return "";
    }
    folder.resize(slash);
  }
  return library_in(folder + "/openvino/libs");
}

/// What to load, in this order. Only the file of the variable if that is set.
std::vector<std::string> candidates() {
  const char* const path = std::getenv(openvino_library_variable);
  if (path != nullptr && *path != '\0') {
    return {is_folder(path) ? library_in(path) : std::string(path)};
  }
  return {kName, library_beside_this()};
}

struct Opened {
  void* handle = nullptr;
  std::string problem;
};

Opened open_library() {
  Opened opened;
  for (const std::string& candidate : candidates()) {
    if (candidate.empty()) {
      continue;
    }
    opened.handle = dlopen(candidate.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (opened.handle != nullptr) {
      return opened;
    }
    if (opened.problem.empty()) {
      const char* const text = dlerror();
      opened.problem = text != nullptr ? text : candidate + " cannot be loaded";
    }
  }
  if (opened.problem.empty()) {
    opened.problem = std::string("there is no ") + kName + " in the folder " + std::getenv(openvino_library_variable);
  }
  return opened;
}

/// Sets a pointer to the function `name`, or adds the name to `missing`.
template <typename Function>
void find(void* handle, const char* name, Function* function, std::string* missing) {
  *function = reinterpret_cast<Function>(dlsym(handle, name));
  if (*function == nullptr) {
    *missing += std::string(missing->empty() ? "" : ", ") + name;
  }
}

/// The names of the functions that `handle` lacks; "" if it has all.
std::string find_functions(void* handle, Library* to) {
  std::string missing;
#define ET_OPENVINO_FIND(name) find(handle, "ov_" #name, &to->name, &missing)
  find(handle, "ov_get_openvino_version", &to->get_openvino_version, &missing);
  ET_OPENVINO_FIND(version_free);
  ET_OPENVINO_FIND(get_last_err_msg);
  ET_OPENVINO_FIND(free);
  ET_OPENVINO_FIND(core_create);
  ET_OPENVINO_FIND(core_free);
  ET_OPENVINO_FIND(core_set_property);
  ET_OPENVINO_FIND(core_import_model);
  ET_OPENVINO_FIND(core_read_model_from_memory_buffer);
  ET_OPENVINO_FIND(core_compile_model);
  ET_OPENVINO_FIND(model_free);
  ET_OPENVINO_FIND(compiled_model_inputs_size);
  ET_OPENVINO_FIND(compiled_model_outputs_size);
  ET_OPENVINO_FIND(compiled_model_input_by_index);
  ET_OPENVINO_FIND(compiled_model_output_by_index);
  ET_OPENVINO_FIND(compiled_model_create_infer_request);
  ET_OPENVINO_FIND(compiled_model_get_property);
  ET_OPENVINO_FIND(compiled_model_free);
  ET_OPENVINO_FIND(port_get_element_type);
  ET_OPENVINO_FIND(port_get_partial_shape);
  ET_OPENVINO_FIND(partial_shape_free);
  ET_OPENVINO_FIND(output_const_port_free);
  ET_OPENVINO_FIND(tensor_create_from_host_ptr);
  ET_OPENVINO_FIND(tensor_get_shape);
  ET_OPENVINO_FIND(tensor_data);
  ET_OPENVINO_FIND(tensor_free);
  ET_OPENVINO_FIND(shape_free);
  ET_OPENVINO_FIND(infer_request_set_input_tensor_by_index);
  ET_OPENVINO_FIND(infer_request_set_output_tensor_by_index);
  ET_OPENVINO_FIND(infer_request_get_output_tensor_by_index);
  ET_OPENVINO_FIND(infer_request_infer);
  ET_OPENVINO_FIND(infer_request_free);
#undef ET_OPENVINO_FIND
  return missing;
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

struct Loaded {
  Error error = Error::NotFound;
  std::string problem;
  Library* library = nullptr;
};

/// A failure is not remembered: the variable may be set after the first attempt.
Loaded load() {
  static std::mutex mutex;
  static Library* loaded = nullptr;
  const std::lock_guard<std::mutex> lock(mutex);
  if (loaded != nullptr) {
    return {Error::Ok, "", loaded};
  }
  const Opened opened = open_library();
  if (opened.handle == nullptr) {
    return {Error::NotFound, "OpenVINO is not here: " + opened.problem + "; " + kWhatToDo, nullptr};
  }
  Library functions{};
  const std::string missing = find_functions(opened.handle, &functions);
  if (!missing.empty()) {
    dlclose(opened.handle);
    return {Error::NotSupported, "this library is not OpenVINO 2025.1 or later, it lacks " + missing + "; " + kWhatToDo,
            nullptr};
  }
  functions.version = version_of(functions);
  if (!is_known_release(functions.version)) {
    dlclose(opened.handle);
    return {Error::NotSupported,
            "the version of OpenVINO is '" + functions.version + "', expected 2025.1 or later; " + kWhatToDo, nullptr};
  }
  loaded = new Library(std::move(functions));  // as long as the process: delegates use it
  return {Error::Ok, "", loaded};
}

}  // namespace

Result<const Library*> library() {
  const Loaded loaded = load();
  if (loaded.error != Error::Ok) {
    ET_LOG(Error, "%s", loaded.problem.c_str());
    return loaded.error;
  }
  return static_cast<const Library*>(loaded.library);
}

std::string last_error(const Library& library) {
  const char* const message = library.get_last_err_msg();
  if (message == nullptr) {
    return "OpenVINO gives no reason";
  }
  // The lines before the last are places in OpenVINO's sources.
  std::string line = message;
  library.free(message);
  constexpr char kBlanks[] = " \n\t";
  line.resize(line.find_last_not_of(kBlanks) + 1);
  const size_t end = line.rfind('\n');
  line.erase(0, end == std::string::npos ? 0 : end + 1);
  return line.empty() ? "OpenVINO gives no reason" : line;
}

}  // namespace openvino
}  // namespace backends
}  // namespace executorch
