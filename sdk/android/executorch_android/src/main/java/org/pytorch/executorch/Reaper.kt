// SPDX-License-Identifier: BSD-3-Clause
package org.pytorch.executorch

import java.lang.ref.PhantomReference
import java.lang.ref.ReferenceQueue
import java.util.Collections
import java.util.concurrent.ConcurrentHashMap

/** Frees native objects whose owner was forgotten. java.lang.ref.Cleaner does the same, from Android 13 on. */
internal object Reaper {
  private val queue = ReferenceQueue<Any>()
  private val pending: MutableSet<Task> = Collections.newSetFromMap(ConcurrentHashMap())

  /** How many actions have not run yet: their owner is alive, or its end has not been noticed. */
  val waiting: Int
    get() = pending.size

  /** Runs once: when [run] is called, or when the owner is unreachable. */
  class Task internal constructor(owner: Any, private val action: () -> Unit) : PhantomReference<Any>(owner, queue) {
    fun run() {
      if (pending.remove(this)) action()
    }

    /** Gives up the native object, which has another owner from now on. */
    fun forget() {
      pending.remove(this)
    }
  }

  init {
    Thread(
        {
          while (true) {
            (queue.remove() as Task).run()
          }
        },
        "executorch-reaper",
      )
      .apply { isDaemon = true }
      .start()
  }

  @Volatile private var kept: Any? = null

  /**
   * Keeps [owner] reachable until this call. Without it, the virtual machine could free an owner that no code reads any
   * more while its native object is still running. Reference.reachabilityFence does the same, from Android 9 on.
   */
  fun keepReachable(owner: Any) {
    kept = owner
    if (kept === owner) kept = null // read, because shrinkers remove fields that are only written
  }

  /** [block], which uses the native object of [owner]. */
  inline fun <T> keeping(owner: Any, block: () -> T): T =
    try {
      block()
    } finally {
      keepReachable(owner)
    }

  /** [action] must not refer to [owner]. */
  fun register(owner: Any, action: () -> Unit): Task = Task(owner, action).also { pending += it }
}
