// SPDX-License-Identifier: BSD-3-Clause
// Replaces a header of Qualcomm's SDK in tests: what runtime/ uses of it, by the names of Qualcomm's API reference
// (docs.qualcomm.com, 80-63442-10). The layouts and numbers are those of this stand-in, not Qualcomm's, unless a
// comment says so.
#pragma once

#include <stdint.h>

#define QNN_API_VERSION_MAJOR 2
#define QNN_API_VERSION_MINOR 29
#define QNN_SUCCESS 0

// Qualcomm's number: page api_error_codes.
#define QNN_COMMON_ERROR_MEM_ALLOC (1000 + 2)
#define QNN_DEVICE_ERROR_UNSUPPORTED_FEATURE (14000 + 2)

typedef uint64_t Qnn_ErrorHandle_t;
typedef uint64_t Qnn_ContextBinarySize_t;

typedef void* Qnn_BackendHandle_t;
typedef void* Qnn_ContextHandle_t;
typedef void* Qnn_DeviceHandle_t;
typedef void* Qnn_GraphHandle_t;
typedef void* Qnn_LogHandle_t;
typedef void* Qnn_MemHandle_t;
typedef void* Qnn_ProfileHandle_t;
typedef void* Qnn_SignalHandle_t;

typedef struct {
  uint32_t major, minor, patch;
} Qnn_Version_t;

typedef struct {
  Qnn_Version_t coreApiVersion, backendApiVersion;
} Qnn_ApiVersion_t;

typedef enum {
  QNN_DATATYPE_INT_8,
  QNN_DATATYPE_INT_16,
  QNN_DATATYPE_INT_32,
  QNN_DATATYPE_INT_64,
  QNN_DATATYPE_UINT_8,
  QNN_DATATYPE_UINT_16,
  QNN_DATATYPE_FLOAT_16,
  QNN_DATATYPE_FLOAT_32,
  QNN_DATATYPE_FLOAT_64,
  QNN_DATATYPE_SFIXED_POINT_8,
  QNN_DATATYPE_SFIXED_POINT_16,
  QNN_DATATYPE_SFIXED_POINT_32,
  QNN_DATATYPE_UFIXED_POINT_8,
  QNN_DATATYPE_UFIXED_POINT_16,
  QNN_DATATYPE_BOOL_8
} Qnn_DataType_t;

typedef enum { QNN_MEM_TYPE_ION = 20 } Qnn_MemType_t;

typedef struct {
  uint32_t numDim;
  uint32_t* dimSize;
} Qnn_MemShape_t;

typedef struct {
  int32_t fd;
} Qnn_MemIonInfo_t;

typedef struct {
  Qnn_MemShape_t memShape;
  Qnn_DataType_t dataType;
  Qnn_MemType_t memType;
  union {
    Qnn_MemIonInfo_t ionInfo;
  };
} Qnn_MemDescriptor_t;

typedef enum { QNN_TENSORMEMTYPE_RAW = 10, QNN_TENSORMEMTYPE_MEMHANDLE } Qnn_TensorMemType_t;
typedef enum { QNN_TENSOR_VERSION_UNDEFINED, QNN_TENSOR_VERSION_1, QNN_TENSOR_VERSION_2 } Qnn_TensorVersion_t;

typedef struct {
  void* data;
  uint32_t dataSize;
} Qnn_ClientBuffer_t;

typedef struct {
  uint32_t id;
  const char* name;
  Qnn_DataType_t dataType;
  uint32_t rank;
  uint32_t* dimensions;
  Qnn_TensorMemType_t memType;
  union {
    Qnn_ClientBuffer_t clientBuf;
    Qnn_MemHandle_t memHandle;
  };
} Qnn_TensorV1_t;

typedef struct {
  uint32_t id;
  const char* name;
  Qnn_DataType_t dataType;
  uint32_t rank;
  uint32_t* dimensions;
  uint8_t* isDynamicDimensions;
  Qnn_TensorMemType_t memType;
  union {
    Qnn_ClientBuffer_t clientBuf;
    Qnn_MemHandle_t memHandle;
  };
} Qnn_TensorV2_t;

typedef struct {
  Qnn_TensorVersion_t version;
  union {
    Qnn_TensorV1_t v1;
    Qnn_TensorV2_t v2;
  };
} Qnn_Tensor_t;
