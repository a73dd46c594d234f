// SPDX-License-Identifier: BSD-3-Clause
//
// The part of Module that concerns single methods: their memory, inputs, runs and outputs.
#include <algorithm>
#include <utility>

#include <executorch/extension/memory_allocator/report_bad_alloc.h>
#include <executorch/extension/module/data_files.h>
#include <executorch/extension/module/loaded_method.h>
#include <executorch/extension/module/module.h>
#include <executorch/runtime/core/error.h>
#include <executorch/runtime/core/exec_aten/util/scalar_type_util.h>
#include <executorch/runtime/core/exec_aten/util/tensor_access.h>
#include <executorch/runtime/core/exec_aten/util/tensor_shape_to_c_string.h>
#include <executorch/runtime/platform/log.h>

namespace executorch {
namespace extension {
namespace ET_MODULE_NAMESPACE {

using runtime::Error;
using runtime::EValue;
using runtime::HierarchicalAllocator;
using runtime::MemoryAllocator;
using runtime::MemoryManager;
using runtime::Result;
using runtime::Span;
using runtime::Tag;

namespace {

/// Whether an output of a method is one of its inputs, unchanged and in the caller's memory.
bool is_input(const Method& method, const executorch::aten::Tensor& output) {
  for (size_t i = 0; i < method.inputs_size(); ++i) {
    const EValue& input = method.get_input(i);
    if (input.isTensor() && input.toTensor().unsafeGetTensorImpl() == output.unsafeGetTensorImpl()) {
      return true;
    }
  }
  return false;
}

/// InvalidArgument for a null TensorPtr, which could come from a function that had logged why it made no tensor.
Error check_not_null(const EValue& value, const char* what, size_t index) {
  const bool is_null = runtime::internal::is_null_pointer(value) ||
                       (value.isTensor() && value.toTensor().unsafeGetTensorImpl() == nullptr);
  ET_CHECK_OR_RETURN_ERROR(!is_null, InvalidArgument, "%s %zu is a null pointer: expected a value", what, index);
  return Error::Ok;
}

Error check_not_null(const std::vector<EValue>& values, const char* what) {
  for (size_t i = 0; i < values.size(); ++i) {
    ET_CHECK_OK_OR_RETURN_ERROR(check_not_null(values[i], what, i));
  }
  return Error::Ok;
}

/// Whether `output_value` may be the memory of an output.
Error check_output(const Method& method, const char* method_name, const EValue& output_value, size_t output_index) {
  ET_CHECK_OR_RETURN_ERROR(output_index < method.outputs_size(), InvalidArgument,
                           "method '%s' has %zu outputs, there is no output %zu", method_name, method.outputs_size(),
                           output_index);
  ET_CHECK_OK_OR_RETURN_ERROR(check_not_null(output_value, "output", output_index));
  ET_CHECK_OR_RETURN_ERROR(output_value.isTensor(), InvalidArgument, "output %zu: expected a tensor, found %s",
                           output_index, tag_to_string(output_value.tag));
  const auto info = method.method_meta().output_tensor_meta(output_index);
  ET_CHECK_OR_RETURN_ERROR(info.ok(), InvalidArgument, "output %zu of method '%s' is not a tensor", output_index,
                           method_name);
  ET_CHECK_OR_RETURN_ERROR(!info->is_memory_planned(), InvalidArgument,
                           "output %zu of method '%s' was memory-planned at export and cannot be replaced; export with "
                           "MemoryPlanningPass(alloc_graph_output=False)",
                           output_index, method_name);
  const executorch::aten::Tensor& tensor = output_value.toTensor();
  const bool same_sizes =
      std::equal(tensor.sizes().begin(), tensor.sizes().end(), info->sizes().begin(), info->sizes().end());
  ET_CHECK_OR_RETURN_ERROR(tensor.scalar_type() == info->scalar_type() && same_sizes, InvalidArgument,
                           "output %zu of method '%s': expected %s of sizes %s, found %s of sizes %s", output_index,
                           method_name, runtime::toString(info->scalar_type()),
                           runtime::tensor_shape_to_c_string(info->sizes()).data(),
                           runtime::toString(tensor.scalar_type()),
                           runtime::tensor_shape_to_c_string(
                               Span<const executorch::aten::SizesType>(tensor.sizes().data(), tensor.sizes().size()))
                               .data());
  return Error::Ok;
}

Error put_output(Method& method, const EValue& output_value, size_t output_index) {
  const executorch::aten::Tensor& tensor = output_value.toTensor();
  return method.set_output_data_ptr(tensor.mutable_data_ptr(), tensor.nbytes(), output_index);
}

/// A method may return a tensor twice: both outputs are then in the memory that was set last.
Error check_same_outputs(const Method& method, const char* method_name, const std::vector<EValue>& output_values) {
  const auto memory = [&](size_t i) { return output_values[i].toTensor().const_data_ptr(); };
  for (size_t i = 0; i < output_values.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      ET_CHECK_OR_RETURN_ERROR(&method.get_output(i) != &method.get_output(j) || memory(i) == memory(j),
                               InvalidArgument,
                               "outputs %zu and %zu of method '%s' are the same tensor: expected the same memory for "
                               "both",
                               j, i, method_name);
    }
  }
  return Error::Ok;
}

/// The memory of a tensor, also of one that has no elements now.
void* memory_of(const executorch::aten::Tensor& tensor) {
#ifdef USE_ATEN_LIB
  return tensor.storage().mutable_data();
#else
  return tensor.mutable_data_ptr();
#endif
}

}  // namespace

Error Module::LoadedMethod::provide_unplanned_outputs(size_t max_bytes) {
  size_t bytes = 0;
  const MethodMeta meta = method->method_meta();
  for (size_t i = 0; i < method->outputs_size(); ++i) {
    const EValue& output = method->get_output(i);
    if (!output.isTensor() || output.toTensor().const_data_ptr() != nullptr || output.toTensor().nbytes() == 0) {
      continue;
    }
    const auto info = meta.output_tensor_meta(i);
    if (!info.ok() || info->is_memory_planned() || is_input(*method, output.toTensor())) {
      continue;
    }
    ET_CHECK_OR_RETURN_ERROR(info->nbytes() <= max_bytes - bytes, OutOfResources,
                             "output %zu needs %zu bytes, the application allows %zu for all outputs", i,
                             info->nbytes(), max_bytes);
    bytes += info->nbytes();
    output_buffers.emplace_back(info->nbytes());
    ET_CHECK_OR_RETURN_ERROR(output_buffers.back().data() != nullptr, MemoryAllocationFailed,
                             "%zu bytes for output %zu could not be allocated", info->nbytes(), i);
    ET_CHECK_OK_OR_RETURN_ERROR(method->set_output_data_ptr(output_buffers.back().data(), info->nbytes(), i));
  }
  return Error::Ok;
}

Error Module::load_method(const std::string& method_name, HierarchicalAllocator* planned_memory,
                          torch::executor::EventTracer* event_tracer, const LoadBackendOptionsMap* backend_options,
                          std::vector<Kernel> kernel_registry) {
  if (is_method_loaded(method_name)) {
    return Error::Ok;
  }
  ET_CHECK_OK_OR_RETURN_ERROR(load());
  return internal::report_bad_alloc([&] {
    return load_method_once(method_name, planned_memory, event_tracer, backend_options, std::move(kernel_registry));
  });
}

Error Module::load_method_once(const std::string& method_name, HierarchicalAllocator* planned_memory,
                               runtime::EventTracer* event_tracer, const LoadBackendOptionsMap* backend_options,
                               std::vector<Kernel>&& kernel_registry) {
  auto loaded = std::make_unique<LoadedMethod>();
  loaded->kernel_registry = std::move(kernel_registry);
  loaded->own_allocator.set_max_bytes(limits_.method_bytes);
  if (own_temp_allocator_ != nullptr) {
    own_temp_allocator_->set_max_bytes(limits_.method_bytes);
  }
  if (planned_memory == nullptr) {
    const auto provided = planned_memory_for(method_name, *loaded);
    if (!provided.ok()) {
      return provided.error();
    }
    planned_memory = provided.get();
  }
  MemoryAllocator* method_allocator = memory_allocator_ ? memory_allocator_.get() : &loaded->own_allocator;
  loaded->memory_manager = std::make_unique<MemoryManager>(method_allocator, planned_memory, temp_allocator_.get());
  Result<Method> method = program_->load_method(
      method_name.c_str(), loaded->memory_manager.get(), event_tracer != nullptr ? event_tracer : event_tracer_.get(),
      data_files_->map(), backend_options != nullptr ? backend_options : &backend_options_,
      Span<const Kernel>(loaded->kernel_registry.data(), loaded->kernel_registry.size()));
  if (shared_buffers_) {
    shared_buffers_->allocator()->set_zeroed(false);  // the next method finds data of this one
  }
  if (!method.ok()) {
    return method.error();  // the runtime has logged the reason
  }
  loaded->method = std::make_unique<Method>(std::move(method.get()));
  loaded->preset_inputs.resize(loaded->method->inputs_size());
  ET_CHECK_OK_OR_RETURN_ERROR(loaded->provide_unplanned_outputs(limits_.method_bytes));
  ET_LOG(Debug, "Loaded method '%s', inputs: %zu, outputs: %zu, instructions: %zu, backends: %zu", method_name.c_str(),
         loaded->method->inputs_size(), loaded->method->outputs_size(),
         loaded->method->method_meta().num_instructions(), loaded->method->method_meta().num_backends());
  methods_.emplace(method_name, std::move(loaded));
  return Error::Ok;
}

bool Module::unload_method(const std::string& method_name) {
  return methods_.erase(method_name) > 0;
}

Result<Module::LoadedMethod*> Module::loaded_method(const std::string& method_name) {
  ET_CHECK_OK_OR_RETURN_ERROR(load_method(method_name));
  return methods_.at(method_name).get();
}

Result<Method*> Module::method(const std::string& method_name) {
  const auto loaded = loaded_method(method_name);
  if (!loaded.ok()) {
    return loaded.error();
  }
  return loaded.get()->method.get();
}

Result<MethodMeta> Module::method_meta(const std::string& method_name) {
  ET_CHECK_OK_OR_RETURN_ERROR(load());
  return program_->method_meta(method_name.c_str());
}

Result<std::vector<EValue>> Module::execute(const std::string& method_name, const std::vector<EValue>& input_values) {
  return internal::report_bad_alloc([&]() -> Result<std::vector<EValue>> {
    const auto loaded = loaded_method(method_name);
    if (!loaded.ok()) {
      return loaded.error();
    }
    Method& method = *loaded.get()->method;
    std::vector<EValue> inputs = loaded.get()->preset_inputs;
    ET_CHECK_OR_RETURN_ERROR(input_values.size() <= inputs.size(), InvalidArgument,
                             "method '%s' takes %zu inputs, found %zu", method_name.c_str(), inputs.size(),
                             input_values.size());
    ET_CHECK_OK_OR_RETURN_ERROR(check_not_null(input_values, "input"));
    for (size_t i = 0; i < input_values.size(); ++i) {
      if (!input_values[i].isNone()) {
        inputs[i] = input_values[i];
      }
    }
    const MethodMeta meta = method.method_meta();
    for (size_t i = 0; i < inputs.size(); ++i) {
      const Result<Tag> tag = meta.input_tag(i);
      const bool takes_none = tag.ok() && tag.get() == Tag::None;
      ET_CHECK_OR_RETURN_ERROR(!inputs[i].isNone() || takes_none, InvalidArgument,
                               "method '%s' takes %zu inputs, input %zu was neither passed nor set before",
                               method_name.c_str(), inputs.size(), i);
    }
    ET_CHECK_OK_OR_RETURN_ERROR(method.set_inputs(executorch::aten::ArrayRef<EValue>(inputs.data(), inputs.size())));
    // Allocate before the run. A failed allocation after it would lose the results although the state has changed.
    std::vector<EValue> outputs(method.outputs_size());
    ET_CHECK_OK_OR_RETURN_ERROR(method.execute());
    ET_CHECK_OK_OR_RETURN_ERROR(method.get_outputs(outputs.data(), outputs.size()));
    return outputs;
  });
}

Result<EValue> Module::first_of(const std::string& method_name, Result<std::vector<EValue>> outputs) {
  if (!outputs.ok()) {
    return outputs.error();
  }
  ET_CHECK_OR_RETURN_ERROR(!outputs->empty(), InvalidArgument, "method '%s' has no outputs", method_name.c_str());
  return outputs->front();
}

Error Module::set_input(const std::string& method_name, const EValue& input_value, size_t input_index) {
  const auto loaded = loaded_method(method_name);
  if (!loaded.ok()) {
    return loaded.error();
  }
  auto& inputs = loaded.get()->preset_inputs;
  ET_CHECK_OR_RETURN_ERROR(input_index < inputs.size(), InvalidArgument,
                           "method '%s' takes %zu inputs, there is no input %zu", method_name.c_str(), inputs.size(),
                           input_index);
  ET_CHECK_OK_OR_RETURN_ERROR(check_not_null(input_value, "input", input_index));
  inputs[input_index] = input_value;
  return Error::Ok;
}

Error Module::set_inputs(const std::string& method_name, const std::vector<EValue>& input_values) {
  return internal::report_bad_alloc([&]() -> Error {
    const auto loaded = loaded_method(method_name);
    if (!loaded.ok()) {
      return loaded.error();
    }
    auto& inputs = loaded.get()->preset_inputs;
    ET_CHECK_OR_RETURN_ERROR(input_values.size() == inputs.size(), InvalidArgument,
                             "method '%s' takes %zu inputs, found %zu", method_name.c_str(), inputs.size(),
                             input_values.size());
    ET_CHECK_OK_OR_RETURN_ERROR(check_not_null(input_values, "input"));
    inputs = input_values;
    return Error::Ok;
  });
}

Error Module::set_output(const std::string& method_name, EValue output_value, size_t output_index) {
  const auto loaded = loaded_method(method_name);
  if (!loaded.ok()) {
    return loaded.error();
  }
  Method& method = *loaded.get()->method;
  ET_CHECK_OK_OR_RETURN_ERROR(check_output(method, method_name.c_str(), output_value, output_index));
  return put_output(method, output_value, output_index);
}

Error Module::set_outputs(const std::string& method_name, const std::vector<EValue>& output_values) {
  const auto loaded = loaded_method(method_name);
  if (!loaded.ok()) {
    return loaded.error();
  }
  Method& method = *loaded.get()->method;
  const size_t count = method.outputs_size();
  ET_CHECK_OR_RETURN_ERROR(output_values.size() == count, InvalidArgument, "method '%s' has %zu outputs, found %zu",
                           method_name.c_str(), count, output_values.size());
  for (size_t i = 0; i < count; ++i) {
    ET_CHECK_OK_OR_RETURN_ERROR(check_output(method, method_name.c_str(), output_values[i], i));
  }
  ET_CHECK_OK_OR_RETURN_ERROR(check_same_outputs(method, method_name.c_str(), output_values));
  return internal::report_bad_alloc([&]() -> Error {
    std::vector<void*> before(count);
    for (size_t i = 0; i < count; ++i) {
      before[i] = memory_of(method.get_output(i).toTensor());
    }
    Error error = Error::Ok;
    size_t done = 0;
    while (done < count && error == Error::Ok) {
      error = put_output(method, output_values[done], done);
      done += error == Error::Ok;
    }
    // After an error, no output is in memory that the caller might free.
    for (size_t i = done; error != Error::Ok && i > 0; --i) {
      const executorch::aten::Tensor& tensor = method.get_output(i - 1).toTensor();
      runtime::internal::set_data(tensor, before[i - 1],
                                  before[i - 1] == nullptr ? 0 : output_values[i - 1].toTensor().nbytes());
    }
    return error;
  });
}

Result<std::vector<EValue>> Module::get_outputs(const std::string& method_name) {
  return internal::report_bad_alloc([&]() -> Result<std::vector<EValue>> {
    const auto loaded = loaded_method(method_name);
    if (!loaded.ok()) {
      return loaded.error();
    }
    std::vector<EValue> outputs(loaded.get()->method->outputs_size());
    ET_CHECK_OK_OR_RETURN_ERROR(loaded.get()->method->get_outputs(outputs.data(), outputs.size()));
    return outputs;
  });
}

Result<EValue> Module::get_output(const std::string& method_name, size_t output_index) {
  auto outputs = get_outputs(method_name);
  if (!outputs.ok()) {
    return outputs.error();
  }
  ET_CHECK_OR_RETURN_ERROR(output_index < outputs->size(), InvalidArgument,
                           "method '%s' has %zu outputs, there is no output %zu", method_name.c_str(), outputs->size(),
                           output_index);
  return (*outputs)[output_index];
}

}  // namespace ET_MODULE_NAMESPACE
}  // namespace extension
}  // namespace executorch
