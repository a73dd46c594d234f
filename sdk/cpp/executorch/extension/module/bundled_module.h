// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include <executorch/extension/module/module.h>

#ifdef USE_ATEN_LIB
#define ET_BUNDLED_MODULE_NAMESPACE bundled_module::aten
#else
#define ET_BUNDLED_MODULE_NAMESPACE bundled_module
#endif

namespace executorch {
namespace extension {

using ET_MODULE_NAMESPACE::Module;

namespace ET_BUNDLED_MODULE_NAMESPACE {

/// A Module of a bundled program (`.bpte`), which runs its test cases and checks their outputs:
///
///     auto module = BundledModule::from_file("model.bpte");
///     auto outputs = module.get()->execute("forward", 0);           // with the inputs of the first case
///     auto error = module.get()->verify_method_outputs("forward", 0);  // against what it expects
///
/// For everything else see Module. Errors are those of devtools/bundled_program.
class BundledModule : public Module {
 public:
  /// The bundled program at `bundled_program_ptr`, aligned to 16 bytes: not owned, must outlive the module and must
  /// have passed executorch::bundled_program::get_program_data(). Other data fails to load.
  explicit BundledModule(const void* bundled_program_ptr,
                         std::unique_ptr<runtime::MemoryAllocator> memory_allocator = nullptr,
                         std::unique_ptr<runtime::MemoryAllocator> temp_allocator = nullptr,
                         std::unique_ptr<runtime::EventTracer> event_tracer = nullptr,
                         std::unique_ptr<runtime::DataLoader> data_map_loader = nullptr);

  /// Reads and verifies the file, which stays in memory as long as the module or its program(). Errors: those of
  /// opening and reading it; InvalidArgument if it is not a bundled program; InvalidExternalData if it is damaged.
  ET_NODISCARD static runtime::Result<std::unique_ptr<BundledModule>> from_file(
      const std::string& file_path, std::unique_ptr<runtime::MemoryAllocator> memory_allocator = nullptr,
      std::unique_ptr<runtime::MemoryAllocator> temp_allocator = nullptr,
      std::unique_ptr<runtime::EventTracer> event_tracer = nullptr,
      std::unique_ptr<runtime::DataLoader> data_map_loader = nullptr);

  using Module::execute;

  /// Loads and runs a method with the inputs of its case `testset_idx`, counted from 0, and returns the outputs.
  /// Preset inputs are kept and not used.
  ET_NODISCARD runtime::Result<std::vector<runtime::EValue>> execute(const std::string& method_name,
                                                                     const size_t testset_idx);

  /// Compares the outputs of the last run with the expected ones of the case: NotFound if one differs.
  ET_NODISCARD runtime::Error verify_method_outputs(const std::string& method_name, const size_t testset_idx,
                                                    double rtol = 1e-5, double atol = 1e-8);

 private:
  BundledModule(std::unique_ptr<runtime::DataLoader> program_loader, const void* bundled_program_ptr,
                std::unique_ptr<runtime::MemoryAllocator> memory_allocator,
                std::unique_ptr<runtime::MemoryAllocator> temp_allocator,
                std::unique_ptr<runtime::EventTracer> event_tracer,
                std::unique_ptr<runtime::DataLoader> data_map_loader);

  const void* bundled_program_ptr_;
};

}  // namespace ET_BUNDLED_MODULE_NAMESPACE
}  // namespace extension
}  // namespace executorch
