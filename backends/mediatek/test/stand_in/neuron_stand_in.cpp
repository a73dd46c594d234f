// SPDX-License-Identifier: BSD-3-Clause
// Replaces MediaTek's adapter and Android's hardware buffers in tests: the same C functions, which compute reference
// payloads on the CPU.
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "reference_graph.h"
#include "stand_in.h"

using executorch::extension::delegate::ReferenceGraph;
using stand_in::fails;
using stand_in::kFailure;
using stand_in::Living;

namespace {

constexpr int kOutOfMemory = 1;
constexpr int kBadData = 4;
constexpr int32_t kOperandType = 9001;
constexpr int32_t kOperationType = 9002;
constexpr char kExtension[] = "com.mediatek.compiled_network";
constexpr size_t kPage = 4096;

/// The number of times that a tensor was bound.
std::atomic<int> bound{0};

}  // namespace

struct AHardwareBuffer : Living {
  explicit AHardwareBuffer(size_t bytes)
      : size(bytes), data(std::aligned_alloc(kPage, (bytes + kPage - 1) / kPage * kPage)) {}
  ~AHardwareBuffer() { std::free(data); }
  size_t size;
  void* data;
  bool is_locked = false;
};

struct NeuronMemory : Living {
  explicit NeuronMemory(const AHardwareBuffer* buffer) : buffer(buffer) {}
  const AHardwareBuffer* buffer;
};

struct OperandType {
  int32_t type;
  uint32_t dimension_count;
  const uint32_t* dimensions;
  float scale;
  int32_t zero_point;
};

struct NeuronModel : Living {
  std::vector<int32_t> operands;
  const uint8_t* network = nullptr;
  size_t size = 0;
  std::vector<uint32_t> inputs, outputs;
  bool has_operation = false;
  bool is_finished = false;
};

struct NeuronCompilation : Living {
  explicit NeuronCompilation(const NeuronModel& model, std::string options)
      : model(model), options(std::move(options)) {}
  const NeuronModel& model;
  std::string options;
  std::optional<ReferenceGraph> graph;
  /// Whether the last input has the constants.
  bool shares() const { return !graph->key().empty(); }
};

struct NeuronExecution : Living {
  explicit NeuronExecution(const NeuronCompilation& compilation)
      : compilation(compilation), inputs(compilation.model.inputs.size()), outputs(compilation.model.outputs.size()) {}
  struct Place {
    uint8_t* data = nullptr;
    size_t size = 0;
  };
  const NeuronCompilation& compilation;
  std::vector<Place> inputs, outputs;
};

EXPORT int stand_in_bound() {
  return bound;
}
/// The options of the last compilation that had options.
static std::string last_options;
EXPORT const char* stand_in_options() {
  return last_options.c_str();
}

// --- the model ---

EXPORT int NeuronModel_create(NeuronModel** model) {
  if (fails()) {
    return kFailure;
  }
  *model = new NeuronModel;
  return 0;
}
EXPORT void NeuronModel_free(NeuronModel* model) {
  delete model;
}
EXPORT int NeuronModel_getExtensionOperandType(NeuronModel*, const char* extension, uint16_t code, int32_t* type) {
  if (fails() || std::strcmp(extension, kExtension) != 0 || code != 0x0100) {
    return kFailure;
  }
  *type = kOperandType;
  return 0;
}
EXPORT int NeuronModel_getExtensionOperationType(NeuronModel*, const char* extension, uint16_t code, int32_t* type) {
  if (fails() || std::strcmp(extension, kExtension) != 0 || code != 0) {
    return kFailure;
  }
  *type = kOperationType;
  return 0;
}
EXPORT int NeuronModel_addOperand(NeuronModel* model, const OperandType* type) {
  if (fails() || type->dimension_count != 0) {
    return kFailure;
  }
  model->operands.push_back(type->type);
  return 0;
}
EXPORT int NeuronModel_setOperandValue(NeuronModel* model, int32_t index, const void* data, size_t size) {
  if (fails() || model->operands.at(static_cast<size_t>(index)) != kOperandType) {
    return kFailure;
  }
  model->network = static_cast<const uint8_t*>(data);
  model->size = size;
  return 0;
}
EXPORT int NeuronModel_addOperation(NeuronModel* model, int32_t type, uint32_t input_count, const uint32_t* inputs,
                                    uint32_t output_count, const uint32_t*) {
  if (fails() || type != kOperationType || model->operands.size() != input_count + output_count ||
      model->operands.at(inputs[input_count - 1]) != kOperandType) {
    return kFailure;
  }
  model->has_operation = true;
  return 0;
}
EXPORT int NeuronModel_identifyInputsAndOutputs(NeuronModel* model, uint32_t input_count, const uint32_t* inputs,
                                                uint32_t output_count, const uint32_t* outputs) {
  if (fails()) {
    return kFailure;
  }
  model->inputs.assign(inputs, inputs + input_count);
  model->outputs.assign(outputs, outputs + output_count);
  return 0;
}
EXPORT int NeuronModel_finish(NeuronModel* model) {
  if (fails() || !model->has_operation || model->network == nullptr) {
    return kFailure;
  }
  model->is_finished = true;
  return 0;
}

// --- the compilation ---

EXPORT int NeuronCompilation_createWithOptions(NeuronModel* model, NeuronCompilation** compilation,
                                               const char* options) {
  if (fails() || !model->is_finished) {
    return kFailure;
  }
  last_options = options;
  *compilation = new NeuronCompilation(*model, options);
  return 0;
}
EXPORT void NeuronCompilation_free(NeuronCompilation* compilation) {
  delete compilation;
}
EXPORT int NeuronCompilation_setPreference(NeuronCompilation*, int32_t preference) {
  return fails() || preference != 3 ? kFailure : 0;
}
EXPORT int NeuronCompilation_setPriority(NeuronCompilation*, int priority) {
  return fails() || priority != 110 ? kFailure : 0;
}
EXPORT int NeuronCompilation_finish(NeuronCompilation* compilation) {
  if (fails()) {
    return kFailure;
  }
  const NeuronModel& model = compilation->model;
  try {
    compilation->graph.emplace(model.network, model.size);
  } catch (const std::bad_alloc&) {
    return kOutOfMemory;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "stand-in of the Neuron adapter: %s\n", error.what());
    return kBadData;
  }
  const size_t inputs = compilation->graph->input_count() + (compilation->shares() ? 1 : 0);
  return inputs == model.inputs.size() && compilation->graph->output_count() == model.outputs.size() ? 0 : kBadData;
}
EXPORT int NeuronCompilation_getInputPaddedSize(NeuronCompilation* compilation, int32_t index, size_t* size) {
  if (fails()) {
    return kFailure;
  }
  const auto place = static_cast<size_t>(index);
  *size = place < compilation->graph->input_count() ? compilation->graph->input(place).bytes() : 0;
  return 0;
}
EXPORT int NeuronCompilation_getOutputPaddedSize(NeuronCompilation* compilation, int32_t index, size_t* size) {
  if (fails()) {
    return kFailure;
  }
  *size = compilation->graph->output(static_cast<size_t>(index)).bytes();
  return 0;
}

// --- the execution ---

EXPORT int NeuronExecution_create(NeuronCompilation* compilation, NeuronExecution** execution) {
  if (fails()) {
    return kFailure;
  }
  *execution = new NeuronExecution(*compilation);
  return 0;
}
EXPORT void NeuronExecution_free(NeuronExecution* execution) {
  delete execution;
}

static int bind(std::vector<NeuronExecution::Place>& places, size_t index, const void* data, size_t size) {
  if (fails() || index >= places.size()) {
    return kFailure;
  }
  ++bound;
  places[index] = {static_cast<uint8_t*>(const_cast<void*>(data)), size};
  return 0;
}
static int bind(std::vector<NeuronExecution::Place>& places, size_t index, const NeuronMemory* memory, size_t offset,
                size_t size) {
  if (offset > memory->buffer->size || size > memory->buffer->size - offset || !memory->buffer->is_locked) {
    return kFailure;
  }
  return bind(places, index, static_cast<const uint8_t*>(memory->buffer->data) + offset, size);
}

EXPORT int NeuronExecution_setInput(NeuronExecution* execution, int32_t index, const OperandType*, const void* data,
                                    size_t size) {
  return bind(execution->inputs, static_cast<size_t>(index), data, size);
}
EXPORT int NeuronExecution_setOutput(NeuronExecution* execution, int32_t index, const OperandType*, void* data,
                                     size_t size) {
  return bind(execution->outputs, static_cast<size_t>(index), data, size);
}
EXPORT int NeuronExecution_setInputFromMemory(NeuronExecution* execution, uint32_t index, const OperandType*,
                                              const NeuronMemory* memory, size_t offset, size_t size) {
  return bind(execution->inputs, index, memory, offset, size);
}
EXPORT int NeuronExecution_setOutputFromMemory(NeuronExecution* execution, uint32_t index, const OperandType*,
                                               const NeuronMemory* memory, size_t offset, size_t size) {
  return bind(execution->outputs, index, memory, offset, size);
}
EXPORT int NeuronExecution_compute(NeuronExecution* execution) {
  if (fails()) {
    return kFailure;
  }
  const ReferenceGraph& graph = *execution->compilation.graph;
  std::vector<const void*> inputs;
  std::vector<void*> outputs;
  for (size_t i = 0; i < graph.input_count(); ++i) {
    if (execution->inputs[i].size != graph.input(i).bytes()) {
      return kBadData;
    }
    inputs.push_back(execution->inputs[i].data);
  }
  for (size_t i = 0; i < graph.output_count(); ++i) {
    if (execution->outputs[i].size != graph.output(i).bytes()) {
      return kBadData;
    }
    outputs.push_back(execution->outputs[i].data);
  }
  const bool shares = execution->compilation.shares();
  try {
    graph.run(inputs, outputs, shares ? execution->inputs.back().data : nullptr,
              shares ? execution->inputs.back().size : 0);
  } catch (const std::bad_alloc&) {
    return kOutOfMemory;
  } catch (const std::exception&) {
    return kBadData;
  }
  return 0;
}

// --- memory ---

EXPORT int NeuronMemory_createFromAHardwareBuffer(const AHardwareBuffer* buffer, NeuronMemory** memory) {
  if (fails()) {
    return kFailure;
  }
  *memory = new NeuronMemory(buffer);
  return 0;
}
EXPORT void NeuronMemory_free(NeuronMemory* memory) {
  delete memory;
}

EXPORT int AHardwareBuffer_allocate(const uint32_t* description, AHardwareBuffer** buffer) {
  if (fails()) {
    return kFailure;
  }
  *buffer = new AHardwareBuffer(description[0]);
  return 0;
}
EXPORT void AHardwareBuffer_release(AHardwareBuffer* buffer) {
  delete buffer;
}
EXPORT int AHardwareBuffer_lock(AHardwareBuffer* buffer, uint64_t, int32_t, const void*, void** address) {
  if (fails()) {
    return kFailure;
  }
  buffer->is_locked = true;
  *address = buffer->data;
  return 0;
}
EXPORT int AHardwareBuffer_unlock(AHardwareBuffer* buffer, int32_t*) {
  buffer->is_locked = false;
  return 0;
}
