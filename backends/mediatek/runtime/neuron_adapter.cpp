// SPDX-License-Identifier: BSD-3-Clause
#include "neuron_adapter.h"

#include <mutex>

#include <executorch/extension/delegate/shared_library.h>
#include <executorch/runtime/platform/log.h>

#include "NeuronBackend.h"

namespace executorch {
namespace backends {
namespace neuron {

using extension::delegate::SharedLibrary;
using runtime::Error;
using runtime::Result;

Result<const Adapter*> adapter() {
  static std::mutex mutex;
  static Adapter functions;
  static bool is_loaded = false;
  const std::lock_guard<std::mutex> lock(mutex);
  if (is_loaded) {
    return &functions;
  }
  Adapter& f = functions;
  SharedLibrary library = SharedLibrary::open(
      {"MediaTek's Neuron adapter",
       {"libneuronusdk_adapter.mtk.so", "libneuron_adapter_mgvi.so", "libneuron_adapter.so"},
       neuron_library_variable,
       "it is on devices with a Dimensity 9300 or later, whose app names it in uses-native-library, or put the adapter "
       "of the NeuroPilot Express SDK into the app; docs/backends-mediatek.md"},
      {
          {"NeuronModel_create", &f.model_create},
          {"NeuronModel_free", &f.model_free},
          {"NeuronModel_finish", &f.model_finish},
          {"NeuronModel_addOperand", &f.model_add_operand},
          {"NeuronModel_setOperandValue", &f.model_set_operand_value},
          {"NeuronModel_addOperation", &f.model_add_operation},
          {"NeuronModel_identifyInputsAndOutputs", &f.model_identify_inputs_and_outputs},
          {"NeuronModel_getExtensionOperandType", &f.model_get_extension_operand_type},
          {"NeuronModel_getExtensionOperationType", &f.model_get_extension_operation_type},
          {"NeuronCompilation_createWithOptions", &f.compilation_create_with_options},
          {"NeuronCompilation_free", &f.compilation_free},
          {"NeuronCompilation_setPreference", &f.compilation_set_preference},
          {"NeuronCompilation_setPriority", &f.compilation_set_priority},
          {"NeuronCompilation_finish", &f.compilation_finish},
          {"NeuronCompilation_getInputPaddedSize", &f.compilation_get_input_padded_size},
          {"NeuronCompilation_getOutputPaddedSize", &f.compilation_get_output_padded_size},
          {"NeuronExecution_create", &f.execution_create},
          {"NeuronExecution_free", &f.execution_free},
          {"NeuronExecution_setInput", &f.execution_set_input},
          {"NeuronExecution_setOutput", &f.execution_set_output},
          {"NeuronExecution_setInputFromMemory", &f.execution_set_input_from_memory},
          {"NeuronExecution_setOutputFromMemory", &f.execution_set_output_from_memory},
          {"NeuronExecution_compute", &f.execution_compute},
          {"NeuronMemory_createFromAHardwareBuffer", &f.memory_create_from_hardware_buffer},
          {"NeuronMemory_free", &f.memory_free},
      });
  if (library.error() != Error::Ok) {
    ET_LOG(Error, "%s", library.problem().c_str());
    return library.error();
  }
  library.keep();
  is_loaded = true;
  return &functions;
}

Error answer(int code, const char* function, const char* step, Error error) {
  if (code == kNoError) {
    return Error::Ok;
  }
  ET_LOG(Error, "MediaTek: %s failed with the code %d while %s", function, code, step);
  return error;
}

}  // namespace neuron
}  // namespace backends
}  // namespace executorch
