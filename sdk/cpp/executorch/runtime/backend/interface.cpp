// SPDX-License-Identifier: BSD-3-Clause
#include <cstring>

#include <executorch/runtime/backend/interface.h>
#include <executorch/runtime/core/same_text.h>

namespace executorch {
namespace ET_RUNTIME_NAMESPACE {
namespace {

constexpr size_t kMaxBackends = 16;

// Zero-initialised, so that backends can register before any constructor of this library runs.
Backend backends[kMaxBackends];
size_t backend_count = 0;

}  // namespace

BackendInterface* get_backend_class(const char* name) {
  for (size_t i = 0; i < backend_count; ++i) {
    if (internal::same_text(backends[i].name, name)) {
      return backends[i].backend;
    }
  }
  return nullptr;
}

Error register_backend(const Backend& backend) {
  ET_CHECK_OR_RETURN_ERROR(backend.name != nullptr && backend.backend != nullptr, InvalidArgument,
                           "a backend needs a name and an object; found the name %s and %s object",
                           backend.name != nullptr ? backend.name : "null", backend.backend != nullptr ? "an" : "no");
  const BackendInterface* existing = get_backend_class(backend.name);
  ET_CHECK_OR_RETURN_ERROR(existing == nullptr, InvalidArgument,
                           "the backend %s (%p) is registered already, as %p. Link one library that implements it",
                           backend.name, static_cast<const void*>(backend.backend), static_cast<const void*>(existing));
  ET_CHECK_OR_RETURN_ERROR(backend_count < kMaxBackends, Internal,
                           "the backend %s does not fit: the table holds %" ET_PRIsize_t " backends", backend.name,
                           kMaxBackends);
  backends[backend_count++] = backend;
  return Error::Ok;
}

size_t get_num_registered_backends() {
  return backend_count;
}

Result<const char*> get_backend_name(size_t index) {
  ET_CHECK_OR_RETURN_ERROR(index < backend_count, InvalidArgument,
                           "backend %" ET_PRIsize_t " does not exist, %" ET_PRIsize_t " are registered", index,
                           backend_count);
  return backends[index].name;
}

namespace {

/// The backend of that name. Errors: InvalidArgument for null, NotFound.
Result<BackendInterface*> find_backend(const char* name) {
  ET_CHECK_OR_RETURN_ERROR(name != nullptr, InvalidArgument, "expected the name of a backend, found a null pointer");
  BackendInterface* backend = get_backend_class(name);
  ET_CHECK_OR_RETURN_ERROR(backend != nullptr, NotFound,
                           "the backend %s is not registered. Link its library into the application", name);
  return backend;
}

}  // namespace

Error set_option(const char* backend_name, const Span<BackendOption> backend_options) {
  ET_ASSIGN_OR_RETURN(backend, find_backend(backend_name));
  BackendOptionContext context;
  return backend->set_option(context, backend_options);
}

Error get_option(const char* backend_name, Span<BackendOption> backend_options) {
  ET_ASSIGN_OR_RETURN(backend, find_backend(backend_name));
  BackendOptionContext context;
  return backend->get_option(context, backend_options);
}

}  // namespace ET_RUNTIME_NAMESPACE
}  // namespace executorch
