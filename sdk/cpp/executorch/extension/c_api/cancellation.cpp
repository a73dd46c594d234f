// SPDX-License-Identifier: BSD-3-Clause
// Cancels runs: sets an error that Method::execute() checks before each instruction.
#include <executorch/extension/c_api/interrupt.h>

#include <executorch/extension/c_api/call.h>

using executorch::runtime::Error;

using namespace executorch::extension::c_api;

et_status et_cancellation_create(et_cancellation** out, et_error** error) {
  return call_for(out, error, [&] {
    *out = new et_cancellation;
    return Error::Ok;
  });
}

void et_cancellation_cancel(et_cancellation* cancellation) {
  if (cancellation != nullptr) {
    cancellation->interrupt.store(Error::Cancelled, std::memory_order_relaxed);
  }
}

bool et_cancellation_is_cancelled(const et_cancellation* cancellation) {
  return cancellation != nullptr && cancellation->interrupt.load(std::memory_order_relaxed) != Error::Ok;
}

void et_cancellation_free(et_cancellation* cancellation) {
  delete cancellation;
}
