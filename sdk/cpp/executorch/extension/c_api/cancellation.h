/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * The part of the C interface that cancels runs from another thread. executorch.h includes it and has the rules on
 * errors, ownership and threads. Since version 1.2.
 */
#ifndef EXECUTORCH_EXTENSION_C_API_CANCELLATION_H_
#define EXECUTORCH_EXTENSION_C_API_CANCELLATION_H_

#include "executorch.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Cancels the runs that it was passed to: any number of runs of any modules. */
typedef struct et_cancellation et_cancellation;
ET_API et_status et_cancellation_create(et_cancellation** out, et_error** error);
/** Callable from any thread and from signal handlers. Current runs return ET_STATUS_CANCELLED before their next
 * instruction, later runs at once; it cannot be undone. A delegate call is one instruction and is not interrupted. */
ET_API void et_cancellation_cancel(et_cancellation* cancellation);
ET_API bool et_cancellation_is_cancelled(const et_cancellation* cancellation);
/** Must not be called while a run uses the object. */
ET_API void et_cancellation_free(et_cancellation* cancellation);

/** et_module_execute with a `cancellation` (may be NULL). The method can run again afterwards; changes to its state are
 * not undone. */
ET_API et_status et_module_execute_cancellable(et_module* module, const char* method, const et_value* inputs,
                                               size_t input_count, const et_cancellation* cancellation, et_result** out,
                                               et_error** error);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* EXECUTORCH_EXTENSION_C_API_CANCELLATION_H_ */
