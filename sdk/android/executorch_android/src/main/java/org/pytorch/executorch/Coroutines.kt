// SPDX-License-Identifier: BSD-3-Clause
// For Kotlin, and only for apps that have kotlinx-coroutines: nothing else here refers to this file.
@file:JvmName("ModuleCoroutines")

package org.pytorch.executorch

import kotlin.coroutines.CoroutineContext
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.awaitCancellation
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.currentCoroutineContext
import kotlinx.coroutines.ensureActive
import kotlinx.coroutines.flow.Flow
import kotlinx.coroutines.flow.flowOn
import kotlinx.coroutines.flow.map
import kotlinx.coroutines.launch
import kotlinx.coroutines.runInterruptible
import kotlinx.coroutines.withContext

/** [Module.load] in [context], not on the thread of the caller. If the caller is cancelled, the module is closed. */
public suspend fun Module.Companion.loadAsync(
  modelPath: String,
  loadMode: Int = Module.LOAD_MODE_MMAP,
  numThreads: Int = 0,
  context: CoroutineContext = Dispatchers.IO,
): Module {
  var module: Module? = null
  try {
    return withContext(context) { load(modelPath, loadMode, numThreads).also { module = it } }
  } catch (e: Throwable) {
    module?.close()
    throw e
  }
}

/** [executeAsync] of the method "forward". */
public suspend fun Module.forwardAsync(vararg inputs: EValue): Array<EValue> = executeAsync("forward", *inputs)

/**
 * Runs a method on [Dispatchers.Default]: main-safe. The outputs are copies, which later runs leave alone.
 *
 * A coroutine that is cancelled while it waits for its turn does not run the method; one that is cancelled while the
 * method runs stops it before its next instruction, see [Module.cancel].
 */
public suspend fun Module.executeAsync(methodName: String, vararg inputs: EValue): Array<EValue> =
  withContext(Dispatchers.Default) { executeAndCopy(methodName, inputs) }

/**
 * Runs a method on each value of the flow, in order, off the collector's thread. The outputs are copies. With a source
 * that is faster than the model, such as a camera, put `conflate()` before it: frames that come meanwhile are dropped.
 */
public fun Flow<EValue>.executeOn(module: Module, methodName: String = "forward"): Flow<Array<EValue>> =
  map { module.executeAndCopy(methodName, arrayOf(it)) }.flowOn(Dispatchers.Default)

private suspend fun Module.executeAndCopy(methodName: String, inputs: Array<out EValue>): Array<EValue> {
  currentCoroutineContext().ensureActive()
  val cancellation = Cancellation()
  return coroutineScope {
    // Ends in the thread that cancels, while the run keeps this one busy.
    val watcher = launch(Dispatchers.Unconfined) { whenCancelled(cancellation::cancel) }
    try {
      runInterruptible { executeCopied(methodName, inputs, cancellation) }
    } catch (e: ExecutorchRuntimeException) {
      ensureActive() // stopped: that is what it says
      throw e
    } finally {
      watcher.cancel()
    }
  }
}

private suspend fun whenCancelled(action: () -> Unit): Nothing =
  try {
    awaitCancellation()
  } finally {
    action()
  }
