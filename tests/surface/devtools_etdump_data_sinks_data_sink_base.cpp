// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/devtools/etdump/data_sinks/data_sink_base.h>

#include <type_traits>

namespace surface {

using executorch::etdump::DataSinkBase;
using executorch::runtime::Result;

static_assert(std::is_abstract_v<DataSinkBase> && std::has_virtual_destructor_v<DataSinkBase>);
static_assert(std::is_same_v<decltype(&DataSinkBase::write), Result<size_t> (DataSinkBase::*)(const void*, size_t)> &&
              std::is_same_v<decltype(&DataSinkBase::get_used_bytes), size_t (DataSinkBase::*)() const>);

}  // namespace surface
