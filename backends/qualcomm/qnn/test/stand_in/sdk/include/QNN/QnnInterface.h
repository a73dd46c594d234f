// SPDX-License-Identifier: BSD-3-Clause
// Replaces a header of Qualcomm's SDK in tests: see QnnTypes.h.
#pragma once

#include "QnnTypes.h"

struct QnnBackend_Config_t;
struct QnnContext_Config_t;
struct QnnDevice_Config_t;

#define QNN_INTERFACE_VER_NAME v2_29
#define QNN_INTERFACE_VER_TYPE QnnInterface_StandIn_t

// Parameters as in Qualcomm's reference pages of these functions.
typedef struct {
  Qnn_ErrorHandle_t (*backendCreate)(Qnn_LogHandle_t logger, const QnnBackend_Config_t** config,
                                     Qnn_BackendHandle_t* backend);
  Qnn_ErrorHandle_t (*backendFree)(Qnn_BackendHandle_t backend);
  Qnn_ErrorHandle_t (*deviceCreate)(Qnn_LogHandle_t logger, const QnnDevice_Config_t** config,
                                    Qnn_DeviceHandle_t* device);
  Qnn_ErrorHandle_t (*deviceFree)(Qnn_DeviceHandle_t device);
  Qnn_ErrorHandle_t (*contextCreateFromBinary)(Qnn_BackendHandle_t backend, Qnn_DeviceHandle_t device,
                                               const QnnContext_Config_t** config, const void* binaryBuffer,
                                               Qnn_ContextBinarySize_t binaryBufferSize, Qnn_ContextHandle_t* context,
                                               Qnn_ProfileHandle_t profile);
  Qnn_ErrorHandle_t (*contextFree)(Qnn_ContextHandle_t context, Qnn_ProfileHandle_t profile);
  Qnn_ErrorHandle_t (*graphRetrieve)(Qnn_ContextHandle_t context, const char* graphName, Qnn_GraphHandle_t* graph);
  Qnn_ErrorHandle_t (*graphExecute)(Qnn_GraphHandle_t graph, const Qnn_Tensor_t* inputs, uint32_t numInputs,
                                    Qnn_Tensor_t* outputs, uint32_t numOutputs, Qnn_ProfileHandle_t profile,
                                    Qnn_SignalHandle_t signal);
  Qnn_ErrorHandle_t (*memRegister)(Qnn_ContextHandle_t context, const Qnn_MemDescriptor_t* memDescriptors,
                                   uint32_t numDescriptors, Qnn_MemHandle_t* memHandles);
  Qnn_ErrorHandle_t (*memDeRegister)(const Qnn_MemHandle_t* memHandles, uint32_t numHandles);
  Qnn_ErrorHandle_t (*errorGetMessage)(Qnn_ErrorHandle_t error, const char** message);
} QnnInterface_StandIn_t;

typedef struct {
  uint32_t backendId;
  const char* providerName;
  Qnn_ApiVersion_t apiVersion;
  union {
    QnnInterface_StandIn_t QNN_INTERFACE_VER_NAME;
  };
} QnnInterface_t;
