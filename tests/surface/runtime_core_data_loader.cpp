// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/runtime/core/data_loader.h>

#include "signatures.h"

namespace surface {

static_assert(static_cast<long>(DataLoader::SegmentInfo::Type::Program) == 0);
static_assert(static_cast<long>(DataLoader::SegmentInfo::Type::Constant) == 1);
static_assert(static_cast<long>(DataLoader::SegmentInfo::Type::Backend) == 2);
static_assert(static_cast<long>(DataLoader::SegmentInfo::Type::Mutable) == 3);
static_assert(static_cast<long>(DataLoader::SegmentInfo::Type::External) == 4);
static_assert(std::is_same_v<decltype(DataLoader::SegmentInfo::segment_type), DataLoader::SegmentInfo::Type>);
static_assert(std::is_same_v<decltype(DataLoader::SegmentInfo::segment_index), size_t>);
static_assert(std::is_same_v<decltype(DataLoader::SegmentInfo::descriptor), const char*>);
static_assert(std::is_constructible_v<DataLoader::SegmentInfo>);
static_assert(std::is_constructible_v<DataLoader::SegmentInfo, DataLoader::SegmentInfo::Type, size_t, const char*>);
static_assert(std::is_constructible_v<DataLoader::SegmentInfo, DataLoader::SegmentInfo::Type>);
static_assert(std::is_destructible_v<DataLoader>);
static_assert(is<Result<FreeableBuffer> (DataLoader::*)(size_t, size_t, const DataLoader::SegmentInfo&) const>(
    &DataLoader::load));
static_assert(
    is<Error (DataLoader::*)(size_t, size_t, const DataLoader::SegmentInfo&, void*) const>(&DataLoader::load_into));
static_assert(is<Result<size_t> (DataLoader::*)() const>(&DataLoader::size));

}  // namespace surface
