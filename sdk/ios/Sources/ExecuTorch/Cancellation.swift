// SPDX-License-Identifier: BSD-3-Clause
import CExecuTorch

/// Stops every run that it was passed to, also those that begin later. It cannot be reset.
final class Cancellation: @unchecked Sendable {
  let handle: OpaquePointer  // may be used from any thread

  init() throws {
    var made: OpaquePointer?
    try check { et_cancellation_create(&made, $0) }
    handle = made!
  }

  deinit {
    et_cancellation_free(handle)
  }

  var isCancelled: Bool { et_cancellation_is_cancelled(handle) }

  func cancel() {
    et_cancellation_cancel(handle)
  }
}
