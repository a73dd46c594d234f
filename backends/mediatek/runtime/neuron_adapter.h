// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file
 * The part of MediaTek's C interface that the delegate calls, loaded at run time. Nothing is linked and none of
 * MediaTek's headers is included: these are our own declarations, after these public ones:
 *
 * - Chromium OS, chromiumos/platform/tflite, delegate/mtk_neuron (MIT): neuron_types.h, neuron_implementation.h; the
 *   order of preferences is that of MtkNeuronSettings in its patch 0011-mtk-neuron.patch;
 * - TensorFlow, lite/experimental/litert/vendors/mediatek/neuron_adapter.h (Apache 2.0);
 * - ExecuTorch, backends/mediatek/runtime (BSD): the extension that restores a compiled network.
 *
 * OperandType is the only structure whose layout must equal the adapter's.
 */
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include <executorch/extension/delegate/shared_library.h>
#include <executorch/runtime/core/error.h>
#include <executorch/runtime/core/result.h>

struct AHardwareBuffer;

namespace executorch {
namespace backends {
namespace neuron {

// Opaque objects of MediaTek.
struct NeuronModel;
struct NeuronCompilation;
struct NeuronExecution;
struct NeuronMemory;

/// NeuronOperandType of neuron_adapter.h, which is ANeuralNetworksOperandType of Android's NDK reference.
struct OperandType {
  int32_t type;
  uint32_t dimension_count;
  const uint32_t* dimensions;
  float scale;
  int32_t zero_point;
};
static_assert(sizeof(void*) != 8 || (sizeof(OperandType) == 24 && offsetof(OperandType, dimensions) == 8 &&
                                     offsetof(OperandType, scale) == 16 && offsetof(OperandType, zero_point) == 20),
              "the layout of the interface");

constexpr int kOutOfMemory = 1;
constexpr int32_t kTensorFloat32 = 3;
constexpr int32_t kPreferTurboBoost = 3;
constexpr int kPriorityHigh = 110;

// The extension whose one operation is a compiled network: its operands are the inputs, the network and the outputs.
constexpr char kCompiledNetwork[] = "com.mediatek.compiled_network";
constexpr uint16_t kNetworkOperand = 0x0100;
constexpr uint16_t kNetworkOperation = 0;

/// The functions of the adapter. A return value of 0 is success.
struct Adapter {
  int (*model_create)(NeuronModel**);
  void (*model_free)(NeuronModel*);
  int (*model_finish)(NeuronModel*);
  int (*model_add_operand)(NeuronModel*, const OperandType*);
  int (*model_set_operand_value)(NeuronModel*, int32_t index, const void* data, size_t size);
  int (*model_add_operation)(NeuronModel*, int32_t type, uint32_t input_count, const uint32_t* inputs,
                             uint32_t output_count, const uint32_t* outputs);
  int (*model_identify_inputs_and_outputs)(NeuronModel*, uint32_t input_count, const uint32_t* inputs,
                                           uint32_t output_count, const uint32_t* outputs);
  int (*model_get_extension_operand_type)(NeuronModel*, const char* extension, uint16_t code, int32_t* type);
  int (*model_get_extension_operation_type)(NeuronModel*, const char* extension, uint16_t code, int32_t* type);
  int (*compilation_create_with_options)(NeuronModel*, NeuronCompilation**, const char* options);
  void (*compilation_free)(NeuronCompilation*);
  int (*compilation_set_preference)(NeuronCompilation*, int32_t preference);
  int (*compilation_set_priority)(NeuronCompilation*, int priority);
  int (*compilation_finish)(NeuronCompilation*);
  int (*compilation_get_input_padded_size)(NeuronCompilation*, int32_t index, size_t* size);
  int (*compilation_get_output_padded_size)(NeuronCompilation*, int32_t index, size_t* size);
  int (*execution_create)(NeuronCompilation*, NeuronExecution**);
  void (*execution_free)(NeuronExecution*);
  int (*execution_set_input)(NeuronExecution*, int32_t index, const OperandType*, const void* data, size_t size);
  int (*execution_set_output)(NeuronExecution*, int32_t index, const OperandType*, void* data, size_t size);
  int (*execution_set_input_from_memory)(NeuronExecution*, uint32_t index, const OperandType*, const NeuronMemory*,
                                         size_t offset, size_t size);
  int (*execution_set_output_from_memory)(NeuronExecution*, uint32_t index, const OperandType*, const NeuronMemory*,
                                          size_t offset, size_t size);
  int (*execution_compute)(NeuronExecution*);
  int (*memory_create_from_hardware_buffer)(const AHardwareBuffer*, NeuronMemory**);
  void (*memory_free)(NeuronMemory*);
};

/**
 * The functions, loaded by the first call that finds them; never unloaded.
 *
 * @retval Error::NotFound (logged in one line, which says what to install or set) there is no adapter.
 * @retval Error::NotSupported (logged) it lacks a function.
 */
runtime::Result<const Adapter*> adapter();

/// Error::Ok for the code 0. Otherwise logs the function, its code and the step, and returns MemoryAllocationFailed for
/// the adapter's code of failed allocations, else `error`.
inline runtime::Error answer(int code, const char* function, const char* step, runtime::Error error) {
  return extension::delegate::check_call("MediaTek", code, function, step,
                                         code == kOutOfMemory ? runtime::Error::MemoryAllocationFailed : error);
}

}  // namespace neuron
}  // namespace backends
}  // namespace executorch
