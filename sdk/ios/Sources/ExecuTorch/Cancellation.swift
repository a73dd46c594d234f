// SPDX-License-Identifier: BSD-3-Clause
import CExecuTorch

/// Stops the runs that it is given to, now and later; never undone.
final class Cancellation: @unchecked Sendable {
  let handle: OpaquePointer  // which any thread may use

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
