// SPDX-License-Identifier: BSD-3-Clause
package org.pytorch.executorch

/** Stops the runs that it is given to, now and later; never undone. Freed when it is unreachable. */
internal class Cancellation {
  val handle: Long = Native.newCancellation()

  @Volatile
  var isCancelled: Boolean = false
    private set

  init {
    val pointer = handle
    Reaper.register(this) { Native.freeCancellation(pointer) }
  }

  /** From any thread. Synchronized: so this is reachable, and not freed, until the native call has returned. */
  @Synchronized
  fun cancel() {
    isCancelled = true
    Native.cancel(handle)
  }
}
