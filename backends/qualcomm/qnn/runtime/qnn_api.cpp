// SPDX-License-Identifier: BSD-3-Clause
#include "qnn_api.h"

#include <string>
#include <vector>

#include <executorch/extension/delegate/shared_library.h>
#include <executorch/runtime/platform/log.h>

#include "QnnBackend.h"

namespace executorch {
namespace backends {
namespace qnn {

using extension::delegate::check_call;
using extension::delegate::LibrarySearch;
using extension::delegate::load_once;
using extension::delegate::Symbol;
using runtime::Error;
using runtime::Result;

namespace {

constexpr char kRemedy[] =
    "put the libraries of this build's Qualcomm AI Engine Direct SDK into the app, or their folder into "
    "LD_LIBRARY_PATH; docs/backends-qnn.md";

constexpr const char* name_of(Processor processor) {
  return processor == Processor::Htp ? "libQnnHtp.so" : processor == Processor::Gpu ? "libQnnGpu.so" : "libQnnLpai.so";
}

/// Each processor has a library.
template <Processor processor>
struct ApiOf : Api {};

template <Processor processor>
LibrarySearch search() {
  return {"Qualcomm's library", {name_of(processor)}, qnn_library_variable, kRemedy};
}

LibrarySearch search_system() {
  return {"Qualcomm's system library", {"libQnnSystem.so"}, qnn_system_library_variable, kRemedy};
}

/// "" for a version that has all of the headers' interface, otherwise one line. Versions with the same major number are
/// compatible with earlier ones.
std::string problem(const char* library, const Qnn_Version_t& found, uint32_t major, uint32_t minor) {
  if (found.major == major && found.minor >= minor) {
    return "";
  }
  return std::string("QNN: ") + library + " has the API version " + std::to_string(found.major) + "." +
         std::to_string(found.minor) + ", expected " + std::to_string(major) + "." + std::to_string(minor) +
         " or a later one: " + kRemedy;
}

/// Keeps the functions of the first provider.
template <Processor processor>
std::string check(ApiOf<processor>& to) {
  const QnnInterface_t** providers = nullptr;
  uint32_t count = 0;
  if (to.get_providers(&providers, &count) != QNN_SUCCESS || count == 0) {
    return std::string("QNN: ") + name_of(processor) + " has no provider of its interface: " + kRemedy;
  }
  to.functions = providers[0]->QNN_INTERFACE_VER_NAME;
  return problem(name_of(processor), providers[0]->apiVersion.coreApiVersion, QNN_API_VERSION_MAJOR,
                 QNN_API_VERSION_MINOR);
}

std::string check_system(SystemApi& to) {
  const QnnSystemInterface_t** providers = nullptr;
  uint32_t count = 0;
  if (to.get_providers(&providers, &count) != QNN_SUCCESS || count == 0) {
    return std::string("QNN: libQnnSystem.so has no provider of its interface: ") + kRemedy;
  }
  to.functions = providers[0]->QNN_SYSTEM_INTERFACE_VER_NAME;
  return problem("libQnnSystem.so", providers[0]->systemApiVersion, QNN_SYSTEM_API_VERSION_MAJOR,
                 QNN_SYSTEM_API_VERSION_MINOR);
}

template <Processor processor>
std::vector<Symbol> symbols(ApiOf<processor>& to) {
  return {{"QnnInterface_getProviders", &to.get_providers}};
}

std::vector<Symbol> symbols_of_system(SystemApi& to) {
  return {{"QnnSystemInterface_getProviders", &to.get_providers}};
}

template <Processor processor>
Result<const Api*> load() {
  const auto found = load_once<ApiOf<processor>>(search<processor>, symbols<processor>, check<processor>);
  ET_CHECK_OK_OR_RETURN_ERROR(found.error());
  return static_cast<const Api*>(*found);
}

}  // namespace

Result<const Api*> api(Processor processor) {
  switch (processor) {
    case Processor::Gpu:
      return load<Processor::Gpu>();
    case Processor::Lpai:
      return load<Processor::Lpai>();
    case Processor::Htp:
      break;
  }
  return load<Processor::Htp>();
}

Result<const SystemApi*> system_api() {
  return load_once<SystemApi>(search_system, symbols_of_system, check_system);
}

Error answer(const Interface* functions, Qnn_ErrorHandle_t code, const char* function, const char* step, Error error) {
  if (code == QNN_SUCCESS) {
    return Error::Ok;
  }
  const auto number = static_cast<int>(code & 0xFFFF);  // higher bits identify the location in Qualcomm's library
  const char* message = nullptr;
  if (functions != nullptr && functions->errorGetMessage != nullptr &&
      functions->errorGetMessage(code, &message) == QNN_SUCCESS && message != nullptr) {
    ET_LOG(Error, "QNN: %s", message);
  }
  return check_call("QNN", number, function, step,
                    number == QNN_COMMON_ERROR_MEM_ALLOC ? Error::MemoryAllocationFailed : error);
}

}  // namespace qnn
}  // namespace backends
}  // namespace executorch
