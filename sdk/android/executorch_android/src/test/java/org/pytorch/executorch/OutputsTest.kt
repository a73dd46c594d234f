// SPDX-License-Identifier: BSD-3-Clause
package org.pytorch.executorch

import java.io.File
import java.lang.ref.WeakReference
import java.nio.Buffer
import java.nio.FloatBuffer
import kotlin.test.assertContentEquals
import kotlin.test.assertEquals
import kotlin.test.assertFailsWith
import kotlin.test.assertSame
import kotlin.test.assertTrue
import org.junit.jupiter.api.Tag
import org.junit.jupiter.api.Test

/** Which memory outputs refer to, how long they are valid and when they are freed. The program adds two tensors of
 * shape 2, 3. */
internal class OutputsTest {
  private val shape = longArrayOf(2, 3)

  private fun add() = Module.load(Corpus.path("add"))

  private fun filled(value: Float) = EValue.from(Tensor.fromBlob(FloatArray(6) { value }, shape))

  @Test
  fun inputsAreReadInPlace() {
    add().use { module ->
      val buffer = Tensor.allocateFloatBuffer(6)
      val input = EValue.from(Tensor.fromBlob(buffer, shape))
      assertSame(buffer, input.toTensor().storage)
      for (value in listOf(1f, 2f)) {
        for (i in 0 until 6) buffer.put(i, value)
        assertContentEquals(FloatArray(6) { value + 10 }, module.forward(input, filled(10f))[0].toTensor().dataAsFloatArray)
      }
    }
  }

  @Test
  fun outputsAreNotCopied() {
    add().use { module ->
      val raw = module.forward(filled(1f), filled(2f))[0].toTensor().getRawDataBuffer() as FloatBuffer
      assertTrue(raw.isDirect)
      assertEquals(3f, raw.get(0))
      module.forward(filled(5f), filled(2f))
      assertEquals(7f, raw.get(0), "the buffer shows the module's memory")
    }
  }

  /** Compares addresses: this program reads its input in place and also returns it as its first output. */
  @Test
  fun directBuffersAreNotCopied() {
    Module.load(File(Corpus.root.parentFile, "in_place.pte").path).use { module ->
      val buffer = Tensor.allocateFloatBuffer(24)
      val outputs = module.forward(EValue.from(Tensor.fromBlob(buffer, longArrayOf(3, 8))))
      assertEquals(addressOf(buffer), addressOf(outputs[0].toTensor().getRawDataBuffer()))
      assertContentEquals(longArrayOf(3, 4), outputs[1].toTensor().shape())
    }
    add().use { module ->
      val inputs = arrayOf(filled(1f), filled(2f))
      val addresses = List(3) { addressOf(module.forward(*inputs)[0].toTensor().getRawDataBuffer()) }
      assertEquals(1, addresses.toSet().size, "the output is where the program's plan has it")
    }
  }

  private fun addressOf(buffer: Buffer) = Buffer::class.java.getDeclaredField("address").apply { isAccessible = true }.getLong(buffer)

  @Test
  fun aRawBufferKeepsItsMemory() {
    val raw = List(50) { number -> add().use { it.forward(filled(number.toFloat()), filled(1f))[0].toTensor().getRawDataBuffer() as FloatBuffer } }
    settle()
    raw.forEachIndexed { number, buffer -> repeat(6) { assertEquals(number + 1f, buffer.get(it)) } }
  }

  @Test
  fun anotherModuleReadsOutputsInPlace() {
    add().use { first ->
      add().use { second ->
        repeat(100) { number ->
          val sum = first.forward(filled(number.toFloat()), filled(1f))
          assertContentEquals(FloatArray(6) { number + 2f }, second.forward(sum[0], filled(1f))[0].toTensor().dataAsFloatArray)
        }
      }
    }
  }

  @Test
  fun anOverwrittenOutputSaysSo() {
    add().use { module ->
      val first = module.forward(filled(1f), filled(2f))[0]
      val copy = first.copy()
      val second = module.forward(filled(3f), filled(4f))[0]
      assertEquals(7f, second.toTensor().dataAsFloatArray[0])
      assertEquals(3f, copy.toTensor().dataAsFloatArray[0])
      val stale = listOf<() -> Any?>(
        { first.toTensor().dataAsFloatArray },
        { first.toTensor().copyDataInto(FloatBuffer.allocate(6)) },
        { first.toTensor().getRawDataBuffer() },
        { first.toByteArray() },
        { first.copy() },
        { module.forward(first, filled(1f)) },
      )
      for (read in stale) {
        val message = assertFailsWith<IllegalStateException> { read() }.message!!
        assertTrue("has run again" in message && "copy()" in message, message)
      }
      assertEquals(7f, second.toTensor().dataAsFloatArray[0], "a refused call leaves the outputs alone")
    }
  }

  @Test
  fun outputsCanBeFedBack() {
    add().use { module ->
      var sum = filled(0f)
      repeat(100) { sum = module.forward(sum, filled(1f))[0] }
      assertContentEquals(FloatArray(6) { 100f }, sum.toTensor().dataAsFloatArray)
      // Both inputs are the same output.
      assertContentEquals(FloatArray(6) { 200f }, module.forward(sum, sum)[0].toTensor().dataAsFloatArray)
    }
  }

  @Test
  fun outputsOutliveTheModule() {
    val output = add().use { it.forward(filled(1f), filled(2f))[0] }
    repeat(3) { System.gc() }
    assertContentEquals(FloatArray(6) { 3f }, output.toTensor().dataAsFloatArray)
  }

  @Test
  fun methodsDoNotDisturbEachOther() {
    val corpus = Corpus("multi_method")
    corpus.load().use { module ->
      val calls = corpus.calls.distinctBy { it.method }
      assertTrue(calls.size > 1)
      val outputs = calls.map { call -> module.execute(call.method, *call.inputs.map(Corpus::toEValue).toTypedArray()) }
      outputs.zip(calls).forEach { (found, call) -> Corpus.check(found[0], call.outputs[0], "multi_method") }
    }
  }

  @Test
  fun aForgottenModuleIsFreed() {
    val input = Tensor.allocateFloatBuffer(6)
    val modules = List(20) { WeakReference(add().also { it.forward(EValue.from(Tensor.fromBlob(input, shape)), filled(1f)) }) }
    val deadline = System.nanoTime() + 20_000_000_000
    while ((modules.any { it.get() != null } || Reaper.waiting > 0) && System.nanoTime() < deadline) {
      System.gc()
      Thread.sleep(20)
    }
    assertEquals(0, modules.count { it.get() != null })
    assertEquals(0, Reaper.waiting, "native objects are left")
  }

  @Test
  @Tag("memory")
  fun runsDoNotLeak() {
    add().use { module ->
      val a = filled(1f)
      val b = filled(2f)
      repeat(20_000) { module.forward(a, b) }
      settle()
      val before = residentBytes()
      repeat(200_000) { module.forward(a, b) }
      settle()
      val grown = residentBytes() - before
      assertTrue(grown < 24L shl 20, "the process grew by $grown bytes in 200,000 runs")
    }
  }

  @Test
  @Tag("memory")
  fun loadsDoNotLeak() {
    repeat(200) { add().use { module -> module.forward(filled(1f), filled(2f)) } }
    settle()
    val before = residentBytes()
    repeat(2_000) { add().use { module -> module.forward(filled(1f), filled(2f)) } }
    settle()
    val grown = residentBytes() - before
    assertTrue(grown < 24L shl 20, "the process grew by $grown bytes in 2,000 loads")
  }

  /** Waits until the garbage collector has run and the native objects of the collected objects are freed. */
  private fun settle() {
    repeat(100) {
      System.gc()
      Thread.sleep(20)
      if (it >= 5 && Reaper.waiting < 10) return
    }
  }

  private fun residentBytes() = java.io.File("/proc/self/statm").readText().split(" ")[1].toLong() * 4096
}
