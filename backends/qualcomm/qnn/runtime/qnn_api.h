// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file
 * Qualcomm's C interface, loaded at run time. Nothing is linked.
 *
 * This library is compiled with the headers of the SDK in QNN_SDK_ROOT, which define the layout of structures. No copy
 * of the declarations could be right for all releases: Qualcomm's API overview (docs.qualcomm.com, 80-63442-10,
 * api_overview) says that the interface is compatible in its sources, but not in its binary form. The API version of
 * the library is compared with that of the headers.
 */
#pragma once

#include <cstdint>

#include <QnnInterface.h>
#include <System/QnnSystemInterface.h>

#include <executorch/runtime/core/error.h>
#include <executorch/runtime/core/result.h>

#include "options.h"

namespace executorch {
namespace backends {
namespace qnn {

using Interface = QNN_INTERFACE_VER_TYPE;
using SystemInterface = QNN_SYSTEM_INTERFACE_VER_TYPE;

/// The functions that a library provides.
struct Api {
  Qnn_ErrorHandle_t (*get_providers)(const QnnInterface_t*** providers, uint32_t* count);
  Interface functions;
};

struct SystemApi {
  Qnn_ErrorHandle_t (*get_providers)(const QnnSystemInterface_t*** providers, uint32_t* count);
  SystemInterface functions;
};

/**
 * The functions of the library for a processor, loaded by the first call that finds them; never unloaded.
 *
 * @retval Error::NotFound (logged in one line, which says what to install or set) there is no library.
 * @retval Error::NotSupported (logged) it lacks a function, or is of another version of the interface.
 */
runtime::Result<const Api*> api(Processor processor);
/// The functions that read context binaries; as api().
runtime::Result<const SystemApi*> system_api();

/// Error::Ok for QNN_SUCCESS. Otherwise logs the function, its code, the library's message for it if there is one, and
/// the step, and returns MemoryAllocationFailed for codes of failed allocations, else `error`. `functions` may be null.
runtime::Error answer(const Interface* functions, Qnn_ErrorHandle_t code, const char* function, const char* step,
                      runtime::Error error);

}  // namespace qnn
}  // namespace backends
}  // namespace executorch
