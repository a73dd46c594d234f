// SPDX-License-Identifier: BSD-3-Clause
// Replaces Qualcomm's libraries libQnnHtp.so and libQnnSystem.so in tests: the functions of both interfaces, which
// compute reference payloads on the CPU.
#include <QnnInterface.h>
#include <System/QnnSystemInterface.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <list>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "graphs.h"
#include "reference_graph.h"
#include "rpcmem.h"
#include "stand_in.h"

using executorch::extension::delegate::ReferenceGraph;
using executorch::extension::delegate::ReferenceType;
using executorch::extension::delegate::ReferenceValue;
using stand_in::fails;
using stand_in::Graphs;
using stand_in::kFailure;
using stand_in::Living;
using stand_in::NamedGraph;

namespace {

constexpr Qnn_ErrorHandle_t kInvalid = 5000;
/// Bits above the code, as Qualcomm's libraries have.
constexpr Qnn_ErrorHandle_t kPlace = uint64_t{1} << 32;

struct Backend : Living {};
struct Device : Living {};

struct Context : Living {
  Context(const void* binary, size_t size) : graphs(static_cast<const uint8_t*>(binary), size) {}
  Graphs graphs;
};

/// The inputs and outputs of a graph.
struct Tensors {
  std::vector<std::string> names;
  std::vector<std::vector<uint32_t>> sizes;
  std::vector<Qnn_Tensor_t> inputs, outputs;
};

/// The contents of a binary, until it is freed.
struct Description : Living {
  std::unique_ptr<Graphs> graphs;
  std::list<Tensors> tensors;
  std::vector<QnnSystemContext_GraphInfo_t> infos;
  QnnSystemContext_BinaryInfo_t binary = {};
};

/// Memory that is registered in a context.
struct Memory : Living {
  void* data = nullptr;
  size_t size = 0;
};

std::atomic<int> contexts{0};
std::atomic<int> registrations{0};
/// Set by tests: whether deviceCreate() fails; the minor version of the providers; the version of tensors.
std::atomic<int> without_devices{0};
std::atomic<int> minor_version{QNN_API_VERSION_MINOR};
std::atomic<int> tensor_version{1};

Qnn_DataType_t type_of(ReferenceType type) {
  switch (type) {
    case ReferenceType::Bool:
      return QNN_DATATYPE_BOOL_8;
    case ReferenceType::Byte:
      return QNN_DATATYPE_UINT_8;
    case ReferenceType::Char:
      return QNN_DATATYPE_INT_8;
    case ReferenceType::Short:
      return QNN_DATATYPE_INT_16;
    case ReferenceType::Int:
      return QNN_DATATYPE_INT_32;
    case ReferenceType::Long:
      return QNN_DATATYPE_INT_64;
    case ReferenceType::Half:
      return QNN_DATATYPE_FLOAT_16;
    case ReferenceType::Float:
      break;
  }
  return QNN_DATATYPE_FLOAT_32;
}

template <typename Tensor>
void describe(Tensor& tensor, const std::string& name, Qnn_DataType_t type, std::vector<uint32_t>& sizes) {
  tensor.name = name.c_str();
  tensor.dataType = type;
  tensor.rank = static_cast<uint32_t>(sizes.size());
  tensor.dimensions = sizes.data();
}

void add(Tensors& to, const ReferenceValue& value, const std::string& name, std::vector<Qnn_Tensor_t>& tensors) {
  to.names.push_back(name);
  to.sizes.emplace_back(value.shape.begin(), value.shape.end());
  Qnn_Tensor_t tensor = {};
  if (tensor_version == 1) {
    tensor.version = QNN_TENSOR_VERSION_1;
    describe(tensor.v1, to.names.back(), type_of(value.type), to.sizes.back());
  } else {
    tensor.version = QNN_TENSOR_VERSION_2;
    describe(tensor.v2, to.names.back(), type_of(value.type), to.sizes.back());
  }
  tensors.push_back(tensor);
}

// --- the library of the processor ---

Qnn_ErrorHandle_t backend_create(Qnn_LogHandle_t, const QnnBackend_Config_t**, Qnn_BackendHandle_t* backend) {
  if (fails()) {
    return kPlace | kFailure;
  }
  *backend = new Backend;
  return QNN_SUCCESS;
}
// Functions that end something do so in any case.
Qnn_ErrorHandle_t backend_free(Qnn_BackendHandle_t backend) {
  delete static_cast<Backend*>(backend);
  return fails() ? kFailure : QNN_SUCCESS;
}
Qnn_ErrorHandle_t device_create(Qnn_LogHandle_t, const QnnDevice_Config_t**, Qnn_DeviceHandle_t* device) {
  if (without_devices != 0) {
    return QNN_DEVICE_ERROR_UNSUPPORTED_FEATURE;
  }
  if (fails()) {
    return kFailure;
  }
  *device = new Device;
  return QNN_SUCCESS;
}
Qnn_ErrorHandle_t device_free(Qnn_DeviceHandle_t device) {
  delete static_cast<Device*>(device);
  return fails() ? kFailure : QNN_SUCCESS;
}
Qnn_ErrorHandle_t context_create(Qnn_BackendHandle_t backend, Qnn_DeviceHandle_t device, const QnnContext_Config_t**,
                                 const void* binary, Qnn_ContextBinarySize_t size, Qnn_ContextHandle_t* context,
                                 Qnn_ProfileHandle_t) {
  if (fails() || backend == nullptr || (device == nullptr) != (without_devices != 0)) {
    return kFailure;
  }
  try {
    *context = new Context(binary, size);
  } catch (const std::bad_alloc&) {
    return QNN_COMMON_ERROR_MEM_ALLOC;
  } catch (const std::exception&) {
    return kInvalid;
  }
  ++contexts;
  return QNN_SUCCESS;
}
Qnn_ErrorHandle_t context_free(Qnn_ContextHandle_t context, Qnn_ProfileHandle_t) {
  delete static_cast<Context*>(context);
  return fails() ? kFailure : QNN_SUCCESS;
}
Qnn_ErrorHandle_t graph_retrieve(Qnn_ContextHandle_t context, const char* name, Qnn_GraphHandle_t* graph) {
  const NamedGraph* const found = static_cast<Context*>(context)->graphs.find(name);
  if (fails() || found == nullptr) {
    return kFailure;
  }
  *graph = const_cast<NamedGraph*>(found);
  return QNN_SUCCESS;
}

size_t size_of(Qnn_DataType_t type) {
  switch (type) {
    case QNN_DATATYPE_INT_64:
    case QNN_DATATYPE_FLOAT_64:
      return 8;
    case QNN_DATATYPE_INT_32:
    case QNN_DATATYPE_FLOAT_32:
    case QNN_DATATYPE_SFIXED_POINT_32:
      return 4;
    case QNN_DATATYPE_INT_16:
    case QNN_DATATYPE_UINT_16:
    case QNN_DATATYPE_FLOAT_16:
    case QNN_DATATYPE_SFIXED_POINT_16:
    case QNN_DATATYPE_UFIXED_POINT_16:
      return 2;
    default:
      return 1;
  }
}

Qnn_ErrorHandle_t mem_register(Qnn_ContextHandle_t context, const Qnn_MemDescriptor_t* descriptors, uint32_t count,
                               Qnn_MemHandle_t* handles) {
  if (fails() || context == nullptr || count != 1 || descriptors[0].memType != QNN_MEM_TYPE_ION) {
    return kFailure;
  }
  void* const data = stand_in::shared_memory(descriptors[0].ionInfo.fd);
  if (data == nullptr) {
    return kFailure;
  }
  auto* const memory = new Memory;
  memory->data = data;
  memory->size = size_of(descriptors[0].dataType);
  for (uint32_t i = 0; i < descriptors[0].memShape.numDim; ++i) {
    memory->size *= descriptors[0].memShape.dimSize[i];
  }
  handles[0] = memory;
  ++registrations;
  return QNN_SUCCESS;
}
Qnn_ErrorHandle_t mem_unregister(const Qnn_MemHandle_t* handles, uint32_t count) {
  for (uint32_t i = 0; i < count; ++i) {
    delete static_cast<Memory*>(handles[i]);
  }
  return fails() ? kFailure : QNN_SUCCESS;
}

template <typename Tensor>
Qnn_ClientBuffer_t buffer_in(const Tensor& tensor) {
  if (tensor.memType == QNN_TENSORMEMTYPE_RAW) {
    return tensor.clientBuf;
  }
  const Memory& memory = *static_cast<const Memory*>(tensor.memHandle);
  return {memory.data, static_cast<uint32_t>(memory.size)};
}
Qnn_ClientBuffer_t buffer_of(const Qnn_Tensor_t& tensor) {
  return tensor.version == QNN_TENSOR_VERSION_1 ? buffer_in(tensor.v1) : buffer_in(tensor.v2);
}

Qnn_ErrorHandle_t graph_execute(Qnn_GraphHandle_t handle, const Qnn_Tensor_t* inputs, uint32_t input_count,
                                Qnn_Tensor_t* outputs, uint32_t output_count, Qnn_ProfileHandle_t, Qnn_SignalHandle_t) {
  const NamedGraph& named = *static_cast<const NamedGraph*>(handle);
  const ReferenceGraph& graph = named.graph;
  if (fails() || input_count != graph.input_count() || output_count != graph.output_count()) {
    return kFailure;
  }
  std::vector<const void*> given;
  std::vector<void*> made;
  for (uint32_t i = 0; i < input_count; ++i) {
    if (buffer_of(inputs[i]).dataSize != graph.input(i).bytes()) {
      return kInvalid;
    }
    given.push_back(buffer_of(inputs[i]).data);
  }
  for (uint32_t i = 0; i < output_count; ++i) {
    if (buffer_of(outputs[i]).dataSize != graph.output(i).bytes()) {
      return kInvalid;
    }
    made.push_back(buffer_of(outputs[i]).data);
  }
  try {
    named.run(given, made);
  } catch (const std::bad_alloc&) {
    return QNN_COMMON_ERROR_MEM_ALLOC;
  } catch (const std::exception&) {
    return kInvalid;
  }
  return QNN_SUCCESS;
}
Qnn_ErrorHandle_t error_message(Qnn_ErrorHandle_t error, const char** message) {
  if ((error & 0xFFFF) != kInvalid) {
    return kFailure;
  }
  *message = "the binary is not of this release";
  return QNN_SUCCESS;
}

// --- the system library ---

Qnn_ErrorHandle_t system_create(QnnSystemContext_Handle_t* handle) {
  if (fails()) {
    return kFailure;
  }
  *handle = new Description;
  return QNN_SUCCESS;
}
void describe(const NamedGraph& named, Tensors& tensors, QnnSystemContext_GraphInfo_t& info) {
  const ReferenceGraph& graph = named.graph;
  const size_t count = graph.input_count() + graph.output_count();
  tensors.names.reserve(count);
  tensors.sizes.reserve(count);
  for (size_t i = 0; i < graph.input_count(); ++i) {
    add(tensors, graph.input(i), "input_" + std::to_string(i), tensors.inputs);
  }
  for (size_t i = 0; i < graph.output_count(); ++i) {
    add(tensors, graph.output(i), "output_" + std::to_string(i), tensors.outputs);
  }
  info.version = QNN_SYSTEM_CONTEXT_GRAPH_INFO_VERSION_1;
  info.graphInfoV1.graphName = named.name.c_str();
  info.graphInfoV1.numGraphInputs = static_cast<uint32_t>(tensors.inputs.size());
  info.graphInfoV1.graphInputs = tensors.inputs.data();
  info.graphInfoV1.numGraphOutputs = static_cast<uint32_t>(tensors.outputs.size());
  info.graphInfoV1.graphOutputs = tensors.outputs.data();
}
Qnn_ErrorHandle_t system_read(QnnSystemContext_Handle_t handle, void* binary, uint64_t size,
                              const QnnSystemContext_BinaryInfo_t** info, Qnn_ContextBinarySize_t*) {
  if (fails()) {
    return kFailure;
  }
  Description& found = *static_cast<Description*>(handle);
  try {
    found.graphs = std::make_unique<Graphs>(static_cast<const uint8_t*>(binary), size);
    for (const NamedGraph& named : found.graphs->all()) {
      describe(named, found.tensors.emplace_back(), found.infos.emplace_back());
    }
  } catch (const std::bad_alloc&) {
    return QNN_COMMON_ERROR_MEM_ALLOC;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "stand-in of Qualcomm's library: %s\n", error.what());
    return kInvalid;
  }
  found.binary.version = QNN_SYSTEM_CONTEXT_BINARY_INFO_VERSION_1;
  found.binary.contextBinaryInfoV1.numGraphs = static_cast<uint32_t>(found.infos.size());
  found.binary.contextBinaryInfoV1.graphs = found.infos.data();
  *info = &found.binary;
  return QNN_SUCCESS;
}
Qnn_ErrorHandle_t system_free(QnnSystemContext_Handle_t handle) {
  delete static_cast<Description*>(handle);
  return fails() ? kFailure : QNN_SUCCESS;
}

}  // namespace

EXPORT int stand_in_registrations() {
  return registrations;
}
EXPORT int stand_in_contexts() {
  return contexts;
}
EXPORT void stand_in_without_devices(int value) {
  without_devices = value;
}
EXPORT void stand_in_minor_version(int value) {
  minor_version = value;
}
EXPORT void stand_in_tensor_version(int value) {
  tensor_version = value;
}

EXPORT Qnn_ErrorHandle_t QnnInterface_getProviders(const QnnInterface_t*** providers, uint32_t* count) {
  static QnnInterface_t provider;
  static const QnnInterface_t* all[] = {&provider};
  provider.providerName = "a stand-in";
  provider.apiVersion.coreApiVersion.major = QNN_API_VERSION_MAJOR;
  provider.apiVersion.coreApiVersion.minor = static_cast<uint32_t>(minor_version);
  QNN_INTERFACE_VER_TYPE& functions = provider.QNN_INTERFACE_VER_NAME;
  functions.backendCreate = backend_create;
  functions.backendFree = backend_free;
  functions.deviceCreate = device_create;
  functions.deviceFree = device_free;
  functions.contextCreateFromBinary = context_create;
  functions.contextFree = context_free;
  functions.graphRetrieve = graph_retrieve;
  functions.graphExecute = graph_execute;
  functions.memRegister = mem_register;
  functions.memDeRegister = mem_unregister;
  functions.errorGetMessage = error_message;
  *providers = all;
  *count = 1;
  return QNN_SUCCESS;
}

EXPORT Qnn_ErrorHandle_t QnnSystemInterface_getProviders(const QnnSystemInterface_t*** providers, uint32_t* count) {
  static QnnSystemInterface_t provider;
  static const QnnSystemInterface_t* all[] = {&provider};
  provider.providerName = "a stand-in";
  provider.systemApiVersion.major = QNN_SYSTEM_API_VERSION_MAJOR;
  provider.systemApiVersion.minor = QNN_SYSTEM_API_VERSION_MINOR;
  QNN_SYSTEM_INTERFACE_VER_TYPE& functions = provider.QNN_SYSTEM_INTERFACE_VER_NAME;
  functions.systemContextCreate = system_create;
  functions.systemContextGetBinaryInfo = system_read;
  functions.systemContextFree = system_free;
  *providers = all;
  *count = 1;
  return QNN_SUCCESS;
}
