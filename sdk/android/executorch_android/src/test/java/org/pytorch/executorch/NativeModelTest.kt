// SPDX-License-Identifier: BSD-3-Clause
package org.pytorch.executorch

import java.util.concurrent.ConcurrentLinkedQueue
import kotlin.concurrent.thread
import kotlin.test.assertEquals
import kotlin.test.assertFailsWith
import kotlin.test.assertFalse
import kotlin.test.assertTrue
import org.junit.jupiter.api.Test
import org.junit.jupiter.api.Timeout

/** Which threads may use a native model, and when it is freed. The handles of the tests are numbers without a model. */
@Timeout(60)
internal class NativeModelTest {
  private val freed = ConcurrentLinkedQueue<Long>()

  private fun model(number: Long): NativeModel {
    val freed = freed // so that the action below does not refer to this test
    return NativeModel("model.pte", { number }, { freed += it })
  }

  /** The handles that a call of stop() in another thread would pass to native code. */
  private fun stoppedBy(model: NativeModel): List<Long> {
    val stopped = ConcurrentLinkedQueue<Long>()
    thread { model.meanwhile { stopped += it } }.join()
    return stopped.toList()
  }

  @Test
  fun aModelThatIsGivenAwayIsNotStopped() {
    val model = model(7)
    model.use { assertEquals(listOf(7L), stoppedBy(model)) }
    var given = 0L
    model.giveAway {
      given = it
      assertEquals(emptyList(), stoppedBy(model)) // the call may have freed it
    }
    assertEquals(7, given)
    assertTrue(model.isClosed && !model.isLoaded)
    model.close()
    assertEquals(emptyList(), freed.toList(), "it has another owner")
  }

  @Test
  fun aModelThatCannotBeGivenAwayStays() {
    val model = model(7)
    assertFailsWith<OutOfMemoryError> { model.giveAway { throw OutOfMemoryError() } }
    assertTrue(model.isLoaded && !model.isClosed)
    assertEquals(7L, model.use { it })
    assertEquals(listOf(7L), stoppedBy(model))
    model.close()
    assertEquals(listOf(7L), freed.toList())
  }

  /** JIT-compiled code does not keep an object alive after it has read its fields, so the model could be collected. */
  @Test
  fun aModelAtWorkIsNotFreed() {
    val ways =
      mapOf<String, (NativeModel, (Long) -> Unit) -> Unit>(
        "use" to { model, work -> model.use(work) },
        "meanwhile" to { model, work -> model.meanwhile(work) },
        "giveAway" to { model, work -> model.giveAway(work) },
      )
    var sum = 0L
    for ((index, entry) in ways.entries.withIndex()) {
      val (name, way) = entry
      val number = 2L + index // the previous model may be freed meanwhile
      repeat(20_000) { run(way, 1) { sum += it } }
      freed.clear()
      run(way, number) {
        for (round in 1..5) {
          System.gc()
          Thread.sleep(20)
        }
        assertFalse(number in freed, "freed during '$name'")
      }
    }
    assertTrue(sum > 0)
  }

  private fun run(way: (NativeModel, (Long) -> Unit) -> Unit, number: Long, work: (Long) -> Unit) = way(loaded(number), work)

  private fun loaded(number: Long): NativeModel = model(number).also { model -> model.use {} }
}
