// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/extension/module/module.h>

#include <utility>

#include <executorch/extension/memory_allocator/malloc_memory_allocator.h>
#include <executorch/extension/memory_allocator/report_bad_alloc.h>
#include <executorch/extension/module/data_files.h>
#include <executorch/extension/module/loaded_method.h>
#include <executorch/runtime/core/error.h>
#include <executorch/runtime/platform/log.h>
#include <executorch/runtime/platform/runtime.h>

namespace executorch {
namespace extension {
namespace ET_MODULE_NAMESPACE {

using runtime::DataLoader;
using runtime::Error;
using runtime::MemoryAllocator;
using runtime::Result;

namespace {

/// A program with the loaders and files that must outlive it.
struct ProgramAndLoader {
  explicit ProgramAndLoader(Program&& loaded) : program(std::move(loaded)) {}

  std::unique_ptr<DataLoader> loader;
  Program program;
};

}  // namespace

Module::Module(const std::string& file_path, const LoadMode load_mode,
               std::unique_ptr<runtime::EventTracer> event_tracer, std::unique_ptr<MemoryAllocator> memory_allocator,
               std::unique_ptr<MemoryAllocator> temp_allocator, bool share_memory_arenas)
    : Module(file_path, std::vector<std::string>{}, load_mode, std::move(event_tracer), std::move(memory_allocator),
             std::move(temp_allocator), share_memory_arenas) {}

Module::Module(const std::string& file_path, const std::string& data_map_path, const LoadMode load_mode,
               std::unique_ptr<runtime::EventTracer> event_tracer, std::unique_ptr<MemoryAllocator> memory_allocator,
               std::unique_ptr<MemoryAllocator> temp_allocator, bool share_memory_arenas)
    : Module(file_path, data_map_path.empty() ? std::vector<std::string>{} : std::vector<std::string>{data_map_path},
             load_mode, std::move(event_tracer), std::move(memory_allocator), std::move(temp_allocator),
             share_memory_arenas) {}

Module::Module(const std::string& file_path, std::vector<std::string> data_files, const LoadMode load_mode,
               std::unique_ptr<runtime::EventTracer> event_tracer, std::unique_ptr<MemoryAllocator> memory_allocator,
               std::unique_ptr<MemoryAllocator> temp_allocator, bool share_memory_arenas)
    : file_path_(file_path),
      data_files_(std::make_unique<internal::DataFiles>(std::move(data_files))),
      load_mode_(load_mode),
      memory_allocator_(std::move(memory_allocator)),
      temp_allocator_(std::move(temp_allocator)),
      event_tracer_(std::move(event_tracer)),
      share_memory_arenas_(share_memory_arenas) {
  runtime::runtime_init();
  if (temp_allocator_ == nullptr) {
    auto own = std::make_unique<MallocMemoryAllocator>();
    own_temp_allocator_ = own.get();
    temp_allocator_ = std::move(own);
  }
}

Module::Module(std::unique_ptr<DataLoader> data_loader, std::unique_ptr<MemoryAllocator> memory_allocator,
               std::unique_ptr<MemoryAllocator> temp_allocator, std::unique_ptr<runtime::EventTracer> event_tracer,
               std::unique_ptr<DataLoader> data_map_loader, bool share_memory_arenas)
    : Module(std::string(), std::vector<std::string>{}, LoadMode::File, std::move(event_tracer),
             std::move(memory_allocator), std::move(temp_allocator), share_memory_arenas) {
  data_loader_ = std::move(data_loader);
  if (data_map_loader) {
    data_files_->add(std::move(data_map_loader));
  }
}

Module::Module(std::shared_ptr<Program> program, std::unique_ptr<MemoryAllocator> memory_allocator,
               std::unique_ptr<MemoryAllocator> temp_allocator, std::unique_ptr<runtime::EventTracer> event_tracer,
               std::unique_ptr<DataLoader> data_map_loader, bool share_memory_arenas)
    : Module(std::unique_ptr<DataLoader>(), std::move(memory_allocator), std::move(temp_allocator),
             std::move(event_tracer), std::move(data_map_loader), share_memory_arenas) {
  program_ = std::move(program);
  if (program_) {
    limits_ = program_->resource_limits();
  }
}

Module::~Module() = default;

Error Module::load(const LoadBackendOptionsMap& backend_options, const Program::Verification verification) {
  backend_options_ = backend_options;
  return load(verification);
}

Error Module::set_resource_limits(const runtime::ResourceLimits& limits) {
  ET_CHECK_OR_RETURN_ERROR(!is_loaded(), InvalidState, "resource limits must be set before the program is loaded");
  limits_ = limits;
  return Error::Ok;
}

Error Module::add_data(std::unique_ptr<DataLoader> data_map_loader) {
  ET_CHECK_OR_RETURN_ERROR(data_map_loader != nullptr, InvalidArgument, "add_data() was given no data loader");
  ET_CHECK_OR_RETURN_ERROR(!data_files_->is_loaded(), InvalidState, "data must be added before the module is loaded");
  data_files_->add(std::move(data_map_loader));
  return Error::Ok;
}

Error Module::load(const Program::Verification verification) {
  return internal::report_bad_alloc([&] { return load_program(verification); });
}

Error Module::load_program(const Program::Verification verification) {
  if (!program_) {
    if (!data_loader_) {
      ET_CHECK_OR_RETURN_ERROR(!file_path_.empty(), InvalidArgument,
                               "expected the path of a .pte file or a data loader, found neither");
      auto opened = internal::open_file(file_path_, load_mode_);
      if (!opened.ok()) {
        return opened.error();
      }
      data_loader_ = std::move(opened.get());
    }
    Result<Program> program = Program::load(data_loader_.get(), verification, limits_);
    if (!program.ok()) {
      if (!file_path_.empty()) {
        ET_LOG(Error, "%s: the program could not be loaded: %s", file_path_.c_str(), error_name(program.error()));
        data_loader_.reset();  // the next call opens the file again
      }
      return program.error();
    }
    auto owner = std::make_shared<ProgramAndLoader>(std::move(program.get()));
    owner->loader = std::move(data_loader_);
    program_ = std::shared_ptr<Program>(owner, &owner->program);
    ET_LOG(Debug, "%s: loaded a program, methods: %zu", file_path_.empty() ? "(data loader)" : file_path_.c_str(),
           program_->num_methods());
  }
  return data_files_->load(load_mode_);
}

Result<size_t> Module::num_methods() {
  ET_CHECK_OK_OR_RETURN_ERROR(load());
  return program_->num_methods();
}

Result<std::unordered_set<std::string>> Module::method_names() {
  ET_CHECK_OK_OR_RETURN_ERROR(load());
  return internal::report_bad_alloc([&]() -> Result<std::unordered_set<std::string>> {
    std::unordered_set<std::string> names;
    for (size_t i = 0; i < program_->num_methods(); ++i) {
      const Result<const char*> name = program_->get_method_name(i);
      if (!name.ok()) {
        return name.error();
      }
      names.insert(name.get());
    }
    return names;
  });
}

}  // namespace ET_MODULE_NAMESPACE
}  // namespace extension
}  // namespace executorch
