// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>

#include <executorch/extension/c_api/options.h>
#include <executorch/runtime/core/event_tracer.h>

namespace executorch {
namespace extension {
namespace c_api {

/// The tracer of these options: one that calls their event sink at the end of each event, or one that records an
/// ETDump; null if they have neither.
std::unique_ptr<runtime::EventTracer> make_tracer(const et_options& options);

/// A tracer that calls an event sink.
std::unique_ptr<runtime::EventTracer> make_event_sink_tracer(const et_options& options);

}  // namespace c_api
}  // namespace extension
}  // namespace executorch
