// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/runtime/platform/platform.h>

#include "signatures.h"

namespace surface {

static_assert(std::is_same_v<decltype(::et_tick_ratio_t::numerator), uint64_t>);
static_assert(std::is_same_v<decltype(::et_tick_ratio_t::denominator), uint64_t>);
static_assert(is<void (*)()>(&::et_pal_init));
static_assert(is<void (*)()>(&::et_pal_abort));
static_assert(is<et_timestamp_t (*)()>(&::et_pal_current_ticks));
static_assert(is<et_tick_ratio_t (*)()>(&::et_pal_ticks_to_ns_multiplier));
static_assert(static_cast<long>(::et_pal_log_level_t::kDebug) == 68);
static_assert(static_cast<long>(::et_pal_log_level_t::kInfo) == 73);
static_assert(static_cast<long>(::et_pal_log_level_t::kError) == 69);
static_assert(static_cast<long>(::et_pal_log_level_t::kFatal) == 70);
static_assert(static_cast<long>(::et_pal_log_level_t::kUnknown) == 63);
static_assert(is<void (*)(et_timestamp_t, et_pal_log_level_t, const char*, const char*, size_t, const char*, size_t)>(
    &::et_pal_emit_log_message));
static_assert(is<void* (*)(size_t)>(&::et_pal_allocate));
static_assert(is<void (*)(void*)>(&::et_pal_free));
static_assert(is<PalImpl (*)(pal_emit_log_message_method, const char*)>(&PalImpl::create));
static_assert(
    is<PalImpl (*)(pal_init_method, pal_abort_method, pal_current_ticks_method, pal_ticks_to_ns_multiplier_method,
                   pal_emit_log_message_method, pal_allocate_method, pal_free_method, const char*)>(&PalImpl::create));
static_assert(std::is_same_v<decltype(PalImpl::init), pal_init_method>);
static_assert(std::is_same_v<decltype(PalImpl::abort), pal_abort_method>);
static_assert(std::is_same_v<decltype(PalImpl::current_ticks), pal_current_ticks_method>);
static_assert(std::is_same_v<decltype(PalImpl::ticks_to_ns_multiplier), pal_ticks_to_ns_multiplier_method>);
static_assert(std::is_same_v<decltype(PalImpl::emit_log_message), pal_emit_log_message_method>);
static_assert(std::is_same_v<decltype(PalImpl::allocate), pal_allocate_method>);
static_assert(std::is_same_v<decltype(PalImpl::free), pal_free_method>);
static_assert(std::is_same_v<decltype(PalImpl::source_filename), const char*>);
static_assert(is<bool (*)(PalImpl)>(&register_pal));
static_assert(is<const PalImpl* (*)()>(&get_pal_impl));
static_assert(is<void (*)()>(&pal_init));
static_assert(is<void (*)()>(&pal_abort));
static_assert(is<et_timestamp_t (*)()>(&pal_current_ticks));
static_assert(is<et_tick_ratio_t (*)()>(&pal_ticks_to_ns_multiplier));
static_assert(is<void (*)(et_timestamp_t, et_pal_log_level_t, const char*, const char*, size_t, const char*, size_t)>(
    &pal_emit_log_message));
static_assert(is<void* (*)(size_t)>(&pal_allocate));
static_assert(is<void (*)(void*)>(&pal_free));
static_assert(std::is_same_v<pal_init_method, void (*)()> && std::is_same_v<pal_abort_method, void (*)()>);
static_assert(std::is_same_v<pal_current_ticks_method, et_timestamp_t (*)()> &&
              std::is_same_v<et_pal_current_ticks_t, et_timestamp_t (*)()>);
static_assert(std::is_same_v<pal_ticks_to_ns_multiplier_method, et_tick_ratio_t (*)()>);
static_assert(std::is_same_v<pal_emit_log_message_method, void (*)(et_timestamp_t, et_pal_log_level_t, const char*,
                                                                   const char*, size_t, const char*, size_t)>);
static_assert(std::is_same_v<pal_allocate_method, void* (*)(size_t)> &&
              std::is_same_v<pal_free_method, void (*)(void*)>);

}  // namespace surface
