// SPDX-License-Identifier: BSD-3-Clause
#include "neuron_adapter.h"

#include <vector>

#include <executorch/extension/delegate/shared_library.h>

#include "NeuronBackend.h"

namespace executorch {
namespace backends {
namespace neuron {

using extension::delegate::LibrarySearch;
using extension::delegate::load_once;
using extension::delegate::Symbol;
using runtime::Result;

namespace {

LibrarySearch search() {
  return {"MediaTek's Neuron adapter",
          {"libneuronusdk_adapter.mtk.so", "libneuron_adapter_mgvi.so", "libneuron_adapter.so"},
          neuron_library_variable,
          "it is on devices with a Dimensity 9300 or later, whose app names it in uses-native-library, or put the "
          "adapter of the NeuroPilot Express SDK into the app; docs/backends-mediatek.md"};
}

std::vector<Symbol> symbols(Adapter& to) {
  return {
      {"NeuronModel_create", &to.model_create},
      {"NeuronModel_free", &to.model_free},
      {"NeuronModel_finish", &to.model_finish},
      {"NeuronModel_addOperand", &to.model_add_operand},
      {"NeuronModel_setOperandValue", &to.model_set_operand_value},
      {"NeuronModel_addOperation", &to.model_add_operation},
      {"NeuronModel_identifyInputsAndOutputs", &to.model_identify_inputs_and_outputs},
      {"NeuronModel_getExtensionOperandType", &to.model_get_extension_operand_type},
      {"NeuronModel_getExtensionOperationType", &to.model_get_extension_operation_type},
      {"NeuronCompilation_createWithOptions", &to.compilation_create_with_options},
      {"NeuronCompilation_free", &to.compilation_free},
      {"NeuronCompilation_setPreference", &to.compilation_set_preference},
      {"NeuronCompilation_setPriority", &to.compilation_set_priority},
      {"NeuronCompilation_finish", &to.compilation_finish},
      {"NeuronCompilation_getInputPaddedSize", &to.compilation_get_input_padded_size},
      {"NeuronCompilation_getOutputPaddedSize", &to.compilation_get_output_padded_size},
      {"NeuronExecution_create", &to.execution_create},
      {"NeuronExecution_free", &to.execution_free},
      {"NeuronExecution_setInput", &to.execution_set_input},
      {"NeuronExecution_setOutput", &to.execution_set_output},
      {"NeuronExecution_setInputFromMemory", &to.execution_set_input_from_memory},
      {"NeuronExecution_setOutputFromMemory", &to.execution_set_output_from_memory},
      {"NeuronExecution_compute", &to.execution_compute},
      {"NeuronMemory_createFromAHardwareBuffer", &to.memory_create_from_hardware_buffer},
      {"NeuronMemory_free", &to.memory_free},
  };
}

}  // namespace

Result<const Adapter*> adapter() {
  return load_once<Adapter>(search, symbols);
}

}  // namespace neuron
}  // namespace backends
}  // namespace executorch
