// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/devtools/etdump/etdump_flatcc.h>

#include <type_traits>

namespace surface {

using namespace executorch::runtime;  // NOLINT: the names of the signatures
using executorch::etdump::DataSinkBase;
using executorch::etdump::ETDumpGen;
using executorch::etdump::ETDumpResult;
using Tensor = executorch::aten::Tensor;

static_assert(ETDUMP_VERSION == 0);
static_assert(std::is_same_v<decltype(ETDumpResult::buf), void*> &&
              std::is_same_v<decltype(ETDumpResult::size), size_t>);
static_assert(std::is_same_v<torch::executor::ETDumpResult, ETDumpResult>);
static_assert(std::is_same_v<executorch::etdump::DelegateDebugIntId, DelegateDebugIntId> &&
              std::is_same_v<executorch::etdump::EventTracerFilterBase, EventTracerFilterBase> &&
              std::is_same_v<executorch::etdump::Result<bool>, Result<bool>>);
static_assert(std::is_base_of_v<EventTracer, ETDumpGen> && std::is_default_constructible_v<ETDumpGen> &&
              std::is_convertible_v<Span<uint8_t>, ETDumpGen>);
static_assert(std::is_same_v<decltype(&ETDumpGen::clear_builder), void (ETDumpGen::*)()> &&
              std::is_same_v<decltype(&ETDumpGen::create_event_block), void (ETDumpGen::*)(const char*)>);
static_assert(std::is_same_v<decltype(&ETDumpGen::start_profiling),
                             EventTracerEntry (ETDumpGen::*)(const char*, ChainID, DebugHandle)> &&
              std::is_same_v<decltype(&ETDumpGen::end_profiling), void (ETDumpGen::*)(EventTracerEntry)> &&
              std::is_same_v<decltype(&ETDumpGen::start_profiling_delegate),
                             EventTracerEntry (ETDumpGen::*)(const char*, DelegateDebugIntId)> &&
              std::is_same_v<decltype(&ETDumpGen::end_profiling_delegate),
                             void (ETDumpGen::*)(EventTracerEntry, const void*, size_t)> &&
              std::is_same_v<decltype(&ETDumpGen::log_profiling_delegate),
                             void (ETDumpGen::*)(const char*, DelegateDebugIntId, et_timestamp_t, et_timestamp_t,
                                                 const void*, size_t)>);
static_assert(std::is_same_v<decltype(&ETDumpGen::track_allocation), void (ETDumpGen::*)(AllocatorID, size_t)> &&
              std::is_same_v<decltype(&ETDumpGen::track_allocator), AllocatorID (ETDumpGen::*)(const char*)>);
static_assert(
    std::is_same_v<decltype(&ETDumpGen::log_evalue), Result<bool> (ETDumpGen::*)(const EValue&, LoggedEValueType)>);

template <typename Output>
constexpr bool kLogs = std::is_same_v<decltype(std::declval<ETDumpGen&>().log_intermediate_output_delegate(
                                          "", DelegateDebugIntId(), std::declval<Output>())),
                                      Result<bool>>;
static_assert(kLogs<const Tensor&> && kLogs<ArrayRef<Tensor>> && kLogs<const int&> && kLogs<const bool&> &&
              kLogs<const double&>);

static_assert(std::is_same_v<decltype(&ETDumpGen::set_delegation_intermediate_output_filter),
                             void (ETDumpGen::*)(EventTracerFilterBase*)> &&
              std::is_same_v<decltype(&ETDumpGen::set_debug_buffer), Result<bool> (ETDumpGen::*)(Span<uint8_t>)> &&
              std::is_same_v<decltype(&ETDumpGen::set_data_sink), void (ETDumpGen::*)(DataSinkBase*)> &&
              std::is_same_v<decltype(&ETDumpGen::get_etdump_data), ETDumpResult (ETDumpGen::*)()> &&
              std::is_same_v<decltype(&ETDumpGen::get_num_blocks), size_t (ETDumpGen::*)()> &&
              std::is_same_v<decltype(&ETDumpGen::get_data_sink), DataSinkBase* (ETDumpGen::*)()> &&
              std::is_same_v<decltype(&ETDumpGen::is_static_etdump), bool (ETDumpGen::*)()> &&
              std::is_same_v<decltype(&ETDumpGen::reset), void (ETDumpGen::*)()>);

inline void defaults(ETDumpGen& etdump, const EValue& value) {
  etdump.end_profiling(etdump.start_profiling("event"));
  (void)etdump.log_evalue(value);
}

}  // namespace surface
