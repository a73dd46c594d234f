// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>

#include <executorch/extension/c_api/options.h>
#include <executorch/runtime/core/event_tracer.h>

namespace executorch {
namespace extension {
namespace c_api {

/// A tracer that calls the event sink of `options` at the end of each event; null when they have none.
std::unique_ptr<runtime::EventTracer> make_event_sink_tracer(const et_options& options);

}  // namespace c_api
}  // namespace extension
}  // namespace executorch
