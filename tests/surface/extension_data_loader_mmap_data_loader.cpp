// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/extension/data_loader/mmap_data_loader.h>

#include "signatures.h"

namespace surface {

static_assert(static_cast<long>(MmapDataLoader::MlockConfig::NoMlock) == 0);
static_assert(static_cast<long>(MmapDataLoader::MlockConfig::UseMlock) == 1);
static_assert(static_cast<long>(MmapDataLoader::MlockConfig::UseMlockIgnoreErrors) == 2);
static_assert(static_cast<long>(MmapDataLoader::MlockConfig::UseMadvise) == 3);
static_assert(is<Result<MmapDataLoader> (*)(const char*, executorch::extension::MmapDataLoader::MlockConfig)>(
    &MmapDataLoader::from));
using from_default = decltype(MmapDataLoader::from(make<const char*>()));
static_assert(is<Result<MmapDataLoader> (*)(const char*, executorch::extension::MmapDataLoader::MlockConfig)>(
    &MmapDataLoader::From));
using From_default = decltype(MmapDataLoader::From(make<const char*>()));
static_assert(is<Result<MmapDataLoader> (*)(const char*, bool)>(&MmapDataLoader::From));
static_assert(std::is_constructible_v<MmapDataLoader, MmapDataLoader&&>);
static_assert(std::is_destructible_v<MmapDataLoader>);
static_assert(is<Result<FreeableBuffer> (MmapDataLoader::*)(size_t, size_t, const DataLoader::SegmentInfo&) const>(
    &MmapDataLoader::load));
static_assert(is<Result<size_t> (MmapDataLoader::*)() const>(&MmapDataLoader::size));
static_assert(is<Error (MmapDataLoader::*)(size_t, size_t, const DataLoader::SegmentInfo&, void*) const>(
    &MmapDataLoader::load_into));
namespace aliases {
using ::torch::executor::util::MmapDataLoader;
}  // namespace aliases

}  // namespace surface
