// SPDX-License-Identifier: BSD-3-Clause
// Loading, running and unloading methods of a module.
#include <executorch/extension/c_api/call.h>
#include <executorch/extension/c_api/interrupt.h>
#include <executorch/extension/c_api/module_state.h>
#include <executorch/extension/c_api/run.h>

using executorch::aten::ArrayRef;
using executorch::runtime::Error;
using executorch::runtime::EValue;
using executorch::runtime::Result;

using namespace executorch::extension::c_api;

namespace {

/// Converts the inputs of a run to the runtime's values.
class Inputs final {
 public:
  Error set(const et_value* values, size_t count) {
    evalues_.reserve(count);
    strings_.reserve(count);  // EValues point to its items
    for (size_t i = 0; i < count; ++i) {
      ET_CHECK_OK_OR_RETURN_ERROR(add(values[i], i));
    }
    return Error::Ok;
  }

  const std::vector<EValue>& evalues() const { return evalues_; }
  std::vector<InputMemory>& memory() { return memory_; }

 private:
  Error add(const et_value& value, size_t index) {
    switch (value.tag) {
      case ET_TAG_NONE:
        evalues_.emplace_back();
        return Error::Ok;
      case ET_TAG_INT:
        evalues_.emplace_back(value.payload.as_int);
        return Error::Ok;
      case ET_TAG_DOUBLE:
        evalues_.emplace_back(value.payload.as_double);
        return Error::Ok;
      case ET_TAG_BOOL:
        evalues_.emplace_back(value.payload.as_bool != 0);
        return Error::Ok;
      case ET_TAG_TENSOR:
        ET_CHECK_OR_RETURN_ERROR(value.payload.as_tensor != nullptr, InvalidArgument,
                                 "input %zu is a tensor whose pointer is NULL", index);
        evalues_.emplace_back(value.payload.as_tensor->tensor);
        add_memory(*value.payload.as_tensor);
        return Error::Ok;
      case ET_TAG_STRING: {
        const et_span& text = value.payload.as_span;
        ET_CHECK_OR_RETURN_ERROR(text.data != nullptr || text.size == 0, InvalidArgument,
                                 "input %zu is a string of %zu bytes at NULL", index, text.size);
        strings_.emplace_back(static_cast<const char*>(text.data), text.size);
        evalues_.emplace_back(&strings_.back());
        return Error::Ok;
      }
      default:
        ET_LOG(Error, "input %zu: expected a value of type None, Tensor, String, Double, Int or Bool, found %s (%d)",
               index, et_tag_name(value.tag), static_cast<int>(value.tag));
        return Error::InvalidType;
    }
  }

  void add_memory(const et_tensor& tensor) {
    std::shared_ptr<const void> owner = tensor.lease;
    if (tensor.storage != nullptr) {
      owner = tensor.storage;
    }
    memory_.push_back(
        {static_cast<const uint8_t*>(tensor.tensor.const_data_ptr()), tensor.tensor.nbytes(), std::move(owner)});
  }

  std::vector<EValue> evalues_;
  std::vector<ArrayRef<char>> strings_;
  std::vector<InputMemory> memory_;
};

Error execute(et_module& module, const char* method, const et_value* values, size_t count,
              const et_cancellation* cancellation, et_result** out) {
  ModuleState& state = *module.state;
  const auto slot = state.method(method);
  if (!slot.ok()) {
    return slot.error();
  }
  // Checked before any input is read.
  const size_t expected = slot.get()->meta.meta.num_inputs();
  ET_CHECK_OR_RETURN_ERROR(count == expected, InvalidArgument, "method '%s' takes %zu inputs, found %zu", method,
                           expected, count);
  ET_CHECK_OR_RETURN_ERROR(values != nullptr || count == 0, InvalidArgument,
                           "expected %zu values in `inputs`, found NULL", count);
  const Claim claim(state);
  ET_CHECK_OK_OR_RETURN_ERROR(claim.check());
  Inputs inputs;
  ET_CHECK_OK_OR_RETURN_ERROR(inputs.set(values, count));
  const auto execute_method = [&]() -> Result<std::vector<EValue>> {
    if (cancellation == nullptr) {
      return state.module->execute(method, inputs.evalues());
    }
    const auto loaded = state.module->method(method);
    if (!loaded.ok()) {
      return loaded.error();
    }
    const Interruptible interruptible(**loaded, cancellation);
    return state.module->execute(method, inputs.evalues());
  };
  return run(module, *slot.get(), std::move(inputs.memory()), execute_method, out);
}

Error outputs_of(et_module& module, const char* method, et_result** out) {
  ModuleState& state = *module.state;
  const auto slot = state.method(method);
  if (!slot.ok()) {
    return slot.error();
  }
  const Claim claim(state);
  ET_CHECK_OK_OR_RETURN_ERROR(claim.check());
  const auto loaded = state.module->method(method);
  if (!loaded.ok()) {
    return loaded.error();
  }
  std::vector<EValue> outputs;
  for (size_t i = 0; i < (*loaded)->outputs_size(); ++i) {
    outputs.push_back((*loaded)->get_output(i));
  }
  return give(module, *slot.get(), {}, outputs, out);
}

Error unload(ModuleState& state, const char* method) {
  const auto slot = state.method(method);
  if (!slot.ok()) {
    return slot.error();
  }
  const Claim claim(state);
  ET_CHECK_OK_OR_RETURN_ERROR(claim.check());
  const size_t results = slot.get()->leases;
  ET_CHECK_OR_RETURN_ERROR(results == 0, InvalidState,
                           "%zu results of method '%s' still show its memory: free them first", results, method);
  state.module->unload_method(method);
  slot.get()->outputs.clear();
  slot.get()->last_case.reset();
  return Error::Ok;
}

Error set_output(ModuleState& state, const char* method, size_t index, et_tensor& tensor) {
  const auto slot = state.method(method);
  if (!slot.ok()) {
    return slot.error();
  }
  ET_CHECK_OR_RETURN_ERROR(
      tensor.storage != nullptr, InvalidArgument,
      "the tensor belongs to a result: an output needs one from et_tensor_create or et_tensor_wrap");
  const Claim claim(state);
  ET_CHECK_OK_OR_RETURN_ERROR(claim.check());
  // Allocate first, because nothing may fail once the runtime has the pointer.
  auto& outputs = slot.get()->outputs;
  outputs.reserve(outputs.size() + 1);
  ET_CHECK_OK_OR_RETURN_ERROR(state.module->set_output(method, EValue(tensor.tensor), index));
  for (auto& [of_output, storage] : outputs) {
    if (of_output == index) {
      storage = tensor.storage;
      return Error::Ok;
    }
  }
  outputs.emplace_back(index, tensor.storage);
  return Error::Ok;
}

}  // namespace

et_status et_module_load_method(et_module* module, const char* method, et_error** error) {
  return call(error, [&]() -> Error {
    ET_CHECK_NOT_NULL(module);
    const auto slot = module->state->method(method);
    if (!slot.ok()) {
      return slot.error();
    }
    const Claim claim(*module->state);
    ET_CHECK_OK_OR_RETURN_ERROR(claim.check());
    const ThreadsInUse threads;
    return module->state->module->load_method(method);
  });
}

bool et_module_is_method_loaded(const et_module* module, const char* method) {
  if (module == nullptr || method == nullptr) {
    return false;
  }
  bool loaded = false;
  (void)call(nullptr, [&] {
    const Claim claim(*module->state);
    loaded = claim.taken() && module->state->module->is_method_loaded(method);
    return Error::Ok;
  });
  return loaded;
}

et_status et_module_unload_method(et_module* module, const char* method, et_error** error) {
  return call(error, [&]() -> Error {
    ET_CHECK_NOT_NULL(module);
    return unload(*module->state, method);
  });
}

et_status et_module_set_output(et_module* module, const char* method, size_t index, et_tensor* tensor,
                               et_error** error) {
  return call(error, [&]() -> Error {
    ET_CHECK_NOT_NULL(module);
    ET_CHECK_NOT_NULL(tensor);
    return set_output(*module->state, method, index, *tensor);
  });
}

et_status et_module_execute(et_module* module, const char* method, const et_value* inputs, size_t input_count,
                            et_result** out, et_error** error) {
  return call_for(out, error, [&]() -> Error {
    ET_CHECK_NOT_NULL(module);
    return execute(*module, method, inputs, input_count, nullptr, out);
  });
}

et_status et_module_execute_cancellable(et_module* module, const char* method, const et_value* inputs,
                                        size_t input_count, const et_cancellation* cancellation, et_result** out,
                                        et_error** error) {
  return call_for(out, error, [&]() -> Error {
    ET_CHECK_NOT_NULL(module);
    return execute(*module, method, inputs, input_count, cancellation, out);
  });
}

et_status et_module_outputs(et_module* module, const char* method, et_result** out, et_error** error) {
  return call_for(out, error, [&]() -> Error {
    ET_CHECK_NOT_NULL(module);
    return outputs_of(*module, method, out);
  });
}
