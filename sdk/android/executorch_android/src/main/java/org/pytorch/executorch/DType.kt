// SPDX-License-Identifier: BSD-3-Clause
package org.pytorch.executorch

/**
 * The type of a tensor's elements.
 *
 * @property jniCode the number that programs and the native library use, which is the number in PyTorch's
 * `c10::ScalarType`.
 */
public enum class DType(@JvmField public val jniCode: Int, internal val bytes: Int) {
  UINT8(0, 1),
  INT8(1, 1),
  INT16(2, 2),
  INT32(3, 4),
  INT64(4, 8),
  HALF(5, 2),
  FLOAT(6, 4),
  DOUBLE(7, 8),
  COMPLEX_HALF(8, 4),
  COMPLEX_FLOAT(9, 8),
  COMPLEX_DOUBLE(10, 16),
  BOOL(11, 1),
  QINT8(12, 1),
  QUINT8(13, 1),
  QINT32(14, 4),
  BFLOAT16(15, 2),
  QINT4X2(16, 1),
  QINT2X4(17, 1),
  BITS1X8(18, 1),
  BITS2X4(19, 1),
  BITS4X2(20, 1),
  BITS8(21, 1),
  BITS16(22, 2),
  UINT16(27, 2),
  UINT32(28, 4),
  UINT64(29, 8);

  public companion object {
    private val byCode: Array<DType?> = arrayOfNulls<DType>(30).also { codes -> values().forEach { codes[it.jniCode] = it } }

    /** The dtype with that [jniCode][DType.jniCode]; [IllegalArgumentException] if there is none. */
    @JvmStatic
    public fun fromJniCode(jniCode: Int): DType =
      byCode.getOrNull(jniCode) ?: throw IllegalArgumentException("there is no dtype with the number $jniCode")
  }
}
