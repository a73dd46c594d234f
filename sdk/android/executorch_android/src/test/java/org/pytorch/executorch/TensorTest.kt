// SPDX-License-Identifier: BSD-3-Clause
package org.pytorch.executorch

import java.nio.ByteBuffer
import java.nio.FloatBuffer
import kotlin.test.assertContentEquals
import kotlin.test.assertEquals
import kotlin.test.assertSame
import org.junit.jupiter.api.Test

/** What a tensor holds, for every dtype. */
internal class TensorTest {
  @Test
  fun everyDtypeHasATensor() {
    for (dtype in DType.values()) {
      assertSame(dtype, DType.fromJniCode(dtype.jniCode))
      val bytes = Tensor.allocateByteBuffer(3 * dtype.bytes)
      for (i in 0 until bytes.capacity()) bytes.put(i, (i + 1).toByte())
      val tensor = Tensor.fromBlob(bytes, longArrayOf(3), dtype)
      assertEquals(3, tensor.numel())
      assertEquals(dtype.jniCode, tensor.dtypeJniCode())
      for (same in listOf(tensor.copy(), Tensor.fromByteArray(tensor.toByteArray()))) {
        assertEquals(dtype, same.dtype())
        assertContentEquals(longArrayOf(3), same.shape())
        val found = Tensor.allocateByteBuffer(3 * dtype.bytes)
        copyBytes(same.storage, found)
        assertEquals(bytes, found)
      }
    }
  }

  @Test
  fun elementsOfEveryType() {
    val shape = longArrayOf(2)
    assertContentEquals(booleanArrayOf(true, false), Tensor.fromBlob(booleanArrayOf(true, false), shape).dataAsBooleanArray)
    fun over(dtype: DType, vararg bits: Short): Tensor {
      val bytes = Tensor.allocateByteBuffer(4)
      bytes.asShortBuffer().put(bits)
      return Tensor.fromBlob(bytes, shape, dtype)
    }
    assertContentEquals(shortArrayOf(-5, 7), over(DType.INT16, -5, 7).dataAsShortArray)
    assertContentEquals(floatArrayOf(1f, -2f), over(DType.BFLOAT16, 0x3F80, 0xC000.toShort()).dataAsFloatArray)
    assertContentEquals(floatArrayOf(1f, -2f), over(DType.HALF, 0x3C00, 0xC000.toShort()).dataAsFloatArray)
    val target = FloatBuffer.allocate(2)
    over(DType.HALF, 0x3C00, 0xC000.toShort()).copyDataInto(target)
    assertContentEquals(floatArrayOf(1f, -2f), target.array())
    for (dtype in listOf(DType.HALF, DType.BFLOAT16)) {
      assertContentEquals(floatArrayOf(1f, 1f), Tensor.ones(shape, dtype).dataAsFloatArray)
    }
  }

  /** By the definition of binary16: a sign, 5 bits of exponent with bias 15, 10 bits of fraction. */
  @Test
  fun everyHalfIsConverted() {
    for (bits in 0..0xFFFF) {
      val exponent = bits shr 10 and 31
      val fraction = bits and 1023
      val magnitude =
        when (exponent) {
          0 -> fraction / 1024.0 * Math.pow(2.0, -14.0)
          31 -> if (fraction == 0) Double.POSITIVE_INFINITY else Double.NaN
          else -> (1 + fraction / 1024.0) * Math.pow(2.0, exponent - 15.0)
        }
      val expected = if (bits < 0x8000) magnitude else -magnitude
      assertEquals(expected.toFloat(), halfToFloat(bits.toShort()), "0x%04x".format(bits))
    }
  }

  @Test
  fun scalarsAndEmptyTensors() {
    assertContentEquals(floatArrayOf(4f), Tensor.fromBlob(floatArrayOf(4f), longArrayOf()).dataAsFloatArray)
    assertEquals(0, Tensor.zeros(longArrayOf(2, 0), DType.FLOAT).dataAsFloatArray.size)
  }

  @Test
  fun theShapeIsACopy() {
    val shape = longArrayOf(2)
    val tensor = Tensor.fromBlob(floatArrayOf(1f, 2f), shape)
    shape[0] = 9
    tensor.shape()[0] = 9
    assertContentEquals(longArrayOf(2), tensor.shape())
  }

  @Test
  fun dimOrder() {
    val bytes = Tensor.allocateByteBuffer(24)
    assertContentEquals(intArrayOf(0, 1), Tensor.fromBlob(bytes, longArrayOf(2, 3), DType.FLOAT).dimOrder())
    assertContentEquals(intArrayOf(1, 0), Tensor.fromBlob(bytes, longArrayOf(2, 3), DType.FLOAT, intArrayOf(1, 0)).dimOrder())
  }

  @Test
  fun positionsOfBuffersDoNotMatter() {
    val buffer = Tensor.allocateFloatBuffer(3)
    buffer.put(floatArrayOf(1f, 2f, 3f)) // the position is at the end now
    val tensor = Tensor.fromBlob(buffer, longArrayOf(3))
    repeat(2) { assertContentEquals(floatArrayOf(1f, 2f, 3f), tensor.dataAsFloatArray) }
    assertEquals(3, buffer.position(), "the caller's buffer is left as it is")
  }

  /** The layout that other versions read: kind, dtype, rank, sizes, elements, all big-endian. */
  @Test
  fun serialisedForm() {
    val bytes = EValue.from(Tensor.fromBlob(floatArrayOf(1f, -2f), longArrayOf(1, 2))).toByteArray()
    val expected = ByteBuffer.allocate(3 + 8 + 8).put(1).put(6).put(2).putInt(1).putInt(2).putFloat(1f).putFloat(-2f).array()
    assertContentEquals(expected, bytes)
    for (value in listOf(EValue.optionalNone(), EValue.from(-3L), EValue.from(0.5), EValue.from(true), EValue.from("Zürich 🏔"))) {
      assertEquals(value.toString(), EValue.fromByteArray(value.toByteArray()).toString())
    }
  }
}
