// SPDX-License-Identifier: BSD-3-Clause
// Needs kotlinx-coroutines, which an app may lack: so no other file refers to this one.
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
 * Runs a method on [Dispatchers.Default], so it may be called on the main thread. The outputs are copies, which later
 * runs do not overwrite.
 *
 * A coroutine that is cancelled while it waits for its turn does not run the method; one that is cancelled while the
 * method runs stops it before its next instruction, see [Module.cancel].
 */
public suspend fun Module.executeAsync(methodName: String, vararg inputs: EValue): Array<EValue> =
  withContext(Dispatchers.Default) { executeAndCopy(methodName, inputs) }

/**
 * Runs a method on each value of the flow, in order, off the collector's thread. The outputs are copies. With a source
 * that is faster than the model, such as a camera, put `conflate()` before it: frames that arrive during a run are
 * dropped.
 */
public fun Flow<EValue>.executeOn(module: Module, methodName: String = "forward"): Flow<Array<EValue>> =
  map { module.executeAndCopy(methodName, arrayOf(it)) }.flowOn(Dispatchers.Default)

private suspend fun Module.executeAndCopy(methodName: String, inputs: Array<out EValue>): Array<EValue> {
  currentCoroutineContext().ensureActive()
  val cancellation = Cancellation()
  return coroutineScope {
    // `Unconfined`: the watcher resumes in the thread that cancels, because the run keeps this thread busy.
    val watcher = launch(Dispatchers.Unconfined) { whenCancelled(cancellation::cancel) }
    try {
      runInterruptible { executeCopied(methodName, inputs, cancellation) }
    } catch (e: ExecutorchRuntimeException) {
      ensureActive() // the run was stopped because this coroutine is cancelled: throw that, not the runtime's error
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
