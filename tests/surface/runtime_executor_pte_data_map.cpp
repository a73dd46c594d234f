// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/runtime/executor/pte_data_map.h>

#include "signatures.h"

namespace surface {

using NamedDataVector = ::flatbuffers::FlatbufferNamedData;
using DataSegmentVector = ::flatbuffers::FlatbufferDataSegment;

}  // namespace surface
