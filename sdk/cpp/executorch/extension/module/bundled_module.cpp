// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/extension/module/bundled_module.h>

#include <utility>

#include <executorch/devtools/bundled_program/bundled_program.h>
#include <executorch/extension/data_loader/buffer_data_loader.h>
#include <executorch/extension/data_loader/shared_ptr_data_loader.h>
#include <executorch/extension/memory_allocator/report_bad_alloc.h>
#include <executorch/extension/module/data_files.h>
#include <executorch/runtime/core/error.h>
#include <executorch/runtime/platform/log.h>
#include <executorch/runtime/platform/runtime.h>
#include <executorch/schema/bundled_program_generated.h>

namespace executorch {
namespace extension {
namespace ET_BUNDLED_MODULE_NAMESPACE {

using runtime::DataLoader;
using runtime::Error;
using runtime::EValue;
using runtime::FreeableBuffer;
using runtime::MemoryAllocator;
using runtime::Result;

namespace {

using SegmentInfo = DataLoader::SegmentInfo;

/// A loader of the program in a bundle; null, after a log line, if the bundle is invalid.
std::unique_ptr<DataLoader> program_of(const void* bundle) {
  if (bundle == nullptr || !bundled_program_flatbuffer::BundledProgramBufferHasIdentifier(bundle)) {
    ET_LOG(Error, "expected a bundled program of version '%s' at %p",
           bundled_program_flatbuffer::BundledProgramIdentifier(), bundle);
    return nullptr;
  }
  const auto* program = bundled_program_flatbuffer::GetBundledProgram(bundle)->program();
  if (program == nullptr) {
    ET_LOG(Error, "there is no program in the bundled program");
    return nullptr;
  }
  return std::make_unique<BufferDataLoader>(program->data(), program->size());
}

}  // namespace

BundledModule::BundledModule(std::unique_ptr<DataLoader> program_loader, const void* bundled_program_ptr,
                             std::unique_ptr<MemoryAllocator> memory_allocator,
                             std::unique_ptr<MemoryAllocator> temp_allocator,
                             std::unique_ptr<runtime::EventTracer> event_tracer,
                             std::unique_ptr<DataLoader> data_map_loader)
    : Module(std::move(program_loader), std::move(memory_allocator), std::move(temp_allocator), std::move(event_tracer),
             std::move(data_map_loader)),
      bundled_program_ptr_(bundled_program_ptr) {}

BundledModule::BundledModule(const void* bundled_program_ptr, std::unique_ptr<MemoryAllocator> memory_allocator,
                             std::unique_ptr<MemoryAllocator> temp_allocator,
                             std::unique_ptr<runtime::EventTracer> event_tracer,
                             std::unique_ptr<DataLoader> data_map_loader)
    : BundledModule(program_of(bundled_program_ptr), bundled_program_ptr, std::move(memory_allocator),
                    std::move(temp_allocator), std::move(event_tracer), std::move(data_map_loader)) {}

Result<std::unique_ptr<BundledModule>> BundledModule::from_file(const std::string& file_path,
                                                                std::unique_ptr<MemoryAllocator> memory_allocator,
                                                                std::unique_ptr<MemoryAllocator> temp_allocator,
                                                                std::unique_ptr<runtime::EventTracer> event_tracer,
                                                                std::unique_ptr<DataLoader> data_map_loader) {
  return internal::report_bad_alloc([&]() -> Result<std::unique_ptr<BundledModule>> {
    runtime::runtime_init();
    auto loader = internal::open_file(file_path, Module::LoadMode::File);
    if (!loader.ok()) {
      return loader.error();
    }
    const Result<size_t> size = loader.get()->size();
    if (!size.ok()) {
      return size.error();
    }
    Result<FreeableBuffer> bytes = loader.get()->load(0, size.get(), SegmentInfo(SegmentInfo::Type::Program));
    if (!bytes.ok()) {
      return bytes.error();
    }
    // get_program_data() takes a pointer to non-const data, but does not write to it.
    void* data = const_cast<void*>(bytes->data());
    ET_CHECK_OR_RETURN_ERROR(BUNDLED_PROGRAM_NAMESPACE::is_bundled_program(data, size.get()), InvalidArgument,
                             "%s: expected a bundled program of version '%s'", file_path.c_str(),
                             bundled_program_flatbuffer::BundledProgramIdentifier());
    const void* program = nullptr;
    size_t program_size = 0;
    const Error error = BUNDLED_PROGRAM_NAMESPACE::get_program_data(data, size.get(), &program, &program_size);
    ET_CHECK_OK_OR_RETURN_ERROR(error, "%s: the bundled program could not be loaded", file_path.c_str());
    // The program may outlive the module, and keeps its loader, which keeps the file.
    struct File {
      std::unique_ptr<DataLoader> loader;
      FreeableBuffer bytes;
    };
    const auto file = std::make_shared<File>(File{std::move(loader.get()), std::move(bytes.get())});
    auto program_loader =
        std::make_unique<SharedPtrDataLoader>(std::shared_ptr<void>(file, const_cast<void*>(program)), program_size);
    return std::unique_ptr<BundledModule>(new BundledModule(std::move(program_loader), data,
                                                            std::move(memory_allocator), std::move(temp_allocator),
                                                            std::move(event_tracer), std::move(data_map_loader)));
  });
}

Result<std::vector<EValue>> BundledModule::execute(const std::string& method_name, const size_t testset_idx) {
  return internal::report_bad_alloc([&]() -> Result<std::vector<EValue>> {
    const Result<Method*> method = this->method(method_name);
    if (!method.ok()) {
      return method.error();
    }
    ET_CHECK_OK_OR_RETURN_ERROR(
        BUNDLED_PROGRAM_NAMESPACE::load_bundled_input(**method, bundled_program_ptr_, testset_idx));
    std::vector<EValue> outputs((*method)->outputs_size());
    ET_CHECK_OK_OR_RETURN_ERROR((*method)->execute());
    ET_CHECK_OK_OR_RETURN_ERROR((*method)->get_outputs(outputs.data(), outputs.size()));
    return outputs;
  });
}

Error BundledModule::verify_method_outputs(const std::string& method_name, const size_t testset_idx, double rtol,
                                           double atol) {
  const Result<Method*> method = this->method(method_name);
  if (!method.ok()) {
    return method.error();
  }
  return BUNDLED_PROGRAM_NAMESPACE::verify_method_outputs(**method, bundled_program_ptr_, testset_idx, rtol, atol);
}

}  // namespace ET_BUNDLED_MODULE_NAMESPACE
}  // namespace extension
}  // namespace executorch
