// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/extension/training/module/training_module.h>

#include <utility>

#include <executorch/runtime/core/error.h>
#include <executorch/runtime/platform/log.h>

namespace executorch {
namespace extension {
namespace training {

using executorch::aten::Tensor;
using runtime::Error;
using runtime::EValue;
using runtime::Result;

bool TrainingModule::unload_method(const std::string& method_name) {
  layouts_.erase(method_name);
  gradients_.erase(method_name);
  return Module::unload_method(method_name);
}

Result<std::vector<EValue>> TrainingModule::execute_forward_backward(const std::string& method_name,
                                                                     const std::vector<EValue>& input) {
  const Layout* const layout = ET_UNWRAP(layout_of(method_name));
  std::vector<EValue> outputs = ET_UNWRAP(execute(method_name, input));
  gradients_.erase(method_name);
  gradients_.emplace(method_name, ET_UNWRAP(named(*layout, outputs, layout->gradients)));
  outputs.erase(outputs.begin() + static_cast<ptrdiff_t>(layout->gradients), outputs.end());
  return outputs;
}

Result<const std::map<std::string_view, Tensor>> TrainingModule::named_parameters(const std::string& method_name) {
  const Layout* const layout = ET_UNWRAP(layout_of(method_name));
  const std::vector<EValue> outputs = ET_UNWRAP(get_outputs(method_name));
  return named(*layout, outputs, layout->parameters);
}

Result<const std::map<std::string_view, Tensor>> TrainingModule::named_gradients(const std::string& method_name) {
  const auto found = gradients_.find(method_name);
  ET_CHECK_OR_RETURN_ERROR(found != gradients_.end(), InvalidState,
                           "method %s has not run: call execute_forward_backward first", method_name.c_str());
  return found->second;
}

Result<const std::map<std::string_view, Tensor>> TrainingModule::named_attributes(const std::string& method_name) {
  ET_CHECK_OK_OR_RETURN_ERROR(load_method(method_name));
  const auto meta = ET_UNWRAP(method_meta(method_name));
  runtime::Method* const method = ET_UNWRAP(this->method(method_name));
  NamedTensors attributes;
  for (size_t i = 0; i < meta.num_attributes(); ++i) {
    const auto info = ET_UNWRAP(meta.attribute_tensor_meta(i));
    attributes.emplace(info.name(), ET_UNWRAP(method->get_attribute(info.name())));
  }
  return attributes;
}

Result<const TrainingModule::NamedTensors> TrainingModule::named(const Layout& layout,
                                                                 const std::vector<EValue>& outputs,
                                                                 size_t first) const {
  NamedTensors tensors;
  for (size_t i = 0; i < layout.names.size(); ++i) {
    const EValue& value = outputs.at(first + i);  // layout_of has compared the numbers
    ET_CHECK_OR_RETURN_ERROR(value.isTensor(), InvalidProgram, "output %zu should be the tensor of %s, found no tensor",
                             first + i, layout.names[i].c_str());
    tensors.emplace(layout.names[i], value.toTensor());
  }
  return tensors;
}

Result<const TrainingModule::Layout*> TrainingModule::layout_of(const std::string& method_name) {
  const auto known = layouts_.find(method_name);
  if (known != layouts_.end()) {
    return &known->second;
  }
  const auto methods = ET_UNWRAP(method_names());
  ET_CHECK_OR_RETURN_ERROR(methods.count(method_name) != 0, InvalidArgument, "there is no method %s",
                           method_name.c_str());
  for (const char* const part : {"gradients_index", "parameters_index", "fqn"}) {
    ET_CHECK_OR_RETURN_ERROR(
        methods.count(std::string("__et_training_") + part + "_" + method_name) != 0, InvalidArgument,
        "method %s gives no gradients: export it with torch.export.experimental._export_forward_backward",
        method_name.c_str());
  }
  Layout layout{
      ET_UNWRAP(index_of(method_name, "gradients_index")), ET_UNWRAP(index_of(method_name, "parameters_index")), {}};
  for (const EValue& name : ET_UNWRAP(execute("__et_training_fqn_" + method_name))) {
    ET_CHECK_OR_RETURN_ERROR(name.isString(), InvalidProgram, "the name of a parameter of %s is not a text",
                             method_name.c_str());
    layout.names.emplace_back(name.toString());
  }
  const size_t count = ET_UNWRAP(method_meta(method_name)).num_outputs();
  const size_t names = layout.names.size();
  // In this order, nothing overflows: the number of names is a value from a file.
  ET_CHECK_OR_RETURN_ERROR(layout.parameters <= count && names <= count - layout.parameters &&
                               layout.gradients <= layout.parameters && names <= layout.parameters - layout.gradients,
                           InvalidProgram,
                           "method %s is said to have %zu gradients from output %zu on and as many parameters from %zu "
                           "on, found %zu outputs",
                           method_name.c_str(), names, layout.gradients, layout.parameters, count);
  return &layouts_.emplace(method_name, std::move(layout)).first->second;
}

Result<size_t> TrainingModule::index_of(const std::string& method_name, const char* part) {
  const std::string name = std::string("__et_training_") + part + "_" + method_name;
  const EValue value = ET_UNWRAP(get(name));
  ET_CHECK_OR_RETURN_ERROR(value.isInt() && value.toInt() >= 0, InvalidProgram,
                           "method %s should return an index of an output", name.c_str());
  return static_cast<size_t>(value.toInt());
}

}  // namespace training
}  // namespace extension
}  // namespace executorch
