// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/schema/extended_header.h>

#include "signatures.h"

namespace surface {

static_assert(is<Result<ExtendedHeader> (*)(const void*, size_t)>(&ExtendedHeader::Parse));
static_assert(std::is_same_v<decltype(ExtendedHeader::program_size), uint64_t>);
static_assert(std::is_same_v<decltype(ExtendedHeader::segment_base_offset), uint64_t>);
static_assert(std::is_same_v<decltype(ExtendedHeader::segment_data_size), uint64_t>);
static_assert(ExtendedHeader::kNumHeadBytes == 64 && ExtendedHeader::kHeaderOffset == 8);
static_assert(ExtendedHeader::kMagicSize == 4 && sizeof(ExtendedHeader::kMagic) == 4);

}  // namespace surface
