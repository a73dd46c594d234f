// SPDX-License-Identifier: BSD-3-Clause
// Loading modules and methods.
#include <cstring>

#include <executorch/extension/c_api/bundle.h>
#include <executorch/extension/c_api/call.h>
#include <executorch/extension/c_api/memory_loader.h>
#include <executorch/extension/c_api/module_state.h>
#include <executorch/extension/c_api/tracer.h>
#include <executorch/extension/data_loader/file_data_loader.h>
#include <executorch/extension/data_loader/mmap_data_loader.h>

using executorch::runtime::Error;
using executorch::runtime::Result;
using executorch::runtime::Span;

namespace executorch {
namespace extension {
namespace c_api {

using runtime::BackendOption;
using runtime::DataLoader;

Result<MethodSlot*> ModuleState::method(const char* name) {
  ET_CHECK_OR_RETURN_ERROR(name != nullptr, InvalidArgument, "expected the name of a method in `method`, found NULL");
  std::string names;
  for (MethodSlot& slot : methods) {
    if (std::strcmp(slot.meta.meta.name(), name) == 0) {
      return &slot;
    }
    names += (names.empty() ? "" : ", ") + std::string(slot.meta.meta.name());
  }
  ET_LOG(Error, "there is no method '%s'; the program has: %s", name, names.c_str());
  return Error::InvalidArgument;
}

namespace {

std::shared_ptr<ModuleState> new_state(const et_options* options) {
  auto state = std::make_shared<ModuleState>();
  if (options != nullptr) {
    state->options = *options;
  }
  return state;
}

Result<std::unique_ptr<DataLoader>> open_file(const std::string& path, et_load_mode mode) {
  using Mlock = MmapDataLoader::MlockConfig;
  if (mode == ET_LOAD_MODE_FILE) {
    auto loader = FileDataLoader::from(path.c_str());
    if (!loader.ok()) {
      return loader.error();
    }
    return std::unique_ptr<DataLoader>(std::make_unique<FileDataLoader>(std::move(loader.get())));
  }
  const Mlock mlock = mode == ET_LOAD_MODE_MMAP_USE_MLOCK                 ? Mlock::UseMlock
                      : mode == ET_LOAD_MODE_MMAP_USE_MLOCK_IGNORE_ERRORS ? Mlock::UseMlockIgnoreErrors
                                                                          : Mlock::NoMlock;
  auto loader = MmapDataLoader::from(path.c_str(), mlock);
  if (!loader.ok()) {
    return loader.error();
  }
  return std::unique_ptr<DataLoader>(std::make_unique<MmapDataLoader>(std::move(loader.get())));
}

/// The loader of the data file of a module whose program is not a file; null when it has none.
Result<std::unique_ptr<DataLoader>> data_loader_of(const et_options& options) {
  if (options.data_files.empty()) {
    return std::unique_ptr<DataLoader>();
  }
  ET_CHECK_OR_RETURN_ERROR(options.data_files.size() == 1, NotSupported,
                           "a program that is not loaded from a file, or shared, takes one data file, found %zu: merge "
                           "them, or load the program with et_module_load_file",
                           options.data_files.size());
  return open_file(options.data_files[0], options.load_mode);
}

/// Loads and verifies the program of `state->module`, and finds its methods.
Error finish(std::shared_ptr<ModuleState> state, et_module** out) {
  for (auto& [backend, options] : state->options.backend_options) {
    ET_CHECK_OK_OR_RETURN_ERROR(
        state->backend_options.set_options(backend.c_str(), Span<BackendOption>(options.data(), options.size())));
  }
  for (const et_options::DataBuffer& buffer : state->options.data_buffers) {
    ET_CHECK_OK_OR_RETURN_ERROR(state->module->add_data(std::make_unique<MemoryLoader>(buffer.memory, buffer.size)));
  }
  ET_CHECK_OK_OR_RETURN_ERROR(
      state->module->load(state->backend_options, state->options.verify ? Program::Verification::InternalConsistency
                                                                        : Program::Verification::Minimal));
  const auto program = state->module->program();
  for (size_t i = 0; i < program->num_methods(); ++i) {
    const auto name = program->get_method_name(i);
    if (!name.ok()) {
      return name.error();
    }
    const auto meta = program->method_meta(name.get());
    if (!meta.ok()) {
      return meta.error();
    }
    state->methods.emplace_back(meta.get());
  }
  *out = new et_module{std::move(state)};
  return Error::Ok;
}

Error load_file(const char* path, const et_options* options, et_module** out) {
  auto state = new_state(options);
  state->module = std::make_unique<Module>(path, state->options.data_files, load_mode_of(state->options),
                                           make_tracer(state->options), nullptr, nullptr, state->options.share_memory);
  return finish(std::move(state), out);
}

/// Loads a module from the loader that `open(state)` returns.
template <typename Open>
Error load_with(const et_options* options, et_module** out, Open&& open) {
  auto state = new_state(options);
  auto data_loader = data_loader_of(state->options);
  if (!data_loader.ok()) {
    return data_loader.error();
  }
  auto tracer = make_tracer(state->options);
  auto loader = open(*state);
  if (!loader.ok()) {
    return loader.error();
  }
  state->module = std::make_unique<Module>(std::move(loader.get()), nullptr, nullptr, std::move(tracer),
                                           std::move(data_loader.get()), state->options.share_memory);
  return finish(std::move(state), out);
}

/// Loads a bundled program from the loader that `open(options)` returns.
template <typename Open>
Error load_bundled(const et_options* options, et_module** out, Open&& open) {
  return load_with(options, out, [&](ModuleState& state) -> Result<std::unique_ptr<DataLoader>> {
    auto file = open(state.options);
    if (!file.ok()) {
      return file.error();
    }
    auto bundle = read_bundle(std::move(file.get()));
    if (!bundle.ok()) {
      return bundle.error();
    }
    state.bundle = std::move(bundle->start);
    return std::move(bundle->program);
  });
}

Error share(const ModuleState& from, et_module** out) {
  auto state = new_state(&from.options);
  state->bundle = from.bundle;
  auto data_loader = data_loader_of(state->options);
  if (!data_loader.ok()) {
    return data_loader.error();
  }
  state->module = std::make_unique<Module>(from.module->program(), nullptr, nullptr, make_tracer(state->options),
                                           std::move(data_loader.get()), state->options.share_memory);
  return finish(std::move(state), out);
}

}  // namespace
}  // namespace c_api
}  // namespace extension
}  // namespace executorch

using namespace executorch::extension::c_api;

et_status et_module_load_file(const char* path, const et_options* options, et_module** out, et_error** error) {
  return call_for(out, error, [&]() -> Error {
    ET_CHECK_NOT_NULL(path);
    return load_file(path, options, out);
  });
}

et_status et_module_load_buffer(const void* data, size_t size, et_release release, void* context,
                                const et_options* options, et_module** out, et_error** error) {
  Release borrowed(const_cast<void*>(data), release, context);
  return call_for(out, error, [&]() -> Error {
    ET_CHECK_NOT_NULL(data);
    return load_with(options, out, [&](ModuleState&) { return load_from_memory(std::move(borrowed), size); });
  });
}

et_status et_module_load_fd(int fd, uint64_t offset, uint64_t length, const et_options* options, et_module** out,
                            et_error** error) {
  return call_for(out, error, [&] {
    return load_with(options, out, [&](const ModuleState& state) {
      return load_from_descriptor(fd, offset, length, state.options.load_mode != ET_LOAD_MODE_FILE);
    });
  });
}

et_status et_module_load_bundled_file(const char* path, const et_options* options, et_module** out, et_error** error) {
  return call_for(out, error, [&]() -> Error {
    ET_CHECK_NOT_NULL(path);
    return load_bundled(options, out, [&](const et_options& given) { return open_file(path, given.load_mode); });
  });
}

et_status et_module_load_bundled_buffer(const void* data, size_t size, et_release release, void* context,
                                        const et_options* options, et_module** out, et_error** error) {
  Release borrowed(const_cast<void*>(data), release, context);
  return call_for(out, error, [&]() -> Error {
    ET_CHECK_NOT_NULL(data);
    return load_bundled(options, out, [&](const et_options&) { return load_from_memory(std::move(borrowed), size); });
  });
}

et_status et_module_share(const et_module* module, et_module** out, et_error** error) {
  return call_for(out, error, [&]() -> Error {
    ET_CHECK_NOT_NULL(module);
    return share(*module->state, out);
  });
}

void et_module_free(et_module* module) {
  delete module;
}
