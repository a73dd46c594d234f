// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include <executorch/runtime/core/event_tracer.h>
#include <executorch/runtime/platform/types.h>

#include "driver.h"
#include "payload.h"

namespace executorch {
namespace backends {
namespace ethosu {

/// Logs an event for each command of a run. Its identifier is the number of the command, its metadata the kind. Its
/// time follows from the cycles in the payload, or is the time that the driver took if the payload has no cycles.
class CommandLog final : private executorch_ethos_u_observer {
 public:
  /// `tracer` may be null: then there is nothing to log.
  CommandLog(runtime::EventTracer* tracer, const Cycles& cycles);
  CommandLog(const CommandLog&) = delete;
  CommandLog& operator=(const CommandLog&) = delete;

  /// For a driver that reports its commands; null without a tracer.
  executorch_ethos_u_observer* observer() { return tracer_ != nullptr ? this : nullptr; }

 private:
  void add(const char* name);
  et_timestamp_t time_of(uint64_t cycles) const;

  runtime::EventTracer* tracer_;
  const Cycles& cycles_;
  int32_t number_ = 0;
  uint64_t elapsed_ = 0;  // cycles
  et_timestamp_t start_, last_;
};

}  // namespace ethosu
}  // namespace backends
}  // namespace executorch
