// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/extension/data_loader/file_data_loader.h>

#include "signatures.h"

namespace surface {

static_assert(is<Result<FileDataLoader> (*)(const char*, size_t)>(&FileDataLoader::from));
using from_default = decltype(FileDataLoader::from(make<const char*>()));
static_assert(is<Result<FileDataLoader> (*)(const char*, size_t)>(&FileDataLoader::From));
using From_default = decltype(FileDataLoader::From(make<const char*>()));
static_assert(std::is_constructible_v<FileDataLoader, FileDataLoader&&>);
static_assert(std::is_destructible_v<FileDataLoader>);
static_assert(is<Result<FreeableBuffer> (FileDataLoader::*)(size_t, size_t, const DataLoader::SegmentInfo&) const>(
    &FileDataLoader::load));
static_assert(is<Result<size_t> (FileDataLoader::*)() const>(&FileDataLoader::size));
static_assert(is<Error (FileDataLoader::*)(size_t, size_t, const DataLoader::SegmentInfo&, void*) const>(
    &FileDataLoader::load_into));
namespace aliases {
using ::torch::executor::util::FileDataLoader;
}  // namespace aliases

}  // namespace surface
