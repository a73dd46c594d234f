// SPDX-License-Identifier: BSD-3-Clause
package org.pytorch.executorch

import java.io.FileInputStream
import java.io.RandomAccessFile
import java.nio.channels.FileChannel
import kotlin.test.assertContentEquals
import kotlin.test.assertEquals
import kotlin.test.assertFailsWith
import kotlin.test.assertTrue
import org.junit.jupiter.api.DynamicTest
import org.junit.jupiter.api.Test
import org.junit.jupiter.api.TestFactory

/** Every program of the corpus gives the same outputs through Kotlin as in PyTorch eager. */
internal class CorpusTest {
  @TestFactory
  fun givesWhatEagerGave() =
    Corpus.names.map { name ->
      DynamicTest.dynamicTest(name) {
        val corpus = Corpus(name)
        corpus.load().use { module -> corpus.run(module) }
      }
    }

  /** The corpus has programs with and without delegates. Programs of XNNPACK's cases are lowered for XNNPACK. */
  @Test
  fun runsProgramsWithAndWithoutDelegates() {
    val delegated =
      Corpus.names.filter { name ->
        Corpus(name).load().use { module -> module.getMethods().any { "XnnpackBackend" in module.getMethodMetadata(it).backends } }
      }
    assertEquals(Corpus.names.filter { "xnn" in it }, delegated)
    assertTrue(delegated.size >= 14 && Corpus.names.size >= 58, "${delegated.size} of ${Corpus.names.size}")
  }

  private fun Corpus.run(module: Module) {
    assertTrue(calls.isNotEmpty())
    for (call in calls) {
      val outputs = module.execute(call.method, *call.inputs.map(Corpus::toEValue).toTypedArray())
      assertEquals(call.outputs.size, outputs.size)
      outputs.zip(call.outputs).forEach { (found, expected) -> Corpus.check(found, expected, name) }
    }
  }

  @Test
  fun loadsInEveryMode() {
    val corpus = Corpus("linear_xnn")
    for (mode in Module.LOAD_MODE_FILE..Module.LOAD_MODE_MMAP_USE_MLOCK_IGNORE_ERRORS) {
      Module.load(corpus.program, mode).use { corpus.run(it) }
    }
  }

  @Test
  fun optionsReachTheBackend() {
    val corpus = Corpus("linear_xnn")
    fun options(mode: Int) = BackendOptionsMap().setInt("XnnpackBackend", "workspace_sharing_mode", mode)
    Module.load(corpus.program, options(1)).use { corpus.run(it) }
    Module.load(corpus.program, options(7)).use { module ->
      val error = assertFailsWith<ExecutorchRuntimeException> { module.loadMethod("forward") }
      assertEquals(ExecutorchRuntimeException.INVALID_ARGUMENT, error.errorCode)
      assertTrue("workspace_sharing_mode is 7" in error.message!!, error.message)
    }
  }

  @Test
  fun loadsFromABufferInPlace() {
    val corpus = Corpus("linear_xnn")
    val mapped = FileInputStream(corpus.program).channel.use { it.map(FileChannel.MapMode.READ_ONLY, 0, it.size()) }
    Module.load(mapped).use { corpus.run(it) }
    // An address that is not a multiple of 16, so that the module has to copy the program.
    val shifted = Tensor.allocateByteBuffer(mapped.capacity() + 1)
    shifted.position(1)
    shifted.put(mapped.duplicate().also { it.clear() })
    shifted.position(1)
    Module.load(shifted).use { corpus.run(it) }
  }

  /** An asset lies within the APK: at an offset, with something after it. */
  @Test
  fun loadsFromADescriptorAtAnOffset() {
    val corpus = Corpus("linear_xnn")
    val program = java.io.File(corpus.program).readBytes()
    val apk = java.io.File.createTempFile("app", ".apk")
    try {
      apk.writeBytes(ByteArray(4096) { 7 } + program + ByteArray(100) { 9 })
      RandomAccessFile(apk, "r").use { file ->
        val number = java.io.FileDescriptor::class.java.getDeclaredField("fd").apply { isAccessible = true }.getInt(file.fd)
        Module.load(number, 4096, program.size.toLong())
      }.use { corpus.run(it) } // the descriptor is closed by now
    } finally {
      apk.delete()
    }
  }

  @Test
  fun saysWhatAMethodTakes() {
    Module.load(Corpus.path("add_xnn")).use { module ->
      assertContentEquals(arrayOf("forward"), module.getMethods())
      val forward = module.getMethodMetadata("forward")
      assertEquals("forward", forward.name)
      assertContentEquals(arrayOf("XnnpackBackend"), forward.backends)
      val expected = Corpus("add_xnn").calls[0]
      assertEquals(expected.inputs.map { it.shape.toList() }, forward.inputs.map { it.shape!!.toList() })
      assertEquals(expected.outputs.map { it.dtype }, forward.outputs.map { it.dtype })
    }
    Module.load(Corpus.path("multi_method")).use { module ->
      assertEquals(Corpus("multi_method").calls.map { it.method }.toSet(), module.getMethods().toSet())
    }
  }
}
