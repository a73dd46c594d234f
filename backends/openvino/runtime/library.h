// SPDX-License-Identifier: BSD-3-Clause
// OpenVINO's C interface, loaded at run time. Nothing is linked and none of its headers is included: these are our own
// declarations of the functions that the backend calls, as OpenVINO 2025.1 and later have them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include <executorch/runtime/core/result.h>

namespace executorch {
namespace backends {
namespace openvino {

// Opaque objects of OpenVINO, and the structures that it passes by value.
struct OvCore;
struct OvModel;
struct OvCompiledModel;
struct OvInferRequest;
struct OvTensor;
struct OvConstPort;

/// 0 is success.
using OvStatus = int;

/// ov_element_type_e.
enum class OvType : int {
  Boolean = 1,
  Bf16 = 2,
  F16 = 3,
  F32 = 4,
  F64 = 5,
  I8 = 7,
  I16 = 8,
  I32 = 9,
  I64 = 10,
  U8 = 16,
  U16 = 17,
  U32 = 18,
  U64 = 19,
};

struct OvShape {
  int64_t rank;
  int64_t* dims;
};

/// Both limits are inclusive; max is -1 if there is no upper limit.
struct OvDimension {
  int64_t min;
  int64_t max;
};

struct OvPartialShape {
  OvDimension rank;
  OvDimension* dims;
};

struct OvVersion {
  const char* build_number;
  const char* description;
};

/// The functions, by the names that they have without `ov_`.
struct Library {
  OvStatus (*get_openvino_version)(OvVersion*);
  void (*version_free)(OvVersion*);
  const char* (*get_last_err_msg)();
  void (*free)(const char*);
  OvStatus (*core_create)(OvCore**);
  void (*core_free)(OvCore*);
  OvStatus (*core_set_property)(const OvCore*, const char* device, ...);
  OvStatus (*core_import_model)(const OvCore*, const char* content, size_t size, const char* device, OvCompiledModel**);
  OvStatus (*core_read_model_from_memory_buffer)(const OvCore*, const char* xml, size_t size, const OvTensor* weights,
                                                 OvModel**);
  OvStatus (*core_compile_model)(const OvCore*, const OvModel*, const char* device, size_t properties,
                                 OvCompiledModel**, ...);
  void (*model_free)(OvModel*);
  OvStatus (*compiled_model_inputs_size)(const OvCompiledModel*, size_t*);
  OvStatus (*compiled_model_outputs_size)(const OvCompiledModel*, size_t*);
  OvStatus (*compiled_model_input_by_index)(const OvCompiledModel*, size_t, OvConstPort**);
  OvStatus (*compiled_model_output_by_index)(const OvCompiledModel*, size_t, OvConstPort**);
  OvStatus (*compiled_model_create_infer_request)(const OvCompiledModel*, OvInferRequest**);
  OvStatus (*compiled_model_get_property)(const OvCompiledModel*, const char* key, char** value);
  void (*compiled_model_free)(OvCompiledModel*);
  OvStatus (*port_get_element_type)(const OvConstPort*, OvType*);
  OvStatus (*port_get_partial_shape)(const OvConstPort*, OvPartialShape*);
  void (*partial_shape_free)(OvPartialShape*);
  void (*output_const_port_free)(OvConstPort*);
  OvStatus (*tensor_create_from_host_ptr)(OvType, OvShape, void*, OvTensor**);
  OvStatus (*tensor_get_shape)(const OvTensor*, OvShape*);
  OvStatus (*tensor_data)(const OvTensor*, void**);
  void (*tensor_free)(OvTensor*);
  OvStatus (*shape_free)(OvShape*);
  OvStatus (*infer_request_set_input_tensor_by_index)(OvInferRequest*, size_t, const OvTensor*);
  OvStatus (*infer_request_set_output_tensor_by_index)(OvInferRequest*, size_t, const OvTensor*);
  OvStatus (*infer_request_get_output_tensor_by_index)(const OvInferRequest*, size_t, OvTensor**);
  OvStatus (*infer_request_infer)(OvInferRequest*);
  void (*infer_request_free)(OvInferRequest*);

  /// Such as 2025.4.1-20426-82bbf0292c5-releases/2025/4.
  std::string version;
};

/**
 * The functions of OpenVINO, loaded by the first call that finds them; never unloaded.
 *
 * @retval Error::NotFound (logged in one line, which says what to install or set) there is no such library.
 * @retval Error::NotSupported (logged) it is older than 2025.1, or lacks a function.
 */
runtime::Result<const Library*> library();

/// The last line of OpenVINO's last error.
std::string last_error(const Library& library);

/// Whether an error's last line means that OpenVINO's or a device's memory ran out.
bool is_lack_of_memory(const std::string& reason);

/**
 * Converts the status of a call to an error.
 *
 * @return Error::Ok for the status 0. Otherwise OpenVINO's last error is logged behind `what`, and the result is
 * Error::MemoryAllocationFailed if memory ran out, else `refusal`.
 */
runtime::Error answer(const Library& library, OvStatus status, runtime::Error refusal, const std::string& what);

}  // namespace openvino
}  // namespace backends
}  // namespace executorch
