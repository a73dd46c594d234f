// SPDX-License-Identifier: BSD-3-Clause
package org.pytorch.executorch

import java.io.File
import kotlin.test.assertContentEquals
import kotlin.test.assertEquals
import kotlin.test.assertFailsWith
import kotlin.test.assertFalse
import kotlin.test.assertNull
import kotlin.test.assertTrue
import org.junit.jupiter.api.Test

/** Bundled programs, ETDumps, and outputs that are lists. */
internal class DevtoolsTest {
  private val bundle = File(Corpus.root, "bundled/model.bpte").path
  private val ones = EValue.from(Tensor.ones(longArrayOf(2, 3), DType.FLOAT))

  private fun fails(code: Int, part: String, block: () -> Any?) {
    val error = assertFailsWith<ExecutorchRuntimeException> { block() }
    assertEquals(code, error.errorCode, error.message)
    assertTrue(part in error.message!!, error.message)
  }

  @Test
  fun everyCaseOfABundledProgramGivesWhatItExpects() {
    Module.loadBundled(bundle).use { module ->
      assertEquals(3, module.bundledCaseCount("forward"))
      assertEquals(0, module.bundledCaseCount("backward"))
      val corpus = Corpus("bundled")
      for (index in 0 until 3) {
        val outputs = module.executeBundled("forward", index)
        Corpus.check(outputs[0], corpus.calls[index].outputs[0], "bundled")
        module.verifyBundled("forward", index)
      }
    }
  }

  @Test
  fun aCaseThatDiffersSaysSo() {
    Module.loadBundled(bundle).use { module ->
      val output = module.executeBundled("forward", 0)[0].toTensor().getRawDataBuffer() as java.nio.FloatBuffer
      output.put(1, output.get(1) + 0.25f)
      fails(ExecutorchRuntimeException.NOT_FOUND, "") { module.verifyBundled("forward", 0) }
      module.verifyBundled("forward", 0, 1.0, 1.0)
      fails(ExecutorchRuntimeException.INVALID_STATE, "case 1") { module.verifyBundled("forward", 1) }
      fails(ExecutorchRuntimeException.INVALID_ARGUMENT, "3") { module.executeBundled("forward", 3) }
      assertFailsWith<IllegalArgumentException> { module.executeBundled("forward", -1) }
    }
    fails(ExecutorchRuntimeException.NOT_SUPPORTED, "bundled") { Module.loadBundled(Corpus.path("add")) }
  }

  @Test
  fun etdumpIsWrittenWhereEventsAreRecorded() {
    if (System.getProperty("executorch.events") != null) assertTrue(ExecuTorchRuntime.recordsEvents(), "this library should record events")
    val file = File.createTempFile("run", ".etdp")
    try {
      Module.load(Corpus.path("add")).use { module ->
        module.forward(ones, ones)
        val written = module.etdump(file.path)
        assertEquals(ExecuTorchRuntime.recordsEvents(), written)
        assertEquals(if (written) "ED00" else "", String(file.readBytes(), Charsets.ISO_8859_1).drop(8).take(4))
        assertFalse(module.etdump(file.path), "nothing ran since")
        assertFalse(module.etdump("/no/such/folder/run.etdp"))
      }
    } finally {
      file.delete()
    }
  }

  @Test
  fun outputsCanBeLists() {
    Module.load(File(Corpus.root.parentFile, "list_outputs.pte").path).use { module ->
      val outputs = module.forward(ones, ones)
      val copies = outputs.map { it.copy() }
      module.forward(ones, ones)
      assertFailsWith<IllegalStateException>("it was overwritten") { outputs[0].toTensorList()[0].dataAsFloatArray }
      val (tensors, optional, ints, doubles, bools) = copies
      assertTrue(tensors.isTensorList && optional.isOptionalTensorList && ints.isIntList && doubles.isDoubleList && bools.isBoolList)
      assertEquals(listOf(longArrayOf(4, 3).toList(), longArrayOf(2, 3).toList()), tensors.toTensorList().map { it.shape().toList() })
      assertContentEquals(FloatArray(12) { 1f }, tensors.toTensorList()[0].dataAsFloatArray)
      assertNull(optional.toOptionalTensorList()[1])
      assertContentEquals(tensors.toTensorList()[1].dataAsFloatArray, optional.toOptionalTensorList()[0]!!.dataAsFloatArray)
      assertContentEquals(longArrayOf(7, -9), ints.toIntList())
      assertContentEquals(doubleArrayOf(0.5, -2.0, 4.0), doubles.toDoubleList())
      assertContentEquals(booleanArrayOf(true, false), bools.toBoolList())
      assertEquals("[7, -9]", ints.toString())
      assertTrue("ListInt" in assertFailsWith<IllegalStateException> { ints.toTensorList() }.message!!)
      assertTrue("ListBool" in assertFailsWith<IllegalStateException> { bools.toByteArray() }.message!!)
      fails(ExecutorchRuntimeException.INVALID_TYPE, "ListInt") { module.forward(ints, ones) }
    }
  }
}
