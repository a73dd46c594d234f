// SPDX-License-Identifier: BSD-3-Clause
package org.pytorch.executorch

import java.util.concurrent.ConcurrentLinkedQueue
import java.util.concurrent.CountDownLatch
import java.util.concurrent.locks.ReentrantLock
import kotlin.concurrent.thread
import kotlin.concurrent.withLock
import kotlin.test.assertEquals
import kotlin.test.assertFailsWith
import kotlin.test.assertTrue
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.async
import kotlinx.coroutines.awaitAll
import kotlinx.coroutines.cancelAndJoin
import kotlinx.coroutines.flow.asFlow
import kotlinx.coroutines.flow.map
import kotlinx.coroutines.flow.toList
import kotlinx.coroutines.launch
import kotlinx.coroutines.runBlocking
import org.junit.jupiter.api.Test

/** Modules that many threads use, correctly and incorrectly. */
internal class ThreadsTest {
  private fun add() = Module.load(Corpus.path("add"))

  private fun filled(value: Float) = EValue.from(Tensor.fromBlob(FloatArray(6) { value }, longArrayOf(2, 3)))

  private fun turnOf(module: Module) =
    Module::class.java.getDeclaredField("lock").apply { isAccessible = true }.get(module) as ReentrantLock

  /** Runs [body] in threads that start together. Returns what they throw. */
  private fun together(count: Int, body: (Int) -> Unit): List<Throwable> {
    val start = CountDownLatch(1)
    val failures = ConcurrentLinkedQueue<Throwable>()
    val threads = List(count) { number ->
      thread {
        start.await()
        try {
          body(number)
        } catch (e: Throwable) {
          failures += e
        }
      }
    }
    start.countDown()
    threads.forEach { it.join() }
    return failures.toList()
  }

  @Test
  fun runsOfOneModuleTakeTurns() {
    add().use { module ->
      val failures = together(8) { number ->
        repeat(300) {
          val outputs = module.executeCopied("forward", arrayOf(filled(number.toFloat()), filled(1f)))
          check(outputs[0].toTensor().dataAsFloatArray.all { it == number + 1f })
        }
      }
      assertEquals(emptyList(), failures)
    }
  }

  /** A reader gets the output of its own run or an exception, never elements of two runs. */
  @Test
  fun readersNeverSeeAnotherRun() {
    add().use { module ->
      val failures = together(6) { number ->
        repeat(500) {
          val output = module.forward(filled(number.toFloat()), filled(0f))[0].toTensor()
          try {
            check(output.dataAsFloatArray.all { it == number.toFloat() })
          } catch (e: IllegalStateException) {
            check("has run again" in e.message!!)
          }
        }
      }
      assertEquals(emptyList(), failures)
    }
  }

  @Test
  fun closingWhileOthersRunIsRefusedOrDone() {
    repeat(30) {
      val module = add()
      val failures = together(4) { number ->
        if (number == 0) {
          while (true) {
            try {
              module.close()
              break
            } catch (e: IllegalStateException) {
              check("in use by another thread" in e.message!!)
            }
          }
        } else {
          try {
            repeat(100) { module.forward(filled(1f), filled(2f)) }
          } catch (e: IllegalStateException) {
            check(e.message == "the module is closed")
          }
        }
      }
      assertEquals(emptyList(), failures)
    }
  }

  @Test
  fun everyFunctionOfAClosedModuleSaysSo() {
    val module = add()
    module.close()
    module.close()
    module.destroy()
    val functions = listOf<() -> Any?>(
      { module.forward(filled(1f), filled(2f)) },
      { module.execute("forward") },
      { module.loadMethod("forward") },
      { module.getMethods() },
      { module.getMethodMetadata("forward") },
      { module.etdump() },
    )
    for (function in functions) {
      assertEquals("the module is closed", assertFailsWith<IllegalStateException> { function() }.message)
    }
  }

  @Test
  fun theNumberOfThreadsIsSetWhileOthersRun() {
    val corpus = Corpus("xnn_per_op")
    val before = Native.threadCount()
    try {
      val failures = together(4) { number ->
        repeat(20) { round ->
          Module.load(corpus.program, Module.LOAD_MODE_MMAP, 1 + (number + round) % 3).use { module ->
            val call = corpus.calls[0]
            val outputs = module.executeCopied(call.method, call.inputs.map(Corpus::toEValue).toTypedArray())
            outputs.zip(call.outputs).forEach { (found, expected) -> Corpus.check(found, expected, corpus.name) }
          }
        }
      }
      assertEquals(emptyList(), failures)
      Module.load(corpus.program, Module.LOAD_MODE_FILE, 3).close()
      assertEquals(3, Native.threadCount())
      Module.load(corpus.program).close()
      assertEquals(3, Native.threadCount(), "0 leaves it as it is")
    } finally {
      Native.setThreadCount(before)
    }
  }

  @Test
  fun coroutinesShareAModule() = runBlocking {
    Module.loadAsync(Corpus.path("add")).use { module ->
      val outputs = (1..50).map { i -> async(Dispatchers.Default) { module.forwardAsync(filled(i.toFloat()), filled(1f))[0] } }.awaitAll()
      assertEquals((2..51).map { it.toFloat() }, outputs.map { it.toTensor().dataAsFloatArray[5] })
    }
  }

  @Test
  fun aFlowPassesThroughAModule() = runBlocking {
    val corpus = Corpus("linear")
    corpus.load().use { module ->
      val call = corpus.calls[0]
      val input = Corpus.toEValue(call.inputs[0])
      val all = (1..5).asFlow().map { input }.executeOn(module).toList()
      assertEquals(5, all.size)
      all.forEach { Corpus.check(it[0], call.outputs[0], corpus.name) }
    }
  }

  @Test
  fun aCancelledCoroutineDoesNotRun() = runBlocking {
    add().use { module ->
      val started = CountDownLatch(1)
      val finish = CountDownLatch(1)
      // Keeps the module busy, so that the other caller has to wait.
      val holder = thread {
        turnOf(module).withLock {
          started.countDown()
          finish.await()
        }
      }
      started.await()
      val output = filled(0f)
      val waiting = launch(Dispatchers.Default) { module.forwardAsync(output, output) }
      waiting.cancelAndJoin() // returns while the module is still busy
      assertTrue(waiting.isCancelled)
      finish.countDown()
      holder.join()
      assertEquals(3f, module.forward(filled(1f), filled(2f))[0].toTensor().dataAsFloatArray[0])
    }
  }
}
