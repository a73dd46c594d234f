/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * The part of the C interface that stops runs from another thread. executorch.h includes it, and has the rules on
 * errors, ownership and threads. All of it came with version 1.2.
 */
#ifndef EXECUTORCH_EXTENSION_C_API_CANCELLATION_H_
#define EXECUTORCH_EXTENSION_C_API_CANCELLATION_H_

#include "executorch.h"

#ifdef __cplusplus
extern "C" {
#endif

/** What stops the runs that it was given to: any number of them, at any time, of any modules. */
typedef struct et_cancellation et_cancellation;
ET_API et_status et_cancellation_create(et_cancellation** out, et_error** error);
/** From any thread, and from signal handlers. Those runs return ET_STATUS_CANCELLED before their next instruction,
 * those that begin later at once; it is never undone. What runs in a backend is one instruction, and ends first. */
ET_API void et_cancellation_cancel(et_cancellation* cancellation);
ET_API bool et_cancellation_is_cancelled(const et_cancellation* cancellation);
/** Not while a run has it. */
ET_API void et_cancellation_free(et_cancellation* cancellation);

/** et_module_execute that `cancellation` (may be NULL) stops. The method can run again after that; what it had changed
 * of its own state stays changed. */
ET_API et_status et_module_execute_cancellable(et_module* module, const char* method, const et_value* inputs,
                                               size_t input_count, const et_cancellation* cancellation, et_result** out,
                                               et_error** error);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* EXECUTORCH_EXTENSION_C_API_CANCELLATION_H_ */
