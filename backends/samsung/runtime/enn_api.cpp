// SPDX-License-Identifier: BSD-3-Clause
#include "enn_api.h"

#include <mutex>

#include <executorch/extension/delegate/shared_library.h>
#include <executorch/runtime/platform/log.h>

#include "EnnBackend.h"

namespace executorch {
namespace backends {
namespace enn {

using extension::delegate::SharedLibrary;
using runtime::Error;
using runtime::Result;

namespace {

struct Sessions {
  std::mutex mutex;
  size_t count = 0;
};

/// Never destroyed: delegates may be destroyed at exit.
Sessions& sessions() {
  static auto* const all = new Sessions;
  return *all;
}

}  // namespace

Result<const Api*> api() {
  static std::mutex mutex;
  static Api functions;
  static bool is_loaded = false;
  const std::lock_guard<std::mutex> lock(mutex);
  if (is_loaded) {
    return &functions;
  }
  Api& f = functions;
  SharedLibrary library =
      SharedLibrary::open({"Samsung's ENN library",
                           {"libenn_public_api_cpp.so"},
                           enn_library_variable,
                           "it is on devices with an Exynos 2500 or 2600, whose app names it in uses-native-library; "
                           "docs/backends-samsung.md"},
                          {
                              {"EnnInitialize", &f.initialize},
                              {"EnnDeinitialize", &f.deinitialize},
                              {"EnnOpenModelFromMemory", &f.open_model_from_memory},
                              {"EnnCloseModel", &f.close_model},
                              {"EnnAllocateAllBuffersWithSessionId", &f.allocate_all_buffers},
                              {"EnnReleaseBuffers", &f.release_buffers},
                              {"EnnExecuteModel", &f.execute_model},
                          });
  if (library.error() != Error::Ok) {
    ET_LOG(Error, "%s", library.problem().c_str());
    return library.error();
  }
  library.keep();
  is_loaded = true;
  return &functions;
}

Error answer(int code, const char* function, const char* step, Error error) {
  if (code == kNoError) {
    return Error::Ok;
  }
  ET_LOG(Error, "Samsung: %s failed with the code %d while %s", function, code, step);
  return error;
}

Error Session::open() {
  Sessions& all = sessions();
  const std::lock_guard<std::mutex> lock(all.mutex);
  if (all.count == 0) {
    ET_CHECK_OK_OR_RETURN_ERROR(
        answer(api_.initialize(), "EnnInitialize", "the library was started", Error::DelegateInvalidHandle));
  }
  ++all.count;
  is_open_ = true;
  return Error::Ok;
}

Session::~Session() {
  if (!is_open_) {
    return;
  }
  Sessions& all = sessions();
  const std::lock_guard<std::mutex> lock(all.mutex);
  if (--all.count == 0) {
    (void)answer(api_.deinitialize(), "EnnDeinitialize", "the library was ended", Error::DelegateInvalidHandle);
  }
}

}  // namespace enn
}  // namespace backends
}  // namespace executorch
