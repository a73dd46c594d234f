// SPDX-License-Identifier: BSD-3-Clause
// The memory of tensors: direct buffers, in the type of buffer that suits the dtype.
package org.pytorch.executorch

import java.nio.Buffer
import java.nio.ByteBuffer
import java.nio.ByteOrder
import java.nio.DoubleBuffer
import java.nio.FloatBuffer
import java.nio.IntBuffer
import java.nio.LongBuffer
import java.nio.ShortBuffer

internal fun allocateBytes(size: Long): ByteBuffer {
  require(size in 0..Int.MAX_VALUE) { "a buffer has at most ${Int.MAX_VALUE} bytes, $size are needed" }
  return ByteBuffer.allocateDirect(size.toInt()).order(ByteOrder.nativeOrder())
}

/** A view of all of [bytes], in their byte order, as elements of [dtype]. */
internal fun viewAs(dtype: DType, bytes: ByteBuffer): Buffer =
  when (dtype) {
    DType.FLOAT -> bytes.asFloatBuffer()
    DType.DOUBLE -> bytes.asDoubleBuffer()
    DType.INT32,
    DType.UINT32,
    DType.QINT32 -> bytes.asIntBuffer()
    DType.INT64,
    DType.UINT64 -> bytes.asLongBuffer()
    DType.HALF,
    DType.BFLOAT16,
    DType.INT16,
    DType.UINT16 -> bytes.asShortBuffer()
    else -> bytes
  }

/** A buffer over the same memory, from its first to its last element. Its position is independent. */
internal fun fromStart(buffer: Buffer): Buffer {
  val copy =
    when (buffer) {
      is ByteBuffer -> buffer.duplicate().order(buffer.order())
      is FloatBuffer -> buffer.duplicate()
      is DoubleBuffer -> buffer.duplicate()
      is IntBuffer -> buffer.duplicate()
      is LongBuffer -> buffer.duplicate()
      else -> (buffer as ShortBuffer).duplicate()
    }
  copy.clear()
  return copy
}

/** Copies all elements of [from] to the start of [to], which has room for them. */
internal fun copyBytes(from: Buffer, to: ByteBuffer) {
  when (val source = fromStart(from)) {
    is ByteBuffer -> to.duplicate().put(source)
    is FloatBuffer -> to.asFloatBuffer().put(source)
    is DoubleBuffer -> to.asDoubleBuffer().put(source)
    is IntBuffer -> to.asIntBuffer().put(source)
    is LongBuffer -> to.asLongBuffer().put(source)
    is ShortBuffer -> to.asShortBuffer().put(source)
  }
}

internal fun orderOf(buffer: Buffer): ByteOrder =
  when (buffer) {
    is ByteBuffer -> buffer.order()
    is FloatBuffer -> buffer.order()
    is DoubleBuffer -> buffer.order()
    is IntBuffer -> buffer.order()
    is LongBuffer -> buffer.order()
    else -> (buffer as ShortBuffer).order()
  }

/** The value of an IEEE 754 binary16 number. */
internal fun halfToFloat(half: Short): Float {
  val bits = half.toInt()
  val sign = (bits and 0x8000) shl 16
  val exponent = (bits shr 10) and 0x1F
  val fraction = bits and 0x3FF
  return when (exponent) {
    0 -> (fraction / 16777216f).let { if (sign == 0) it else -it } // subnormal: units of 2^-24
    31 -> Float.fromBits(sign or 0x7F800000 or (fraction shl 13))
    else -> Float.fromBits(sign or ((exponent + 112) shl 23) or (fraction shl 13)) // biases: 15 and 127
  }
}

/** The value of a bfloat16 number: the upper half of a binary32 one. */
internal fun bfloat16ToFloat(number: Short): Float = Float.fromBits(number.toInt() shl 16)

/** The binary16 or bfloat16 number 1. */
internal fun oneOf16Bits(dtype: DType): Short = if (dtype == DType.HALF) 0x3C00 else 0x3F80
