// SPDX-License-Identifier: BSD-3-Clause
package org.pytorch.executorch

import java.io.File
import java.nio.ByteBuffer
import java.nio.ByteOrder
import java.util.Random
import kotlin.test.assertEquals
import kotlin.test.assertFailsWith
import kotlin.test.assertIs
import kotlin.test.assertTrue
import org.junit.jupiter.api.Test

/** Every wrong argument or file throws an exception that says what was expected and what was found. */
internal class BadInputTest {
  private val shape = longArrayOf(2, 3)

  private inline fun <reified T : Throwable> fails(vararg parts: String, block: () -> Any?): T {
    val error = assertFailsWith<T> { block() }
    for (part in parts) assertTrue(part in error.message!!, "no '$part' in: ${error.message}")
    return error
  }

  private fun withFile(bytes: ByteArray, block: (File) -> Unit) {
    val file = File.createTempFile("program", ".pte")
    try {
      file.writeBytes(bytes)
      block(file)
    } finally {
      file.delete()
    }
  }

  @Test
  fun paths() {
    fails<IllegalArgumentException>("path of a model", "null") { Module.load(null) }
    fails<IllegalArgumentException>("there is no model at /nowhere/model.pte") { Module.load("/nowhere/model.pte") }
    fails<IllegalArgumentException>("found a folder") { Module.load(Corpus.root.path) }
    fails<IllegalArgumentException>("no data file at /nowhere.ptd") { Module.load(Corpus.path("add"), listOf("/nowhere.ptd")) }
    fails<IllegalArgumentException>("LOAD_MODE", "found 4") { Module.load(Corpus.path("add"), 4) }
    fails<IllegalArgumentException>("number of threads", "-1") { Module.load(Corpus.path("add"), 0, -1) }
    fails<ExecutorchRuntimeException>("up to 1024", "100000") { Module.load(Corpus.path("add"), 0, 100_000) }
  }

  @Test
  fun descriptorsAndBuffers() {
    fails<IllegalArgumentException>("file descriptor", "-1") { Module.load(-1, 0, 0) }
    assertEquals(
      ExecutorchRuntimeException.ACCESS_FAILED,
      fails<ExecutorchRuntimeException> { Module.load(9999, 0, 0) }.errorCode,
    )
    fails<IllegalArgumentException>("direct") { Module.load(ByteBuffer.allocate(100)) }
    fails<ExecutorchRuntimeException> { Module.load(ByteBuffer.allocateDirect(0)) }
    fails<ExecutorchRuntimeException> { Module.load(ByteBuffer.allocateDirect(100)) }
  }

  @Test
  fun damagedPrograms() {
    val good = File(Corpus.path("linear_xnn")).readBytes()
    for (bytes in listOf(ByteArray(0), "not a program".toByteArray(), good.copyOf(good.size / 2), good.copyOf(40))) {
      withFile(bytes) { file ->
        val error = fails<ExecutorchRuntimeException> { Module.load(file.path) }
        assertTrue(error.message!!.length > 40, error.message)
      }
    }
    // Files with random damage may load or be refused, but must not crash the process.
    val random = Random(7)
    repeat(200) {
      val bad = good.copyOf()
      repeat(1 + random.nextInt(8)) { bad[random.nextInt(bad.size)] = random.nextInt().toByte() }
      val buffer = ByteBuffer.allocateDirect(bad.size).put(bad)
      buffer.flip()
      try {
        val call = Corpus("linear_xnn").calls[0]
        Module.load(buffer).use { it.execute(call.method, *call.inputs.map(Corpus::toEValue).toTypedArray()) }
      } catch (e: RuntimeException) {
        assertTrue(e.message!!.isNotEmpty())
      }
    }
  }

  @Test
  fun calls() {
    Module.load(Corpus.path("add")).use { module ->
      val good = EValue.from(Tensor.ones(shape, DType.FLOAT))
      fails<ExecutorchRuntimeException>("takes 2 inputs, found 1") { module.forward(good) }
      fails<ExecutorchRuntimeException>("no method 'backward'", "forward") { module.execute("backward") }
      fails<ExecutorchRuntimeException>("no method ''") { module.loadMethod("") }
      fails<IllegalArgumentException>("no method 'backward'; the program has: forward") { module.getMethodMetadata("backward") }
      val wrongShape = EValue.from(Tensor.ones(longArrayOf(3, 2), DType.FLOAT))
      assertIs<ExecutorchRuntimeException.ExecutorchInvalidArgumentException>(
        fails<ExecutorchRuntimeException>("InvalidArgument") { module.forward(good, wrongShape) }
      )
      fails<ExecutorchRuntimeException>("Long", "Float") { module.forward(good, EValue.from(Tensor.ones(shape, DType.INT64))) }
      fails<ExecutorchRuntimeException> { module.forward(good, EValue.from(1L)) }
      fails<ExecutorchRuntimeException> { module.forward(good, EValue.from("text")) }
      fails<ExecutorchRuntimeException> { module.forward(good, EValue.optionalNone()) }
      fails<ExecutorchRuntimeException>("rank") { module.forward(good, EValue.from(Tensor.ones(LongArray(17) { 1 }, DType.FLOAT))) }
      // Not at a multiple of the element's size.
      val odd = ByteBuffer.allocateDirect(25).order(ByteOrder.nativeOrder()).position(1) as ByteBuffer
      val tensor = Tensor.fromBlob(odd.slice().order(ByteOrder.nativeOrder()), shape, DType.FLOAT)
      fails<ExecutorchRuntimeException>("multiple of 4") { module.forward(good, EValue.from(tensor)) }
      assertEquals(2f, module.forward(good, good)[0].toTensor().dataAsFloatArray[0])
      assertTrue(module.readLogBuffer()!!.any { "takes 2 inputs" in it })
    }
  }

  @Test
  fun anErrorCarriesTheLog() {
    val error = fails<ExecutorchRuntimeException> { withFile(ByteArray(100)) { Module.load(it.path) } }
    assertTrue(error.detailedError.startsWith(error.message!!))
    assertTrue("The log before it" in error.detailedError)
  }

  @Test
  fun tensors() {
    fails<IllegalArgumentException>("has 6 elements, found 5") { Tensor.fromBlob(FloatArray(5), shape) }
    fails<IllegalArgumentException>("sizes", "-1") { Tensor.fromBlob(FloatArray(6), longArrayOf(-1, -6)) }
    fails<IllegalArgumentException>("more than memory") { Tensor.numel(LongArray(4) { Int.MAX_VALUE.toLong() }) }
    fails<IllegalArgumentException>("at most") { Tensor.zeros(longArrayOf(1 shl 30, 4), DType.FLOAT) }
    fails<IllegalArgumentException>("direct buffer") { Tensor.fromBlob(java.nio.FloatBuffer.allocate(6), shape) }
    fails<IllegalArgumentException>("byte order") { Tensor.fromBlob(ByteBuffer.allocateDirect(24).asFloatBuffer(), shape) }
    fails<IllegalArgumentException>("24 bytes, found a buffer of 23") { Tensor.fromBlob(Tensor.allocateByteBuffer(23), shape, DType.FLOAT) }
    fails<IllegalArgumentException>("each dimension") { Tensor.fromBlob(Tensor.allocateByteBuffer(24), shape, DType.FLOAT, intArrayOf(0, 0)) }
    fails<IllegalArgumentException>("has no number 1") { Tensor.ones(shape, DType.COMPLEX_FLOAT) }
    fails<IllegalArgumentException>("23") { DType.fromJniCode(23) }
    fails<IllegalStateException>("FLOAT", "int") { Tensor.ones(shape, DType.FLOAT).dataAsIntArray }
    fails<IllegalStateException>("UINT8", "byte") { Tensor.ones(shape, DType.UINT8).dataAsByteArray }
    assertFailsWith<java.nio.BufferOverflowException> { Tensor.ones(shape, DType.FLOAT).copyDataInto(java.nio.FloatBuffer.allocate(5)) }
    assertFailsWith<java.nio.BufferOverflowException> { Tensor.ones(shape, DType.HALF).copyDataInto(java.nio.FloatBuffer.allocate(5)) }
  }

  @Test
  fun serialisedValues() {
    val good = EValue.from(Tensor.ones(shape, DType.FLOAT)).toByteArray()
    for (size in good.indices) fails<IllegalArgumentException> { EValue.fromByteArray(good.copyOf(size)) }
    fails<IllegalArgumentException>("found 25") { EValue.fromByteArray(good + 0) }
    fails<IllegalArgumentException>("from 0 to 5", "9") { EValue.fromByteArray(byteArrayOf(9)) }
    fails<IllegalArgumentException>("Double", "9 bytes", "3") { EValue.fromByteArray(byteArrayOf(3, 0, 0)) }
    fails<IllegalStateException>("Tensor", "Int") { EValue.from(3L).toTensor() }
    val random = Random(11)
    repeat(20_000) {
      val bytes = ByteArray(random.nextInt(40)).also(random::nextBytes)
      try {
        EValue.fromByteArray(bytes)
      } catch (e: IllegalArgumentException) {
        assertTrue(e.message!!.isNotEmpty())
      }
    }
  }
}
