// SPDX-License-Identifier: BSD-3-Clause
package org.pytorch.executorch

import java.io.File
import java.util.concurrent.atomic.AtomicBoolean
import kotlin.concurrent.thread
import kotlin.test.assertContentEquals
import kotlin.test.assertEquals
import kotlin.test.assertFailsWith
import kotlin.test.assertTrue
import kotlinx.coroutines.CancellationException
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.TimeoutCancellationException
import kotlinx.coroutines.async
import kotlinx.coroutines.cancelAndJoin
import kotlinx.coroutines.delay
import kotlinx.coroutines.launch
import kotlinx.coroutines.runBlocking
import kotlinx.coroutines.withTimeout
import org.junit.jupiter.api.Test
import org.junit.jupiter.api.Timeout

/** Runs are stopped from another thread. The program loops forever, so only the cancellation can end them. */
@Timeout(60)
internal class CancellationTest {
  private val endless = File(Corpus.root.parentFile, "endless.pte").path
  private val input = EValue.from(Tensor.ones(longArrayOf(3), DType.FLOAT))

  @Test
  fun cancellingACoroutineStopsTheMethod() {
    Module.load(endless).use { module ->
      runBlocking {
        repeat(3) {
          val run = launch(Dispatchers.Default) { module.forwardAsync(input) }
          delay(20)
          run.cancelAndJoin()
          assertTrue(run.isCancelled)
        }
        assertFailsWith<TimeoutCancellationException> { withTimeout(30) { module.forwardAsync(input) } }
      }
    } // which fails while it runs
  }

  @Test
  fun whoWaitsForACancelledRunSeesACancellation() {
    Module.load(endless).use { module ->
      runBlocking {
        val run = async(Dispatchers.Default) { module.forwardAsync(input) }
        delay(20)
        run.cancel()
        assertFailsWith<CancellationException> { run.await() }
      }
    }
  }

  @Test
  fun aCancelledRunLeavesTheOthersAlone() {
    Module.load(Corpus.path("add")).use { module ->
      val ones = EValue.from(Tensor.ones(longArrayOf(2, 3), DType.FLOAT))
      runBlocking {
        val runs = List(100) { async(Dispatchers.Default) { module.forwardAsync(ones, ones) } }
        runs.forEachIndexed { number, run -> if (number % 2 == 0) run.cancel() }
        assertContentEquals(FloatArray(6) { 2f }, module.forwardAsync(ones, ones)[0].toTensor().dataAsFloatArray)
        runs.forEachIndexed { number, run ->
          run.join()
          if (number % 2 == 1) assertEquals(2f, run.await()[0].toTensor().dataAsFloatArray[5])
        }
      }
    }
  }

  @Test
  fun anotherThreadCancels() {
    Module.load(endless).use { module ->
      module.cancel() // nothing is running
      repeat(2) {
        val isOver = AtomicBoolean()
        val canceller = thread { while (!isOver.get()) { Thread.sleep(5); module.cancel() } }
        val error = assertFailsWith<ExecutorchRuntimeException> { module.forward(input) }
        isOver.set(true)
        canceller.join()
        assertEquals(ExecutorchRuntimeException.CANCELLED, error.errorCode)
        assertTrue("Cancelled" in error.message!! && "'forward'" in error.message!!, error.message)
      }
    }
  }
}
