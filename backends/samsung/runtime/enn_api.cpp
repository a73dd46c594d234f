// SPDX-License-Identifier: BSD-3-Clause
#include "enn_api.h"

#include <mutex>
#include <vector>

#include <executorch/extension/delegate/shared_library.h>

#include "EnnBackend.h"

namespace executorch {
namespace backends {
namespace enn {

using extension::delegate::LibrarySearch;
using extension::delegate::load_once;
using extension::delegate::Symbol;
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

LibrarySearch search() {
  return {"Samsung's ENN library",
          {"libenn_public_api_cpp.so"},
          enn_library_variable,
          "it is on devices with an Exynos 2500 or 2600, whose app names it in uses-native-library; "
          "docs/backends-samsung.md"};
}

std::vector<Symbol> symbols(Api& to) {
  return {
      {"EnnInitialize", &to.initialize},
      {"EnnDeinitialize", &to.deinitialize},
      {"EnnOpenModelFromMemory", &to.open_model_from_memory},
      {"EnnCloseModel", &to.close_model},
      {"EnnAllocateAllBuffersWithSessionId", &to.allocate_all_buffers},
      {"EnnReleaseBuffers", &to.release_buffers},
      {"EnnExecuteModel", &to.execute_model},
  };
}

}  // namespace

Result<const Api*> api() {
  return load_once<Api>(search, symbols);
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
