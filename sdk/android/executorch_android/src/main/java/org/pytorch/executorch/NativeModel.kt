// SPDX-License-Identifier: BSD-3-Clause
package org.pytorch.executorch

import java.util.concurrent.locks.ReentrantLock
import kotlin.concurrent.withLock

/**
 * A native model, which is loaded at first use. It makes one call at a time, and runs callbacks in the calling thread.
 *
 * @param path of the program, for exceptions.
 * @param open loads the model; [free] frees it, and must not refer to the owner of this object.
 */
internal class NativeModel(
  private val path: String,
  private val open: () -> Long,
  private val free: (Long) -> Unit,
) {
  private val lock = ReentrantLock()
  private var reaper: Reaper.Task? = null

  @Volatile private var handle = 0L

  @Volatile
  var isClosed = false
    private set

  val isLoaded: Boolean
    get() = handle != 0L

  /** Waits until no other thread uses the model. */
  fun <T> use(block: (Long) -> T): T =
    lock.withLock {
      checkUsable()
      ExecutorchException.withFile(path) { Reaper.keeping(this) { block(loaded()) } }
    }

  /** Calls [block] with the model if it is loaded. Does not wait for another call of the model that is running. */
  fun meanwhile(block: (Long) -> Unit) {
    // Does not take `lock`, which the thread of the running call holds. The monitor keeps close() from freeing it.
    synchronized(this) { Reaper.keeping(this) { if (handle != 0L) block(handle) } }
  }

  /** [block] gives the model to another owner. This object is closed then, unless [block] throws. */
  fun giveAway(block: (Long) -> Unit): Unit = unlessAtWork {
    checkUsable()
    ExecutorchException.withFile(path) { Reaper.keeping(this) { giveTo(block, loaded()) } }
  }

  private fun giveTo(block: (Long) -> Unit, model: Long) {
    // The block frees the model, so meanwhile() must not use it from here on.
    synchronized(this) { handle = 0 }
    try {
      block(model)
    } catch (e: Throwable) {
      synchronized(this) { handle = model }
      throw e
    }
    isClosed = true
    reaper?.forget()
  }

  /** Calling it again has no effect. */
  fun close(): Unit = unlessAtWork {
    checkNotInCallback()
    isClosed = true
    synchronized(this) {
      handle = 0
      reaper?.run()
    }
  }

  private inline fun unlessAtWork(block: () -> Unit) {
    check(lock.tryLock()) { "the model is in use by another thread: call stop(), and close it when the call has returned" }
    try {
      block()
    } finally {
      lock.unlock()
    }
  }

  private fun checkUsable() {
    checkNotInCallback()
    check(!isClosed) { "the module is closed" }
  }

  private fun checkNotInCallback() {
    check(lock.holdCount == 1) { "the model is at work in this thread: a callback may call stop() and nothing else" }
  }

  private fun loaded(): Long {
    if (handle == 0L) {
      val pointer = open()
      val free = free // so that the action below does not refer to this object
      handle = pointer
      reaper = Reaper.register(this) { free(pointer) }
    }
    return handle
  }

  internal companion object {
    /** No options of backends, as [Native] takes them. */
    val noOptions: Array<Any>
      get() = arrayOf(emptyArray<ByteArray>(), emptyArray<ByteArray>(), IntArray(0))
  }
}
