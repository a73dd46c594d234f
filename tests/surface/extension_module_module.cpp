// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/extension/module/module.h>

#include "signatures.h"

#if !defined(ET_MODULE_NAMESPACE)
#error "A macro of this header is missing."
#endif

namespace surface {

static_assert(static_cast<long>(module::Module::LoadMode::File) == 0);
static_assert(static_cast<long>(module::Module::LoadMode::Mmap) == 1);
static_assert(static_cast<long>(module::Module::LoadMode::MmapUseMlock) == 2);
static_assert(static_cast<long>(module::Module::LoadMode::MmapUseMlockIgnoreErrors) == 3);
static_assert(static_cast<long>(module::Module::LoadMode::MmapUseMadvise) == 4);
static_assert(
    std::is_constructible_v<module::Module, const std::string&, const executorch::extension::module::Module::LoadMode,
                            std::unique_ptr<runtime::EventTracer>, std::unique_ptr<runtime::MemoryAllocator>,
                            std::unique_ptr<runtime::MemoryAllocator>, bool>);
static_assert(std::is_constructible_v<module::Module, const std::string&>);
static_assert(std::is_constructible_v<module::Module, const std::string&, const std::string&,
                                      const executorch::extension::module::Module::LoadMode,
                                      std::unique_ptr<runtime::EventTracer>, std::unique_ptr<runtime::MemoryAllocator>,
                                      std::unique_ptr<runtime::MemoryAllocator>, bool>);
static_assert(std::is_constructible_v<module::Module, const std::string&, const std::string&>);
static_assert(std::is_constructible_v<module::Module, const std::string&, std::vector<std::string>,
                                      const executorch::extension::module::Module::LoadMode,
                                      std::unique_ptr<runtime::EventTracer>, std::unique_ptr<runtime::MemoryAllocator>,
                                      std::unique_ptr<runtime::MemoryAllocator>, bool>);
static_assert(std::is_constructible_v<module::Module, const std::string&, std::vector<std::string>>);
static_assert(
    std::is_constructible_v<module::Module, std::unique_ptr<runtime::DataLoader>,
                            std::unique_ptr<runtime::MemoryAllocator>, std::unique_ptr<runtime::MemoryAllocator>,
                            std::unique_ptr<runtime::EventTracer>, std::unique_ptr<runtime::DataLoader>, bool>);
static_assert(std::is_constructible_v<module::Module, std::unique_ptr<runtime::DataLoader>>);
static_assert(
    std::is_constructible_v<module::Module, std::shared_ptr<Program>, std::unique_ptr<runtime::MemoryAllocator>,
                            std::unique_ptr<runtime::MemoryAllocator>, std::unique_ptr<runtime::EventTracer>,
                            std::unique_ptr<runtime::DataLoader>, bool>);
static_assert(std::is_constructible_v<module::Module, std::shared_ptr<Program>>);
static_assert(std::is_destructible_v<module::Module>);
static_assert(is<runtime::Error (module::Module::*)(const Program::Verification)>(&module::Module::load));
using load_default = decltype(make<module::Module&>().load());
static_assert(is<runtime::Error (module::Module::*)(const LoadBackendOptionsMap&, const Program::Verification)>(
    &module::Module::load));
using load_default = decltype(make<module::Module&>().load(make<const LoadBackendOptionsMap&>()));
static_assert(is<const LoadBackendOptionsMap& (module::Module::*)() const>(&module::Module::backend_options));
static_assert(is<bool (module::Module::*)() const>(&module::Module::is_loaded));
static_assert(is<std::shared_ptr<Program> (module::Module::*)() const>(&module::Module::program));
static_assert(is<runtime::Result<size_t> (module::Module::*)()>(&module::Module::num_methods));
static_assert(
    is<runtime::Result<std::unordered_set<std::string>> (module::Module::*)()>(&module::Module::method_names));
static_assert(is<runtime::Error (module::Module::*)(const std::string&, runtime::HierarchicalAllocator*,
                                                    torch::executor::EventTracer*, const LoadBackendOptionsMap*,
                                                    std::vector<Kernel>)>(&module::Module::load_method));
using load_method_default = decltype(make<module::Module&>().load_method(make<const std::string&>()));
static_assert(is<runtime::Error (module::Module::*)(const std::string&, torch::executor::EventTracer*)>(
    &module::Module::load_method));
static_assert(is<bool (module::Module::*)(const std::string&)>(&module::Module::unload_method));
static_assert(is<runtime::Result<Method*> (module::Module::*)(const std::string&)>(&module::Module::method));
static_assert(is<runtime::Error (module::Module::*)(runtime::HierarchicalAllocator*, torch::executor::EventTracer*,
                                                    const LoadBackendOptionsMap*, std::vector<Kernel>)>(
    &module::Module::load_forward));
using load_forward_default = decltype(make<module::Module&>().load_forward());
static_assert(is<runtime::Error (module::Module::*)(torch::executor::EventTracer*)>(&module::Module::load_forward));
static_assert(is<bool (module::Module::*)()>(&module::Module::unload_forward));
static_assert(is<bool (module::Module::*)(const std::string&) const>(&module::Module::is_method_loaded));
static_assert(is<runtime::Result<MethodMeta> (module::Module::*)(const std::string&)>(&module::Module::method_meta));
static_assert(is<runtime::Result<std::vector<runtime::EValue>> (module::Module::*)(
                  const std::string&, const std::vector<runtime::EValue>&)>(&module::Module::execute));
static_assert(
    is<runtime::Result<std::vector<runtime::EValue>> (module::Module::*)(const std::string&, const runtime::EValue&)>(
        &module::Module::execute));
static_assert(is<runtime::Result<std::vector<runtime::EValue>> (module::Module::*)(const std::string&)>(
    &module::Module::execute));
static_assert(
    is<runtime::Result<runtime::EValue> (module::Module::*)(const std::string&, const std::vector<runtime::EValue>&)>(
        &module::Module::get));
static_assert(is<runtime::Result<runtime::EValue> (module::Module::*)(const std::string&, const runtime::EValue&)>(
    &module::Module::get));
static_assert(is<runtime::Result<runtime::EValue> (module::Module::*)(const std::string&)>(&module::Module::get));
static_assert(
    is<runtime::Result<std::vector<runtime::EValue>> (module::Module::*)(const std::vector<runtime::EValue>&)>(
        &module::Module::forward));
static_assert(is<runtime::Result<std::vector<runtime::EValue>> (module::Module::*)(const runtime::EValue&)>(
    &module::Module::forward));
static_assert(is<runtime::Result<std::vector<runtime::EValue>> (module::Module::*)()>(&module::Module::forward));
static_assert(is<runtime::Error (module::Module::*)(const std::string&, const runtime::EValue&, size_t)>(
    &module::Module::set_input));
static_assert(is<runtime::Error (module::Module::*)(const runtime::EValue&, size_t)>(&module::Module::set_input));
static_assert(is<runtime::Error (module::Module::*)(const std::string&, const std::vector<runtime::EValue>&)>(
    &module::Module::set_inputs));
static_assert(is<runtime::Error (module::Module::*)(const std::vector<runtime::EValue>&)>(&module::Module::set_inputs));
static_assert(
    is<runtime::Error (module::Module::*)(const std::string&, runtime::EValue, size_t)>(&module::Module::set_output));
using set_output_default =
    decltype(make<module::Module&>().set_output(make<const std::string&>(), make<runtime::EValue>()));
static_assert(is<runtime::Error (module::Module::*)(runtime::EValue, size_t)>(&module::Module::set_output));
using set_output_default = decltype(make<module::Module&>().set_output(make<runtime::EValue>()));
static_assert(is<runtime::Error (module::Module::*)(const std::string&, const std::vector<runtime::EValue>&)>(
    &module::Module::set_outputs));
static_assert(
    is<runtime::Error (module::Module::*)(const std::vector<runtime::EValue>&)>(&module::Module::set_outputs));
static_assert(is<runtime::Result<std::vector<runtime::EValue>> (module::Module::*)(const std::string&)>(
    &module::Module::get_outputs));
static_assert(is<runtime::Result<std::vector<runtime::EValue>> (module::Module::*)()>(&module::Module::get_outputs));
static_assert(
    is<runtime::Result<runtime::EValue> (module::Module::*)(const std::string&, size_t)>(&module::Module::get_output));
using get_output_default = decltype(make<module::Module&>().get_output(make<const std::string&>()));
static_assert(is<runtime::Result<runtime::EValue> (module::Module::*)(size_t)>(&module::Module::get_output));
using get_output_default = decltype(make<module::Module&>().get_output());
static_assert(is<runtime::EventTracer* (module::Module::*)() const>(&module::Module::event_tracer));
static_assert(is<runtime::Span<uint8_t> (module::Module::*)()>(&module::Module::debug_buffer));
static_assert(std::is_same_v<Module, ::executorch::extension::ET_MODULE_NAMESPACE::Module>);
namespace aliases {
using ::executorch::extension::Kernel;
using ::executorch::extension::LoadBackendOptionsMap;
using ::executorch::extension::Method;
using ::executorch::extension::MethodMeta;
using ::executorch::extension::NamedDataMap;
using ::executorch::extension::Program;
}  // namespace aliases
namespace aliases {
using ::executorch::extension::Module;
}  // namespace aliases

}  // namespace surface
