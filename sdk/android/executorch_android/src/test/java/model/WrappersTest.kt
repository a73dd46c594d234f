// SPDX-License-Identifier: BSD-3-Clause
package model

import java.io.File
import java.nio.ByteBuffer
import java.nio.ByteOrder
import kotlin.math.abs
import kotlin.test.assertEquals
import kotlin.test.assertFailsWith
import kotlin.test.assertTrue
import org.junit.jupiter.api.Test
import org.pytorch.executorch.Tensor

/** What `python -m sdk.export --wrapper kotlin` writes, beside this file (tests/wrappers/regenerate). */
internal class WrappersTest {
  private fun file(program: String, name: String = "model.pte") =
    File(File(System.getProperty("executorch.corpus"), program), name)

  private fun floats(program: String, name: String): FloatArray {
    val bytes = ByteBuffer.wrap(file(program, name).readBytes()).order(ByteOrder.LITTLE_ENDIAN).asFloatBuffer()
    return FloatArray(bytes.remaining()).also { bytes.get(it) }
  }

  @Test
  fun `takes numbers and gives what eager gave`() {
    ScalarInputs.load(file("scalar_inputs").path).use { program ->
      val input = Tensor.fromBlob(floats("scalar_inputs", "call0_in0.bin"), longArrayOf(2, 3))
      val output = program.forward(input, 3, 2.5, true).dataAsFloatArray
      val expected = floats("scalar_inputs", "call0_out0.bin")
      assertEquals(expected.size, output.size)
      for (i in expected.indices) assertTrue(abs(output[i] - expected[i]) <= 1e-5f * (abs(expected[i]) + 1))
    }
  }

  @Test
  fun `refuses wrong shapes and dtypes`() {
    ScalarInputs.load(file("scalar_inputs").path).use { program ->
      val turned = Tensor.fromBlob(FloatArray(6), longArrayOf(3, 2))
      val error = assertFailsWith<IllegalArgumentException> { program.forward(turned, 3, 2.5, true) }
      assertTrue("input0: expected a shape of" in error.message!!, error.message)
      val doubles = Tensor.fromBlob(DoubleArray(6), longArrayOf(2, 3))
      assertFailsWith<IllegalArgumentException> { program.forward(doubles, 3, 2.5, true) }
    }
  }

  @Test
  fun `has a function for each method`() {
    MultiMethod.load(file("multi_method").path).use { program ->
      assertEquals(128, program.getMaxSeqLen())
      assertEquals(0.125, program.getScale())
      assertTrue(program.useKv())
      assertEquals(2.5, program.getTwo().output1)
    }
  }

  @Test
  fun `knows its file`() {
    assertEquals(file("dyn_batch").length(), DynBatch.FILE_SIZE)
  }
}
