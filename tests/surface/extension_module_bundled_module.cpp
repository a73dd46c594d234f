// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/extension/module/bundled_module.h>

#include <type_traits>

namespace surface {

using namespace executorch::runtime;  // NOLINT: the names of the signatures
using executorch::extension::Module;
using executorch::extension::ET_BUNDLED_MODULE_NAMESPACE::BundledModule;

static_assert(std::is_same_v<BundledModule, executorch::extension::bundled_module::BundledModule>);
static_assert(std::is_base_of_v<Module, BundledModule> && std::has_virtual_destructor_v<BundledModule>);
static_assert(std::is_constructible_v<BundledModule, const void*> &&
              !std::is_convertible_v<const void*, BundledModule>);
static_assert(std::is_constructible_v<BundledModule, const void*, std::unique_ptr<MemoryAllocator>,
                                      std::unique_ptr<MemoryAllocator>, std::unique_ptr<EventTracer>,
                                      std::unique_ptr<DataLoader>>);
static_assert(std::is_same_v<decltype(&BundledModule::from_file),
                             Result<std::unique_ptr<BundledModule>> (*)(
                                 const std::string&, std::unique_ptr<MemoryAllocator>, std::unique_ptr<MemoryAllocator>,
                                 std::unique_ptr<EventTracer>, std::unique_ptr<DataLoader>)>);
static_assert(std::is_same_v<decltype(&BundledModule::verify_method_outputs),
                             Error (BundledModule::*)(const std::string&, size_t, double, double)>);

inline void calls(BundledModule& module) {
  static_assert(std::is_same_v<decltype(module.execute("forward", size_t{0})), Result<std::vector<EValue>>>);
  static_assert(
      std::is_same_v<decltype(module.execute("forward", std::vector<EValue>())), Result<std::vector<EValue>>>);
  static_assert(std::is_same_v<decltype(BundledModule::from_file("")), Result<std::unique_ptr<BundledModule>>>);
  (void)module.verify_method_outputs("forward", 0);
}

}  // namespace surface
