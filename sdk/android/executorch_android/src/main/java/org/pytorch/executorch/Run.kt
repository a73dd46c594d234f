// SPDX-License-Identifier: BSD-3-Clause
package org.pytorch.executorch

import java.util.concurrent.atomic.AtomicInteger
import java.util.concurrent.locks.ReentrantLock
import kotlin.concurrent.withLock

/** A method of a module, with the lock on its memory, which a run and the readers of the last run's outputs take. */
internal class MethodState(val name: String) {
  val nameBytes: ByteArray = name.toByteArray()
  val memory = ReentrantLock()

  /** Counts the runs. */
  @Volatile var runs = 0L

  var last: Run? = null
}

/**
 * One run of a method; its output tensors share this object. The native result is freed when the next run begins,
 * because its outputs can no longer be read. If buffers over its memory were handed out, it is freed when they are
 * unreachable.
 */
internal class Run(val module: Module, private val method: MethodState) {
  private val number = method.runs

  // Set by the native library.
  @JvmField var result = 0L

  private val holders = AtomicInteger(1)
  private var task: Reaper.Task? = null
  private var isPinned = false

  /** Called when the native library has set `result`. */
  fun finish() {
    if (result != 0L) {
      task = releaseWith(this)
      method.last = this
    }
  }

  /** Called when the next run begins, with the method's memory locked. */
  fun expire() {
    if (!isPinned) task?.run()
  }

  /** Keeps the result as long as [buffer], which points into it, is reachable. Called within [read]. */
  fun pin(buffer: Any) {
    isPinned = true
    holders.incrementAndGet()
    releaseWith(buffer)
  }

  private fun releaseWith(owner: Any): Reaper.Task {
    val holders = holders
    val result = result
    return Reaper.register(owner) { if (holders.decrementAndGet() == 0) Native.freeResult(result) }
  }

  /** Reads outputs while no other run can overwrite them. Throws [IllegalStateException] if a later run already did. */
  inline fun <T> read(block: () -> T): T {
    checkCurrent()
    return method.memory.withLock {
      checkCurrent()
      Reaper.keeping(this) { block() }
    }
  }

  fun checkCurrent() {
    check(method.runs == number) {
      "this tensor showed an output of '${method.name}', which has run again since and overwrote it: read outputs " +
        "before the next run, or keep a copy with Tensor.copy()"
    }
  }
}
