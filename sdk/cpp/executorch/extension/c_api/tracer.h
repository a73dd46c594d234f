// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>

#include <executorch/extension/c_api/options.h>
#include <executorch/runtime/core/event_tracer.h>

namespace executorch {
namespace extension {
namespace c_api {

/// What options ask for: a tracer that calls their event sink at the end of each event, or one that records an ETDump;
/// null when they ask for neither.
std::unique_ptr<runtime::EventTracer> make_tracer(const et_options& options);

/// The first of these.
std::unique_ptr<runtime::EventTracer> make_event_sink_tracer(const et_options& options);

}  // namespace c_api
}  // namespace extension
}  // namespace executorch
