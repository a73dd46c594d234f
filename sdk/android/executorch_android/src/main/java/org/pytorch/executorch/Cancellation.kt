// SPDX-License-Identifier: BSD-3-Clause
package org.pytorch.executorch

/**
 * Stops every run that it was passed to, also those that begin later. It cannot be reset. The native object is freed
 * when this one is unreachable.
 */
internal class Cancellation {
  val handle: Long = Native.newCancellation()

  @Volatile
  var isCancelled: Boolean = false
    private set

  init {
    val pointer = handle
    Reaper.register(this) { Native.freeCancellation(pointer) }
  }

  /** Any thread may call it. */
  fun cancel() {
    isCancelled = true
    Reaper.keeping(this) { Native.cancel(handle) }
  }
}
