// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/extension/data_loader/shared_ptr_data_loader.h>

#include "signatures.h"

namespace surface {

static_assert(std::is_constructible_v<SharedPtrDataLoader, std::shared_ptr<void>, size_t>);
static_assert(is<Result<FreeableBuffer> (SharedPtrDataLoader::*)(size_t, size_t, const DataLoader::SegmentInfo&) const>(
    &SharedPtrDataLoader::load));
static_assert(is<Result<size_t> (SharedPtrDataLoader::*)() const>(&SharedPtrDataLoader::size));
namespace aliases {
using ::torch::executor::util::SharedPtrDataLoader;
}  // namespace aliases

}  // namespace surface
