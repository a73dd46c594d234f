// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/extension/c_api/options.h>

#include <cstring>
#include <utility>

#include <executorch/extension/c_api/call.h>
#include <executorch/extension/c_api/memory_loader.h>
#include <executorch/runtime/core/event_tracer_hooks.h>

using executorch::extension::c_api::aligned_memory;
using executorch::extension::c_api::call;
using executorch::extension::c_api::call_for;
using executorch::extension::c_api::Release;
using executorch::runtime::BackendOption;
using executorch::runtime::Error;
using executorch::runtime::kMaxOptionKeyLength;
using executorch::runtime::kMaxOptionValueLength;
using executorch::runtime::LoadBackendOptionsMap;
using executorch::runtime::OptionValue;

namespace {

Error set_backend_option(et_options* options, const char* backend, const char* key, const OptionValue& value) {
  ET_CHECK_NOT_NULL(options);
  ET_CHECK_NOT_NULL(backend);
  ET_CHECK_NOT_NULL(key);
  // Otherwise names that are too long would be truncated, or refused only when a module is loaded.
  ET_CHECK_OR_RETURN_ERROR(backend[0] != '\0' && std::strlen(backend) < LoadBackendOptionsMap::kMaxBackendIdLength,
                           InvalidArgument, "expected the name of a backend of 1 to %zu bytes, found '%s'",
                           LoadBackendOptionsMap::kMaxBackendIdLength - 1, backend);
  ET_CHECK_OR_RETURN_ERROR(key[0] != '\0' && std::strlen(key) < kMaxOptionKeyLength, InvalidArgument,
                           "expected a key of 1 to %zu bytes, found '%s'", kMaxOptionKeyLength - 1, key);
  ET_CHECK_OR_RETURN_ERROR(options->backend_options.count(backend) > 0 ||
                               options->backend_options.size() < LoadBackendOptionsMap::kMaxBackends,
                           InvalidArgument, "options of at most %zu backends can be set; '%s' is one more",
                           LoadBackendOptionsMap::kMaxBackends, backend);
  auto& of_backend = options->backend_options[backend];
  for (BackendOption& option : of_backend) {
    if (std::strcmp(option.key, key) == 0) {
      option.value = value;
      return Error::Ok;
    }
  }
  BackendOption option;
  std::memcpy(option.key, key, std::strlen(key) + 1);
  option.value = value;
  of_backend.push_back(option);
  return Error::Ok;
}

}  // namespace

et_status et_options_create(et_options** out, et_error** error) {
  return call_for(out, error, [&] {
    *out = new et_options;
    return Error::Ok;
  });
}

et_status et_options_set_load_mode(et_options* options, et_load_mode mode, et_error** error) {
  return call(error, [&]() -> Error {
    ET_CHECK_NOT_NULL(options);
    ET_CHECK_OR_RETURN_ERROR(
        mode >= ET_LOAD_MODE_FILE && mode <= ET_LOAD_MODE_MMAP_USE_MLOCK_IGNORE_ERRORS, InvalidArgument,
        "expected a load mode from 0 (file) to 3 (mlock, ignoring errors), found %d", static_cast<int>(mode));
    options->load_mode = mode;
    return Error::Ok;
  });
}

et_status et_options_set_verify(et_options* options, bool verify, et_error** error) {
  return call(error, [&]() -> Error {
    ET_CHECK_NOT_NULL(options);
    options->verify = verify;
    return Error::Ok;
  });
}

et_status et_options_add_data_file(et_options* options, const char* path, et_error** error) {
  return call(error, [&]() -> Error {
    ET_CHECK_NOT_NULL(options);
    ET_CHECK_NOT_NULL(path);
    options->data_files.emplace_back(path);
    return Error::Ok;
  });
}

et_status et_options_add_data_buffer(et_options* options, const void* data, size_t size, et_release release,
                                     void* context, et_error** error) {
  Release borrowed(const_cast<void*>(data), release, context);
  return call(error, [&]() -> Error {
    ET_CHECK_NOT_NULL(options);
    ET_CHECK_NOT_NULL(data);
    auto memory = aligned_memory(std::move(borrowed), size);
    if (!memory.ok()) {
      return memory.error();
    }
    options->data_buffers.push_back({std::move(memory.get()), size});
    return Error::Ok;
  });
}

et_status et_options_set_share_memory(et_options* options, bool share, et_error** error) {
  return call(error, [&]() -> Error {
    ET_CHECK_NOT_NULL(options);
    options->share_memory = share;
    return Error::Ok;
  });
}

et_status et_options_set_backend_int(et_options* options, const char* backend, const char* key, int32_t value,
                                     et_error** error) {
  return call(error, [&] { return set_backend_option(options, backend, key, static_cast<int>(value)); });
}

et_status et_options_set_backend_bool(et_options* options, const char* backend, const char* key, bool value,
                                      et_error** error) {
  return call(error, [&] { return set_backend_option(options, backend, key, value); });
}

et_status et_options_set_backend_string(et_options* options, const char* backend, const char* key, const char* value,
                                        et_error** error) {
  return call(error, [&]() -> Error {
    ET_CHECK_NOT_NULL(value);
    const size_t length = std::strlen(value);
    ET_CHECK_OR_RETURN_ERROR(length < kMaxOptionValueLength, InvalidArgument,
                             "expected a text of at most %zu bytes, found %zu", kMaxOptionValueLength - 1, length);
    std::array<char, kMaxOptionValueLength> text{};
    std::memcpy(text.data(), value, length);
    return set_backend_option(options, backend, key, text);
  });
}

et_status et_options_set_event_sink(et_options* options, et_event_sink sink, void* context, bool all,
                                    et_error** error) {
  return call(error, [&]() -> Error {
    ET_CHECK_NOT_NULL(options);
    ET_CHECK_OR_RETURN_ERROR(sink == nullptr || executorch::runtime::internal::event_tracer_enabled(), NotSupported,
                             "this library was built without event tracing: configure it with "
                             "-DEXECUTORCH_ENABLE_EVENT_TRACER=ON");
    ET_CHECK_OR_RETURN_ERROR(sink == nullptr || !options->etdump, InvalidState,
                             "the options are set to record an ETDump: a module has that or an event sink");
    options->event_sink = sink;
    options->event_context = context;
    options->all_events = all;
    return Error::Ok;
  });
}

void et_options_free(et_options* options) {
  delete options;
}
