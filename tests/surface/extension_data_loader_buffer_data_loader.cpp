// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/extension/data_loader/buffer_data_loader.h>

#include "signatures.h"

namespace surface {

static_assert(std::is_constructible_v<BufferDataLoader, const void*, size_t>);
static_assert(is<Result<FreeableBuffer> (BufferDataLoader::*)(size_t, size_t, const DataLoader::SegmentInfo&) const>(
    &BufferDataLoader::load));
static_assert(is<Result<size_t> (BufferDataLoader::*)() const>(&BufferDataLoader::size));
static_assert(is<Error (BufferDataLoader::*)(size_t, size_t, const DataLoader::SegmentInfo&, void*) const>(
    &BufferDataLoader::load_into));
namespace aliases {
using ::torch::executor::util::BufferDataLoader;
}  // namespace aliases

}  // namespace surface
