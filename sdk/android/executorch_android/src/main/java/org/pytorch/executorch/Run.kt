// SPDX-License-Identifier: BSD-3-Clause
package org.pytorch.executorch

import java.util.concurrent.atomic.AtomicInteger
import java.util.concurrent.locks.ReentrantLock
import kotlin.concurrent.withLock

/** A method of a module, and whose turn it is to use its memory: a run, or readers of the last run's outputs. */
internal class MethodState(val name: String) {
  val nameBytes: ByteArray = name.toByteArray()
  val memory = ReentrantLock()

  /** Counts the runs. */
  @Volatile var runs = 0L

  var last: Run? = null
}

/**
 * One run of a method, which its output tensors share. The native result is freed when the next run begins, as nobody can
 * read this one's outputs any more; or, if buffers over its memory were handed out, when they are unreachable.
 */
internal class Run(val module: Module, private val method: MethodState) {
  private val number = method.runs

  // Set by the native library.
  @JvmField var result = 0L

  private val holders = AtomicInteger(1)
  private var task: Reaper.Task? = null
  private var isPinned = false

  /** When the native result is there. */
  fun finish() {
    if (result != 0L) {
      task = releaseWith(this)
      method.last = this
    }
  }

  /** With the method's memory locked: the next run begins. */
  fun expire() {
    if (!isPinned) task?.run()
  }

  /** Within [read]: keeps the result as long as [buffer], which lies in it, is reachable. */
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

  /** Reads outputs while no other run can overwrite them. [IllegalStateException] if one did. */
  inline fun <T> read(block: () -> T): T {
    checkCurrent()
    return method.memory.withLock {
      checkCurrent()
      block()
    }
  }

  fun checkCurrent() {
    check(method.runs == number) {
      "this tensor showed an output of '${method.name}', which has run again since and overwrote it: read outputs " +
        "before the next run, or keep a copy with Tensor.copy()"
    }
  }
}
