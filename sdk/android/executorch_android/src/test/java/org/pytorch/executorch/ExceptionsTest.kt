// SPDX-License-Identifier: BSD-3-Clause
package org.pytorch.executorch

import java.io.File
import java.nio.ByteBuffer
import kotlin.test.assertEquals
import kotlin.test.assertFailsWith
import kotlin.test.assertIs
import kotlin.test.assertNull
import kotlin.test.assertTrue
import org.junit.jupiter.api.Test
import org.pytorch.executorch.ExecutorchRuntimeException.ExecutorchInvalidArgumentException

/** Failures of the runtime: one class for each kind, with the file, the operator or backend, and a hint. */
internal class ExceptionsTest {
  /** The program with a name in it replaced by another of the same length. */
  private fun changed(program: String, from: String, to: String): ByteBuffer {
    val bytes = String(File(Corpus.path(program)).readBytes(), Charsets.ISO_8859_1)
    assertTrue(from in bytes && from.length == to.length)
    return bytes.replace(from, to).toByteArray(Charsets.ISO_8859_1).let { ByteBuffer.allocateDirect(it.size).put(it).flip() as ByteBuffer }
  }

  private fun forwardOf(program: ByteBuffer, name: String) =
    Module.load(program).use { it.forward(*Corpus(name).calls[0].inputs.map(Corpus::toEValue).toTypedArray()) }

  @Test
  fun aMissingOperatorIsNamed() {
    val error = assertFailsWith<ExecutorchException.OperatorMissing> { forwardOf(changed("add", "aten::add", "aten::abb"), "add") }
    assertEquals("aten::abb.out", error.operator)
    assertNull(error.backend)
    assertNull(error.file)
    assertEquals(ExecutorchRuntimeException.OPERATOR_MISSING, error.errorCode)
    assertTrue("build_android_library.sh --models" in error.hint, error.hint)
  }

  @Test
  fun aMissingBackendIsNamed() {
    val error =
      assertFailsWith<ExecutorchException.NotFound> { forwardOf(changed("linear_xnn", "XnnpackBackend", "YnnpackBackend"), "linear_xnn") }
    assertEquals("YnnpackBackend", error.backend)
    assertNull(error.operator)
    assertTrue("YnnpackBackend" in error.hint!!, error.hint)
  }

  @Test
  fun theOperatorThatFailsIsNamed() {
    // The index of an embedding is out of its range.
    val corpus = Corpus("tiny_dec_kv_portable")
    corpus.load().use { module ->
      val inputs = corpus.calls[0].inputs.map(Corpus::toEValue).toTypedArray()
      val tokens = inputs[0].toTensor()
      inputs[0] = EValue.from(Tensor.fromBlob(LongArray(tokens.numel().toInt()) { 1L shl 40 }, tokens.shape()))
      val error = assertFailsWith<ExecutorchException> { module.forward(*inputs) }
      assertEquals("aten::embedding", error.operator, error.message)
      assertEquals(corpus.program, error.file)
    }
  }

  @Test
  fun theFileIsNamed() {
    val damaged = File.createTempFile("damaged", ".pte")
    try {
      damaged.writeBytes(File(Corpus.path("linear")).readBytes().copyOf(600))
      val error = assertFailsWith<ExecutorchException.InvalidProgram> { Module.load(damaged.path) }
      assertEquals(damaged.path, error.file)
      assertTrue("size" in error.hint, error.hint)
    } finally {
      damaged.delete()
    }
    val weights = assertFailsWith<ExecutorchException.InvalidExternalData> { Corpus("ptd_portable").let { Module.load(it.program).use { module -> module.loadMethod("forward") } } }
    assertEquals(Corpus("ptd_portable").program, weights.file)
    assertTrue(".ptd" in weights.hint)
  }

  /** Code for the documented class: it catches, makes and extends it. */
  @Test
  fun theDocumentedClassStays() {
    val caught =
      try {
        Module.load(Corpus.path("add")).use { it.forward() }
        null
      } catch (e: ExecutorchRuntimeException) {
        e
      }
    assertIs<ExecutorchInvalidArgumentException>(caught)
    assertTrue(caught.message!!.startsWith("InvalidArgument (error 0x12): "), caught.message)
    class Own : ExecutorchRuntimeException(ExecutorchRuntimeException.INTERNAL, "mine")
    assertEquals("Internal (error 0x01): mine", Own().message)
    for (code in ErrorTable.codes.values + 0x99) {
      val made = ExecutorchRuntimeException.makeExecutorchException(code, "text") as ExecutorchException
      assertEquals(code, made.errorCode)
      assertEquals(ExecutorchRuntimeException(code, "text").message, made.message)
      assertTrue(nameOf(made).isNotEmpty())
    }
  }

  /** Compiles without `else`: the classes are complete. */
  private fun nameOf(failure: ExecutorchException): String =
    when (failure) {
      is ExecutorchInvalidArgumentException -> "argument"
      is ExecutorchException.InvalidState -> "state"
      is ExecutorchException.NotSupported -> "not supported"
      is ExecutorchException.OperatorMissing -> "operator ${failure.hint}"
      is ExecutorchException.NotFound -> "not found"
      is ExecutorchException.OutOfMemory -> failure.hint
      is ExecutorchException.AccessFailed -> failure.hint
      is ExecutorchException.InvalidProgram -> failure.hint
      is ExecutorchException.InvalidExternalData -> failure.hint
      is ExecutorchException.Cancelled -> "cancelled"
      is ExecutorchException.Failed -> "failed"
    }
}
