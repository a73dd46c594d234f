// SPDX-License-Identifier: BSD-3-Clause
#include "command_log.h"

#include <cstring>

#include <executorch/extension/delegate/ticks.h>
#include <executorch/runtime/core/event_tracer_hooks_delegate.h>
#include <executorch/runtime/platform/platform.h>

namespace executorch {
namespace backends {
namespace ethosu {

CommandLog::CommandLog(runtime::EventTracer* tracer, const Cycles& cycles)
    : executorch_ethos_u_observer{[](executorch_ethos_u_observer* observer, const char* name) {
        static_cast<CommandLog*>(observer)->add(name);
      }},
      tracer_(tracer),
      cycles_(cycles),
      start_(tracer != nullptr ? runtime::pal_current_ticks() : 0),
      last_(start_) {}

void CommandLog::add(const char* name) {
  et_timestamp_t end;
  if (cycles_.are_known()) {
    elapsed_ += cycles_[static_cast<size_t>(number_)];
    end = time_of(elapsed_);
  } else {
    end = runtime::pal_current_ticks();
  }
  runtime::event_tracer_log_profiling_delegate(tracer_, nullptr, static_cast<runtime::DebugHandle>(number_++), last_,
                                               end, name, std::strlen(name) + 1);
  last_ = end;
}

et_timestamp_t CommandLog::time_of(uint64_t cycles) const {
  constexpr uint64_t kSecond = 1000000000;  // nanoseconds
  const uint64_t clock = cycles_.clock();
  const uint64_t ns = cycles / clock * kSecond + cycles % clock * kSecond / clock;
  return start_ + extension::delegate::Ticks().of(ns);
}

}  // namespace ethosu
}  // namespace backends
}  // namespace executorch
