/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * The part of the C interface for developer tools: ETDumps, and bundled programs (programs with test inputs and
 * expected outputs). executorch.h includes it and has the rules on errors, ownership and threads.
 * Since version 1.2. In libraries built without EXECUTORCH_BUILD_DEVTOOLS the functions
 * return ET_STATUS_NOT_SUPPORTED with a message.
 */
#ifndef EXECUTORCH_EXTENSION_C_API_DEVTOOLS_H_
#define EXECUTORCH_EXTENSION_C_API_DEVTOOLS_H_

#include "executorch.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Bytes ------------------------------------------------------------------------------------------------------- */

typedef struct et_bytes et_bytes;
ET_API const void* et_bytes_data(const et_bytes* bytes); /**< NULL when there are none */
ET_API size_t et_bytes_size(const et_bytes* bytes);
ET_API void et_bytes_free(et_bytes* bytes);

/* ---- ETDump ------------------------------------------------------------------------------------------------------ */

/** Whether the library was built with EXECUTORCH_BUILD_DEVTOOLS and EXECUTORCH_ENABLE_EVENT_TRACER. */
ET_API bool et_has_etdump(void);
/** Modules record each instruction with its times from loading on. The record grows until et_module_take_etdump takes
 * it. ET_STATUS_NOT_SUPPORTED without et_has_etdump; ET_STATUS_INVALID_STATE
 * if the options have an event sink. */
ET_API et_status et_options_set_etdump(et_options* options, bool record, et_error** error);
/** The record since this function was last called: the bytes of an ETDump file (`.etdp`) for the Inspector. No bytes
 * if nothing ran since then. ET_STATUS_INVALID_STATE if the module was loaded without et_options_set_etdump. */
ET_API et_status et_module_take_etdump(et_module* module, et_bytes** out, et_error** error);

/* ---- Bundled programs -------------------------------------------------------------------------------------------- */

/** Like et_module_load_file, for a bundled program (`.bpte`), all of which is verified. Modules that et_module_share
 * makes of it have the test cases too. */
ET_API et_status et_module_load_bundled_file(const char* path, const et_options* options, et_module** out,
                                             et_error** error);
/** Like et_module_load_buffer. */
ET_API et_status et_module_load_bundled_buffer(const void* data, size_t size, et_release release, void* context,
                                               const et_options* options, et_module** out, et_error** error);
/** The number of test cases of a method; 0 if the module is not of a bundled program, and for an unknown method. */
ET_API size_t et_module_bundled_case_count(const et_module* module, const char* method);
/** Runs a method with the inputs of its test case `index`. */
ET_API et_status et_module_execute_bundled(et_module* module, const char* method, size_t index, et_result** out,
                                           et_error** error);
/** Compares the outputs of that run with the expected ones: doubles and elements of floating-point tensors must satisfy
 * |found - expected| <= atol + rtol * |expected|, and NaN equals NaN; all others must be equal. ET_STATUS_NOT_FOUND,
 * with the first element that differs, if they are not; ET_STATUS_INVALID_STATE if the last run of the method was
 * not of this case. */
ET_API et_status et_module_verify_bundled(et_module* module, const char* method, size_t index, double rtol, double atol,
                                          et_error** error);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* EXECUTORCH_EXTENSION_C_API_DEVTOOLS_H_ */
