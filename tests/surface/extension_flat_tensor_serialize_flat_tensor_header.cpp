// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/extension/flat_tensor/serialize/flat_tensor_header.h>

#include "signatures.h"

namespace surface {

static_assert(is<runtime::Result<FlatTensorHeader> (*)(const void*, size_t)>(&FlatTensorHeader::Parse));
static_assert(std::is_same_v<decltype(FlatTensorHeader::flatbuffer_offset), uint64_t>);
static_assert(std::is_same_v<decltype(FlatTensorHeader::flatbuffer_size), uint64_t>);
static_assert(std::is_same_v<decltype(FlatTensorHeader::segment_base_offset), uint64_t>);
static_assert(std::is_same_v<decltype(FlatTensorHeader::segment_data_size), uint64_t>);
static_assert(FlatTensorHeader::kNumHeadBytes == 64 && FlatTensorHeader::kHeaderOffset == 8);
static_assert(FlatTensorHeader::kMagicSize == 4 && sizeof(FlatTensorHeader::kMagic) == 4);
static_assert(FlatTensorHeader::kHeaderExpectedLength == 40);

}  // namespace surface
