// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>

#include <executorch/runtime/core/data_loader.h>
#include <executorch/runtime/core/result.h>

namespace executorch {
namespace runtime {
namespace internal {

/// Loads bytes of a file. `what` names them in messages. Errors: AccessFailed if the loader returns fewer bytes than
/// requested; errors of the loader.
ET_NODISCARD Result<FreeableBuffer> load_bytes(const DataLoader* loader, size_t offset, size_t size,
                                               const DataLoader::SegmentInfo& info, const char* what);

}  // namespace internal
}  // namespace runtime
}  // namespace executorch
