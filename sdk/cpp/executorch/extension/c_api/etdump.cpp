// SPDX-License-Identifier: BSD-3-Clause
// Recording ETDumps.
#include <cstdlib>

#include <executorch/extension/c_api/call.h>
#include <executorch/extension/c_api/module_state.h>
#include <executorch/extension/c_api/tracer.h>
#include <executorch/runtime/core/event_tracer_hooks.h>

#ifdef ET_C_API_DEVTOOLS
#include <executorch/devtools/etdump/etdump_flatcc.h>
#endif

using executorch::runtime::Error;

using namespace executorch::extension::c_api;

/// Bytes from malloc(), which an ETDump uses too.
struct et_bytes {
  std::unique_ptr<void, decltype(&std::free)> data;
  size_t size;
};

namespace executorch {
namespace extension {
namespace c_api {

namespace {

#ifdef ET_C_API_DEVTOOLS
constexpr bool kHasEtdump = true;

std::unique_ptr<runtime::EventTracer> make_etdump() {
  return std::make_unique<etdump::ETDumpGen>();
}

/// Takes the dump and resets the tracer, which would otherwise return the same events again.
et_bytes take(runtime::EventTracer& tracer) {
  auto& generator = static_cast<etdump::ETDumpGen&>(tracer);
  const etdump::ETDumpResult dump = generator.get_etdump_data();
  generator.reset();
  return {{dump.buf, std::free}, dump.size};
}
#else
constexpr bool kHasEtdump = false;

std::unique_ptr<runtime::EventTracer> make_etdump() {
  return nullptr;
}

et_bytes take(runtime::EventTracer&) {
  return {{nullptr, std::free}, 0};
}
#endif

}  // namespace

std::unique_ptr<runtime::EventTracer> make_tracer(const et_options& options) {
  if (options.event_sink != nullptr) {
    return make_event_sink_tracer(options);
  }
  return options.etdump ? make_etdump() : nullptr;
}

}  // namespace c_api
}  // namespace extension
}  // namespace executorch

bool et_has_etdump(void) {
  return kHasEtdump && executorch::runtime::internal::event_tracer_enabled();
}

et_status et_options_set_etdump(et_options* options, bool record, et_error** error) {
  return call(error, [&]() -> Error {
    ET_CHECK_NOT_NULL(options);
    ET_CHECK_OR_RETURN_ERROR(!record || et_has_etdump(), NotSupported,
                             "this library was built without ETDumps: configure it with -DEXECUTORCH_BUILD_DEVTOOLS=ON "
                             "-DEXECUTORCH_ENABLE_EVENT_TRACER=ON");
    ET_CHECK_OR_RETURN_ERROR(!record || options->event_sink == nullptr, InvalidState,
                             "the options have an event sink: a module has that or records an ETDump");
    options->etdump = record;
    return Error::Ok;
  });
}

et_status et_module_take_etdump(et_module* module, et_bytes** out, et_error** error) {
  return call_for(out, error, [&]() -> Error {
    ET_CHECK_NOT_NULL(module);
    ModuleState& state = *module->state;
    ET_CHECK_OR_RETURN_ERROR(state.options.etdump, InvalidState,
                             "the module records no ETDump: load it with options of et_options_set_etdump");
    const Claim claim(state);
    ET_CHECK_OK_OR_RETURN_ERROR(claim.check());
    auto bytes = std::make_unique<et_bytes>(et_bytes{{nullptr, std::free}, 0});
    *bytes = take(*state.module->event_tracer());
    *out = bytes.release();
    return Error::Ok;
  });
}

const void* et_bytes_data(const et_bytes* bytes) {
  return bytes != nullptr ? bytes->data.get() : nullptr;
}

size_t et_bytes_size(const et_bytes* bytes) {
  return bytes != nullptr ? bytes->size : 0;
}

void et_bytes_free(et_bytes* bytes) {
  delete bytes;
}
