// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/extension/pybindings/runtime_state.h>

#include <array>
#include <climits>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <variant>

#include <pybind11/stl.h>

#include <executorch/extension/pybindings/errors.h>
#include <executorch/extension/pybindings/log_capture.h>
#include <executorch/runtime/backend/interface.h>
#include <executorch/runtime/kernel/operator_registry.h>
#ifdef ET_USE_THREADPOOL
#include <executorch/extension/threadpool/threadpool.h>
#endif
#include <kernels/instruction_sets.h>

namespace py = pybind11;

namespace executorch {
namespace extension {
namespace pybindings {
namespace {

py::list operator_names() {
  py::list names;
  for (const auto& kernel : runtime::get_registered_kernels()) {
    if (kernel.name_ != nullptr) {
      names.append(py::str(kernel.name_));
    }
  }
  return names;
}

py::dict instruction_sets() {
  py::dict sets;
  for (const auto& set : executorch::kernels::instruction_sets()) {
    sets[py::str(set.kernels)] = set.instructions;
  }
  return sets;
}

py::list backend_names() {
  py::list names;
  for (size_t i = 0; i < runtime::get_num_registered_backends(); ++i) {
    const auto name = runtime::get_backend_name(i);
    if (name.ok()) {
      names.append(py::str(name.get()));
    }
  }
  return names;
}

bool backend_is_available(const std::string& name) {
  const auto* backend = runtime::get_backend_class(name.c_str());
  return backend != nullptr && backend->is_available();
}

void set_backend_option(const std::string& backend, const std::string& key,
                        const std::variant<bool, int, std::string>& value) {
  runtime::BackendOption option;
  if (key.size() >= runtime::kMaxOptionKeyLength) {
    throw py::value_error("the key of a backend's option has at most " +
                          std::to_string(runtime::kMaxOptionKeyLength - 1) + " bytes; found " + key);
  }
  key.copy(option.key, key.size());
  if (const auto* text = std::get_if<std::string>(&value)) {
    std::array<char, runtime::kMaxOptionValueLength> copied{};
    if (text->size() >= copied.size()) {
      throw py::value_error("the text of a backend's option has at most " + std::to_string(copied.size() - 1) +
                            " bytes; found " + std::to_string(text->size()));
    }
    text->copy(copied.data(), text->size());
    option.value = copied;
  } else if (const auto* flag = std::get_if<bool>(&value)) {
    option.value = *flag;
  } else {
    option.value = std::get<int>(value);
  }
  const LogCapture capture;
  const runtime::Error error = runtime::set_option(backend.c_str(), {&option, 1});
  if (error != runtime::Error::Ok) {
    throw_error("setting the option " + key + " of " + backend, error, capture);
  }
}

py::object get_backend_option(const std::string& backend, const std::string& key) {
  runtime::BackendOption option;
  if (key.size() >= runtime::kMaxOptionKeyLength) {
    return py::none();
  }
  key.copy(option.key, key.size());
  constexpr int kUnset = INT_MIN;  // a backend does not change options that it does not have
  option.value = kUnset;
  runtime::Span<runtime::BackendOption> options(&option, 1);
  if (runtime::get_option(backend.c_str(), options) != runtime::Error::Ok) {
    return py::none();
  }
  if (const auto* text = std::get_if<std::array<char, runtime::kMaxOptionValueLength>>(&option.value)) {
    return py::str(std::string(text->data(), strnlen(text->data(), text->size())));
  }
  if (const auto* flag = std::get_if<bool>(&option.value)) {
    return py::bool_(*flag);
  }
  const int number = std::get<int>(option.value);
  return number == kUnset ? py::object(py::none()) : py::object(py::int_(number));
}

size_t thread_count() {
#ifdef ET_USE_THREADPOOL
  const threadpool::ThreadPool* pool = threadpool::get_threadpool();
  return pool == nullptr ? 1 : pool->get_thread_count();
#else
  return 1;
#endif
}

void reset_threads(int64_t num_threads) {
  constexpr int64_t kMaxThreads = 1024;
  if (num_threads < 0 || num_threads > kMaxThreads) {
    throw py::value_error("expected a number of threads from 1 to " + std::to_string(kMaxThreads) +
                          ", or 0 for one for each core, found " + std::to_string(num_threads));
  }
#ifdef ET_USE_THREADPOOL
  threadpool::ThreadPool* pool = threadpool::get_threadpool();
  if (pool == nullptr || !pool->_unsafe_reset_threadpool(static_cast<uint32_t>(num_threads))) {
    throw std::runtime_error("a pool of " + std::to_string(num_threads) + " threads could not be made");
  }
#else
  if (num_threads > 1) {
    PyErr_SetString(
        PyExc_NotImplementedError,
        "this build runs kernels on the calling thread only: build it with EXECUTORCH_BUILD_PTHREADPOOL=ON");
    throw py::error_already_set();
  }
#endif
}

}  // namespace

void bind_runtime(py::module_& m) {
  m.def("_get_operator_names", operator_names, "Names of the operators whose kernels are linked in.");
  m.def("_get_instruction_sets", instruction_sets,
        "The instruction set that kernels use here, for each kind of kernels compiled for several.");
  m.def("_get_registered_backend_names", backend_names, "Names of the backends that are linked in.");
  m.def("_is_available", backend_is_available, py::arg("backend_name"),
        "Whether a backend is linked in and can run on this machine.");
  m.def("_set_backend_option", set_backend_option, py::arg("backend_name"), py::arg("key"), py::arg("value"),
        "Sets an option of a backend: a bool, an int or a text.");
  m.def("_get_backend_option", get_backend_option, py::arg("backend_name"), py::arg("key"),
        "The value of an option of a backend; None for an unknown option or backend.");
  m.def("_threadpool_get_thread_count", thread_count,
        "Threads that kernels and backends run on, the caller's included.");
  m.def("_unsafe_reset_threadpool", reset_threads, py::arg("num_threads"),
        "Sets the number of threads; 0 is one for each core. Unsafe: nothing may run while it is called.");
}

}  // namespace pybindings
}  // namespace extension
}  // namespace executorch
