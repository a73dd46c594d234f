// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/extension/module/module.h>

#include <utility>

#include <executorch/extension/data_loader/file_data_loader.h>
#include <executorch/extension/data_loader/mmap_data_loader.h>
#include <executorch/extension/flat_tensor/flat_tensor_data_map.h>
#include <executorch/extension/memory_allocator/malloc_memory_allocator.h>
#include <executorch/extension/memory_allocator/report_bad_alloc.h>
#include <executorch/extension/module/loaded_method.h>
#include <executorch/extension/named_data_map/merged_data_map.h>
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
using runtime::Span;

namespace {

template <typename Loader>
Result<std::unique_ptr<DataLoader>> on_heap(Result<Loader> loader) {
  if (!loader.ok()) {
    return loader.error();
  }
  return std::unique_ptr<DataLoader>(std::make_unique<Loader>(std::move(loader.get())));
}

Result<std::unique_ptr<DataLoader>> open_file(const std::string& path, Module::LoadMode mode) {
  using Mlock = MmapDataLoader::MlockConfig;
  switch (mode) {
    case Module::LoadMode::File:
      return on_heap(FileDataLoader::from(path.c_str()));
    case Module::LoadMode::Mmap:
      return on_heap(MmapDataLoader::from(path.c_str(), Mlock::NoMlock));
    case Module::LoadMode::MmapUseMlock:
      return on_heap(MmapDataLoader::from(path.c_str(), Mlock::UseMlock));
    case Module::LoadMode::MmapUseMlockIgnoreErrors:
      return on_heap(MmapDataLoader::from(path.c_str(), Mlock::UseMlockIgnoreErrors));
    case Module::LoadMode::MmapUseMadvise:
      return on_heap(MmapDataLoader::from(path.c_str(), Mlock::UseMadvise));
  }
  ET_LOG(Error, "%s: unknown load mode %d", path.c_str(), static_cast<int>(mode));
  return Error::InvalidArgument;
}

/// A program with what it was loaded from, which it needs as long as it lives.
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
      data_files_(std::move(data_files)),
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
    data_map_loaders_.push_back(std::move(data_map_loader));
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

Error Module::load(const Program::Verification verification) {
  return internal::report_bad_alloc([&] { return load_program(verification); });
}

Error Module::load_program(const Program::Verification verification) {
  if (!program_) {
    if (!data_loader_) {
      ET_CHECK_OR_RETURN_ERROR(!file_path_.empty(), InvalidArgument,
                               "expected the path of a .pte file or a data loader, found neither");
      auto opened = open_file(file_path_, load_mode_);
      if (!opened.ok()) {
        return opened.error();
      }
      data_loader_ = std::move(opened.get());
    }
    Result<Program> program = Program::load(data_loader_.get(), verification, limits_);
    if (!program.ok()) {
      if (!file_path_.empty()) {
        ET_LOG(Error, "%s: the program could not be loaded: %s", file_path_.c_str(), to_string(program.error()));
        data_loader_.reset();  // the next call opens the file anew
      }
      return program.error();
    }
    auto owner = std::make_shared<ProgramAndLoader>(std::move(program.get()));
    owner->loader = std::move(data_loader_);
    program_ = std::shared_ptr<Program>(owner, &owner->program);
  }
  return load_data_files();
}

Error Module::load_data_files() {
  if (data_files_loaded_) {
    return Error::Ok;
  }
  if (data_map_loaders_.empty()) {
    std::vector<std::unique_ptr<DataLoader>> loaders;
    for (const std::string& path : data_files_) {
      auto opened = open_file(path, load_mode_);
      if (!opened.ok()) {
        return opened.error();
      }
      loaders.push_back(std::move(opened.get()));
    }
    data_map_loaders_ = std::move(loaders);
  }
  std::vector<std::unique_ptr<NamedDataMap>> maps;
  std::vector<const NamedDataMap*> pointers;
  for (size_t i = 0; i < data_map_loaders_.size(); ++i) {
    Result<FlatTensorDataMap> map = FlatTensorDataMap::load(data_map_loaders_[i].get());
    if (!map.ok()) {
      if (i < data_files_.size()) {
        ET_LOG(Error, "%s: the data file could not be loaded: %s", data_files_[i].c_str(), to_string(map.error()));
      }
      return map.error();
    }
    maps.push_back(std::make_unique<FlatTensorDataMap>(std::move(map.get())));
    pointers.push_back(maps.back().get());
  }
  if (maps.size() > 1) {
    auto merged =
        ET_MERGED_DATA_MAP_NAMESPACE::MergedDataMap::load(Span<const NamedDataMap*>(pointers.data(), pointers.size()));
    if (!merged.ok()) {
      return merged.error();
    }
    merged_data_map_ = std::make_unique<ET_MERGED_DATA_MAP_NAMESPACE::MergedDataMap>(std::move(merged.get()));
  }
  data_maps_ = std::move(maps);
  data_files_loaded_ = true;
  return Error::Ok;
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
