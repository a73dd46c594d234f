// SPDX-License-Identifier: BSD-3-Clause
#include "delegate.h"

#include <cstring>
#include <numeric>

#include <executorch/extension/delegate/arguments.h>
#include <executorch/runtime/core/exec_aten/util/tensor_util.h>
#include <executorch/runtime/platform/log.h>

#include "NeuronBackend.h"

namespace executorch {
namespace backends {
namespace neuron {

using extension::delegate::Argument;
using extension::delegate::check_count;
using extension::delegate::check_is_tensor;
using runtime::ArrayRef;
using runtime::CompileSpec;
using runtime::Error;
using runtime::EValue;
using runtime::NamedDataMap;
using runtime::Span;

namespace {

constexpr char kBuilding[] = "the network was restored";
constexpr char kCompiling[] = "the network was prepared for this device";
constexpr Error kRefused = Error::DelegateInvalidCompatibility;

}  // namespace

Error Settings::read(ArrayRef<CompileSpec> specs) {
  for (const CompileSpec& spec : specs) {
    bool* const flag = std::strcmp(spec.key, "HighAddr") == 0        ? &high_address
                       : std::strcmp(spec.key, "ImportForever") == 0 ? &import_forever
                                                                     : nullptr;
    const auto* const value = static_cast<const char*>(spec.value.buffer);
    if (flag != nullptr) {
      ET_CHECK_OR_RETURN_ERROR(spec.value.nbytes == 1 && (value[0] == 0 || value[0] == 1), InvalidProgram,
                               "MediaTek: the compile spec %s has %zu bytes, expected one byte that is 0 or 1",
                               spec.key, spec.value.nbytes);
      *flag = value[0] != 0;
    } else if (std::strcmp(spec.key, "ExtractSharedBlobKey") == 0 && spec.value.nbytes > 0) {
      shared_weights.assign(value, spec.value.nbytes);
    }
  }
  return Error::Ok;
}

std::string Settings::options() const {
  std::string settings = high_address ? R"(\"high_addr\": true)" : "";
  if (import_forever) {
    settings += settings.empty() ? "" : ", ";
    settings += R"(\"import_forever\": true)";
  }
  return settings.empty() ? "" : "--apusys-config \"{ " + settings + " }\"";
}

Error Delegate::load(const Network& network, const NamedDataMap* data) {
  if (!settings_.shared_weights.empty()) {
    auto weights = SharedWeights::load(settings_.shared_weights, data);
    ET_CHECK_OK_OR_RETURN_ERROR(weights.error());
    weights_ = std::move(*weights);
  }
  ET_CHECK_OK_OR_RETURN_ERROR(build(network));
  ET_CHECK_OK_OR_RETURN_ERROR(compile());
  NeuronExecution* execution = nullptr;
  ET_CHECK_OK_OR_RETURN_ERROR(answer(adapter_.execution_create(compilation_.get(), &execution),
                                     "NeuronExecution_create", kCompiling, kRefused));
  execution_.reset(execution);
  return read_sizes(network);
}

Error Delegate::build(const Network& network) {
  NeuronModel* model = nullptr;
  ET_CHECK_OK_OR_RETURN_ERROR(answer(adapter_.model_create(&model), "NeuronModel_create", kBuilding, kRefused));
  model_.reset(model);
  int32_t operand = 0, operation = 0;
  ET_CHECK_OK_OR_RETURN_ERROR(
      answer(adapter_.model_get_extension_operand_type(model, kCompiledNetwork, kNetworkOperand, &operand),
             "NeuronModel_getExtensionOperandType", kBuilding, kRefused));
  ET_CHECK_OK_OR_RETURN_ERROR(
      answer(adapter_.model_get_extension_operation_type(model, kCompiledNetwork, kNetworkOperation, &operation),
             "NeuronModel_getExtensionOperationType", kBuilding, kRefused));
  // The network defines the types of its tensors: these descriptions only count them.
  const OperandType any = {kTensorFloat32, 0, nullptr, 0.0f, 0};
  const OperandType restored = {operand, 0, nullptr, 0.0f, 0};
  const uint32_t inputs = network.inputs + (weights_ != nullptr ? 1 : 0);
  std::vector<uint32_t> operands(inputs + 1 + network.outputs);
  std::iota(operands.begin(), operands.end(), 0);
  for (const uint32_t index : operands) {
    ET_CHECK_OK_OR_RETURN_ERROR(answer(adapter_.model_add_operand(model, index == inputs ? &restored : &any),
                                       "NeuronModel_addOperand", kBuilding, kRefused));
  }
  ET_CHECK_OK_OR_RETURN_ERROR(answer(
      adapter_.model_set_operand_value(model, static_cast<int32_t>(inputs), network.bytes.data(), network.bytes.size()),
      "NeuronModel_setOperandValue", kBuilding, kRefused));
  const uint32_t* const results = operands.data() + inputs + 1;
  ET_CHECK_OK_OR_RETURN_ERROR(
      answer(adapter_.model_add_operation(model, operation, inputs + 1, operands.data(), network.outputs, results),
             "NeuronModel_addOperation", kBuilding, kRefused));
  ET_CHECK_OK_OR_RETURN_ERROR(
      answer(adapter_.model_identify_inputs_and_outputs(model, inputs, operands.data(), network.outputs, results),
             "NeuronModel_identifyInputsAndOutputs", kBuilding, kRefused));
  return answer(adapter_.model_finish(model), "NeuronModel_finish", kBuilding, kRefused);
}

Error Delegate::compile() {
  NeuronCompilation* compilation = nullptr;
  const std::string options = settings_.options();
  ET_CHECK_OK_OR_RETURN_ERROR(
      answer(adapter_.compilation_create_with_options(model_.get(), &compilation, options.c_str()),
             "NeuronCompilation_createWithOptions", kCompiling, kRefused));
  compilation_.reset(compilation);
  ET_CHECK_OK_OR_RETURN_ERROR(answer(adapter_.compilation_set_preference(compilation, kPreferTurboBoost),
                                     "NeuronCompilation_setPreference", kCompiling, kRefused));
  ET_CHECK_OK_OR_RETURN_ERROR(answer(adapter_.compilation_set_priority(compilation, kPriorityHigh),
                                     "NeuronCompilation_setPriority", kCompiling, kRefused));
  return answer(adapter_.compilation_finish(compilation), "NeuronCompilation_finish", kCompiling, kRefused);
}

Error Delegate::read_sizes(const Network& network) {
  inputs_.resize(network.inputs + (weights_ != nullptr ? 1 : 0));
  outputs_.resize(network.outputs);
  for (size_t i = 0; i < inputs_.size(); ++i) {
    ET_CHECK_OK_OR_RETURN_ERROR(answer(adapter_.compilation_get_input_padded_size(
                                           compilation_.get(), static_cast<int32_t>(i), &inputs_[i].padded_size),
                                       "NeuronCompilation_getInputPaddedSize", kCompiling, kRefused));
  }
  for (size_t i = 0; i < outputs_.size(); ++i) {
    ET_CHECK_OK_OR_RETURN_ERROR(answer(adapter_.compilation_get_output_padded_size(
                                           compilation_.get(), static_cast<int32_t>(i), &outputs_[i].padded_size),
                                       "NeuronCompilation_getOutputPaddedSize", kCompiling, kRefused));
  }
  return Error::Ok;
}

Error Delegate::execute(Span<EValue*> args) {
  const size_t inputs = inputs_.size() - (weights_ != nullptr ? 1 : 0);
  ET_CHECK_OK_OR_RETURN_ERROR(check_count(neuron_backend_key, args, inputs, outputs_.size()));
  for (size_t i = 0; i < args.size(); ++i) {
    const bool is_input = i < inputs;
    ET_CHECK_OK_OR_RETURN_ERROR(bind(is_input, is_input ? i : i - inputs, *args[i]));
  }
  ET_CHECK_OK_OR_RETURN_ERROR(bind_weights());
  return answer(adapter_.execution_compute(execution_.get()), "NeuronExecution_compute", "the network was run",
                Error::DelegateInvalidHandle);
}

Error Delegate::bind(bool is_input, size_t index, const EValue& value) {
  const Argument argument = {neuron_backend_key, is_input ? "input" : "output", index};
  ET_CHECK_OK_OR_RETURN_ERROR(check_is_tensor(argument, value));
  const auto& tensor = value.toTensor();
  ET_CHECK_OR_RETURN_ERROR(runtime::tensor_is_default_dim_order(tensor), InvalidArgument,
                           "%s: %s %zu of a delegate must be contiguous, it has another dim order", argument.backend,
                           argument.kind, index);
  Tensor& place = is_input ? inputs_[index] : outputs_[index];
  ET_CHECK_OR_RETURN_ERROR(place.padded_size == 0 || tensor.nbytes() <= place.padded_size, InvalidArgument,
                           "%s: %s %zu of a delegate has %zu bytes, its network expects at most %zu: export the "
                           "program again",
                           argument.backend, argument.kind, index, tensor.nbytes(), place.padded_size);
  const void* const data = tensor.const_data_ptr();
  return bind(is_input, index, data, tensor.nbytes(), BufferAllocator::GetInstance().Find(data));
}

Error Delegate::bind_weights() {
  return weights_ == nullptr ? Error::Ok
                             : bind(true, inputs_.size() - 1, weights_->data(), weights_->size(), weights_->unit());
}

Error Delegate::bind(bool is_input, size_t index, const void* data, size_t size,
                     std::shared_ptr<const MemoryUnit> unit) {
  Tensor& tensor = is_input ? inputs_[index] : outputs_[index];
  if (unit != nullptr && unit == tensor.unit && tensor.data == data && tensor.size == size) {
    return Error::Ok;  // imported memory stays bound
  }
  constexpr char kStep[] = "a tensor was bound";
  NeuronExecution* const execution = execution_.get();
  Error error = Error::Ok;
  if (unit != nullptr) {
    const auto offset =
        static_cast<size_t>(static_cast<const char*>(data) - static_cast<const char*>(unit->GetAddress()));
    ET_CHECK_OR_RETURN_ERROR(size <= unit->GetSize() - offset, InvalidArgument,
                             "%s: %s %zu of a delegate has %zu bytes at %zu of a buffer of %zu", neuron_backend_key,
                             is_input ? "input" : "output", index, size, offset, unit->GetSize());
    const auto place = static_cast<uint32_t>(index);
    error = is_input ? answer(adapter_.execution_set_input_from_memory(execution, place, nullptr,
                                                                       unit->GetNeuronMemory(), offset, size),
                              "NeuronExecution_setInputFromMemory", kStep, Error::DelegateInvalidHandle)
                     : answer(adapter_.execution_set_output_from_memory(execution, place, nullptr,
                                                                        unit->GetNeuronMemory(), offset, size),
                              "NeuronExecution_setOutputFromMemory", kStep, Error::DelegateInvalidHandle);
  } else {
    const auto place = static_cast<int32_t>(index);
    error = is_input ? answer(adapter_.execution_set_input(execution, place, nullptr, data, size),
                              "NeuronExecution_setInput", kStep, Error::DelegateInvalidHandle)
                     : answer(adapter_.execution_set_output(execution, place, nullptr, const_cast<void*>(data), size),
                              "NeuronExecution_setOutput", kStep, Error::DelegateInvalidHandle);
  }
  // After a failure it is unknown which tensors are bound, so the next call binds them again.
  tensor.unit = error == Error::Ok ? std::move(unit) : nullptr;
  tensor.data = data;
  tensor.size = size;
  return error;
}

}  // namespace neuron
}  // namespace backends
}  // namespace executorch
