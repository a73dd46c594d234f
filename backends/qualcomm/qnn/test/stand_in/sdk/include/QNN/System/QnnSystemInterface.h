// SPDX-License-Identifier: BSD-3-Clause
// Replaces a header of Qualcomm's SDK in tests: see QnnTypes.h.
#pragma once

#include "../QnnTypes.h"

#define QNN_SYSTEM_API_VERSION_MAJOR 1
#define QNN_SYSTEM_API_VERSION_MINOR 6

typedef void* QnnSystemContext_Handle_t;

typedef struct {
  const char* graphName;
  uint32_t numGraphInputs;
  Qnn_Tensor_t* graphInputs;
  uint32_t numGraphOutputs;
  Qnn_Tensor_t* graphOutputs;
} QnnSystemContext_GraphInfoV1_t;
typedef QnnSystemContext_GraphInfoV1_t QnnSystemContext_GraphInfoV2_t;
typedef QnnSystemContext_GraphInfoV1_t QnnSystemContext_GraphInfoV3_t;

typedef enum {
  QNN_SYSTEM_CONTEXT_GRAPH_INFO_VERSION_1 = 1,
  QNN_SYSTEM_CONTEXT_GRAPH_INFO_VERSION_2,
  QNN_SYSTEM_CONTEXT_GRAPH_INFO_VERSION_3,
  QNN_SYSTEM_CONTEXT_GRAPH_INFO_UNDEFINED
} QnnSystemContext_GraphInfoVersion_t;

typedef struct {
  QnnSystemContext_GraphInfoVersion_t version;
  union {
    QnnSystemContext_GraphInfoV1_t graphInfoV1;
    QnnSystemContext_GraphInfoV2_t graphInfoV2;
    QnnSystemContext_GraphInfoV3_t graphInfoV3;
  };
} QnnSystemContext_GraphInfo_t;

typedef struct {
  uint32_t numGraphs;
  QnnSystemContext_GraphInfo_t* graphs;
} QnnSystemContext_BinaryInfoV1_t;
typedef QnnSystemContext_BinaryInfoV1_t QnnSystemContext_BinaryInfoV2_t;
typedef QnnSystemContext_BinaryInfoV1_t QnnSystemContext_BinaryInfoV3_t;

typedef enum {
  QNN_SYSTEM_CONTEXT_BINARY_INFO_VERSION_1 = 1,
  QNN_SYSTEM_CONTEXT_BINARY_INFO_VERSION_2,
  QNN_SYSTEM_CONTEXT_BINARY_INFO_VERSION_3,
  QNN_SYSTEM_CONTEXT_BINARY_INFO_UNDEFINED
} QnnSystemContext_BinaryInfoVersion_t;

typedef struct {
  QnnSystemContext_BinaryInfoVersion_t version;
  union {
    QnnSystemContext_BinaryInfoV1_t contextBinaryInfoV1;
    QnnSystemContext_BinaryInfoV2_t contextBinaryInfoV2;
    QnnSystemContext_BinaryInfoV3_t contextBinaryInfoV3;
  };
} QnnSystemContext_BinaryInfo_t;

#define QNN_SYSTEM_INTERFACE_VER_NAME v1_6
#define QNN_SYSTEM_INTERFACE_VER_TYPE QnnSystemInterface_StandIn_t

typedef struct {
  Qnn_ErrorHandle_t (*systemContextCreate)(QnnSystemContext_Handle_t* handle);
  Qnn_ErrorHandle_t (*systemContextGetBinaryInfo)(QnnSystemContext_Handle_t handle, void* binaryBuffer,
                                                  uint64_t binaryBufferSize,
                                                  const QnnSystemContext_BinaryInfo_t** binaryInfo,
                                                  Qnn_ContextBinarySize_t* binaryInfoSize);
  Qnn_ErrorHandle_t (*systemContextFree)(QnnSystemContext_Handle_t handle);
} QnnSystemInterface_StandIn_t;

typedef struct {
  uint32_t backendId;
  const char* providerName;
  Qnn_Version_t systemApiVersion;
  union {
    QnnSystemInterface_StandIn_t QNN_SYSTEM_INTERFACE_VER_NAME;
  };
} QnnSystemInterface_t;
