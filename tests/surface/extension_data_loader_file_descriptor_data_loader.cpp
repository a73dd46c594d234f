// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/extension/data_loader/file_descriptor_data_loader.h>

#include "signatures.h"

namespace surface {

static_assert(
    is<Result<FileDescriptorDataLoader> (*)(const char*, size_t)>(&FileDescriptorDataLoader::fromFileDescriptorUri));
using fromFileDescriptorUri_default = decltype(FileDescriptorDataLoader::fromFileDescriptorUri(make<const char*>()));
static_assert(std::is_constructible_v<FileDescriptorDataLoader, FileDescriptorDataLoader&&>);
static_assert(std::is_destructible_v<FileDescriptorDataLoader>);
static_assert(is<Result<FreeableBuffer> (FileDescriptorDataLoader::*)(size_t, size_t, const DataLoader::SegmentInfo&)
                     const>(&FileDescriptorDataLoader::load));
static_assert(is<Result<size_t> (FileDescriptorDataLoader::*)() const>(&FileDescriptorDataLoader::size));
static_assert(is<Error (FileDescriptorDataLoader::*)(size_t, size_t, const DataLoader::SegmentInfo&, void*) const>(
    &FileDescriptorDataLoader::load_into));
namespace aliases {
using ::torch::executor::util::FileDescriptorDataLoader;
}  // namespace aliases

}  // namespace surface
