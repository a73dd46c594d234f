// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <executorch/extension/module/module.h>
#include <executorch/runtime/core/data_loader.h>
#include <executorch/runtime/core/evalue.h>
#include <executorch/runtime/core/event_tracer.h>
#include <executorch/runtime/core/exec_aten/exec_aten.h>
#include <executorch/runtime/core/memory_allocator.h>
#include <executorch/runtime/core/result.h>

namespace executorch {
namespace extension {
namespace training {

/// A program that is trained on the device. Its methods return gradients and parameters after their outputs, as methods
/// do that are exported with PyTorch's `torch.export.experimental._export_forward_backward`:
///
///     TrainingModule module(std::move(loader));
///     auto parameters = module.named_parameters("forward");
///     optimizer::SGD sgd(parameters.get(), optimizer::SGDOptions(0.1));
///     auto loss = module.execute_forward_backward("forward", {input, target});
///     sgd.step(module.named_gradients("forward").get());
///
/// Parameters and gradients are views of the module's memory, and their names are in the program: both are valid until
/// the method is unloaded. The next run reads the parameters that a step has changed, and writes the gradients anew.
class TrainingModule final : public Module {
 public:
  /// The program that `data_loader` reads; `data_map_data_loader` reads the `.ptd` with the weights if they were
  /// exported to one. The other arguments are those of `Module`.
  explicit TrainingModule(std::unique_ptr<runtime::DataLoader> data_loader,
                          std::unique_ptr<runtime::MemoryAllocator> memory_allocator = nullptr,
                          std::unique_ptr<runtime::MemoryAllocator> temp_allocator = nullptr,
                          std::unique_ptr<runtime::EventTracer> event_tracer = nullptr,
                          std::unique_ptr<runtime::DataLoader> data_map_data_loader = nullptr)
      : Module(std::move(data_loader), std::move(memory_allocator), std::move(temp_allocator), std::move(event_tracer),
               std::move(data_map_data_loader)) {}

  /// Frees a method. Returns false if it was not loaded. Views of its memory are then invalid.
  bool unload_method(const std::string& method_name);

  /// Runs a method and returns its outputs without gradients and parameters: the loss first, as `torch.export` has it,
  /// then the other outputs. InvalidArgument for a method that gives no gradients, else the errors of `execute`.
  ET_NODISCARD runtime::Result<std::vector<runtime::EValue>> execute_forward_backward(
      const std::string& method_name, const std::vector<runtime::EValue>& input);

  /// The parameters by their names in PyTorch. Loads the method.
  ET_NODISCARD runtime::Result<const std::map<std::string_view, executorch::aten::Tensor>> named_parameters(
      const std::string& method_name);

  /// The gradients of the last execute_forward_backward() by the names of their parameters. InvalidState before it.
  ET_NODISCARD runtime::Result<const std::map<std::string_view, executorch::aten::Tensor>> named_gradients(
      const std::string& method_name);

  /// The mutable tensors of a method that carry a name (exported with `external_mutable_weights`, or with names for
  /// attributes); may be empty. Loads the method.
  ET_NODISCARD runtime::Result<const std::map<std::string_view, executorch::aten::Tensor>> named_attributes(
      const std::string& method_name);

 private:
  using NamedTensors = std::map<std::string_view, executorch::aten::Tensor>;

  /// The positions of gradients and parameters among the outputs, both in the order of the names.
  struct Layout {
    size_t gradients;
    size_t parameters;
    std::vector<std::string> names;
  };

  runtime::Result<const Layout*> layout_of(const std::string& method_name);
  runtime::Result<size_t> index_of(const std::string& method_name, const char* part);
  runtime::Result<const NamedTensors> named(const Layout& layout, const std::vector<runtime::EValue>& outputs,
                                            size_t first) const;

  std::map<std::string, Layout> layouts_;
  std::map<std::string, NamedTensors> gradients_;
};

}  // namespace training
}  // namespace extension
}  // namespace executorch
