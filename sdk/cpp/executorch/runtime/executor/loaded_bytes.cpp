// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/runtime/executor/loaded_bytes.h>

#include <executorch/runtime/core/error.h>

namespace executorch {
namespace runtime {
namespace internal {

Result<FreeableBuffer> load_bytes(const DataLoader* loader, size_t offset, size_t size,
                                  const DataLoader::SegmentInfo& info, const char* what) {
  Result<FreeableBuffer> data = loader->load(offset, size, info);
  ET_CHECK_OR_RETURN_ERROR(!data.ok() || data->size() >= size, AccessFailed,
                           "The loader gave %zu of the %zu bytes of %s", data->size(), size, what);
  return data;
}

}  // namespace internal
}  // namespace runtime
}  // namespace executorch
