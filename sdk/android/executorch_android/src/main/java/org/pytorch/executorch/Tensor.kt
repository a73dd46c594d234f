// SPDX-License-Identifier: BSD-3-Clause
package org.pytorch.executorch

import java.nio.Buffer
import java.nio.ByteBuffer
import java.nio.ByteOrder
import java.nio.DoubleBuffer
import java.nio.FloatBuffer
import java.nio.IntBuffer
import java.nio.LongBuffer
import java.nio.ShortBuffer

/**
 * A dense array of elements of one [DType].
 *
 * A tensor that is made from an array copies it. One that is made from a direct buffer uses the buffer in place: the
 * next run reads the buffer's content at that time.
 *
 * The tensors that [Module.execute] returns refer to the module's memory, without a copy. They stay valid until the
 * same method runs again; reading one after that throws an [IllegalStateException]. [copy] makes a tensor that stays
 * valid.
 */
public class Tensor
private constructor(
  private val dtype: DType,
  @JvmField internal val shape: LongArray,
  // The dimensions from the outermost in memory to the innermost; null: in order.
  @JvmField internal val order: ByteArray?,
  @JvmField internal val storage: Buffer,
  internal val run: Run? = null,
  // The buffer that `storage` is a view of.
  private val base: Buffer = storage,
) {
  private var isPinned = false

  // Read by the native library, like `shape`, `order` and `storage`.
  @JvmField internal val dtypeCode: Int = dtype.jniCode

  /** The number of elements. */
  public fun numel(): Long = numel(shape)

  /** The sizes of the dimensions, the outermost first. A copy. */
  public fun shape(): LongArray = shape.copyOf()

  public fun dtype(): DType = dtype

  public fun dtypeJniCode(): Int = dtype.jniCode

  /** The dimensions in the order in which they lie in memory, the outermost first: 0, 2, 3, 1 for channels last. */
  public fun dimOrder(): IntArray = IntArray(shape.size) { order?.get(it)?.toInt() ?: it }

  /** The elements, in the order of [dimOrder], as signed bytes, of a tensor of any one-byte type but UINT8. */
  public val dataAsByteArray: ByteArray
    get() = read<ByteBuffer, ByteArray>("byte", dtype.bytes == 1 && dtype != DType.UINT8) { ByteArray(it.remaining()).also(it::get) }

  /** The elements of a UINT8 tensor, whose bits are in the bytes. */
  public val dataAsUnsignedByteArray: ByteArray
    get() = read<ByteBuffer, ByteArray>("unsigned byte", dtype == DType.UINT8) { ByteArray(it.remaining()).also(it::get) }

  /** The elements of an INT16 tensor, or the bits of a HALF, BFLOAT16 or UINT16 one. */
  public val dataAsShortArray: ShortArray
    get() = read<ShortBuffer, ShortArray>("short") { ShortArray(it.remaining()).also(it::get) }

  /** The elements of an INT32 tensor, or the bits of a UINT32 one. */
  public val dataAsIntArray: IntArray
    get() = read<IntBuffer, IntArray>("int") { IntArray(it.remaining()).also(it::get) }

  /** The elements of an INT64 tensor, or the bits of a UINT64 one. */
  public val dataAsLongArray: LongArray
    get() = read<LongBuffer, LongArray>("long") { LongArray(it.remaining()).also(it::get) }

  /** The elements of a FLOAT tensor; those of HALF and BFLOAT16 are converted, without loss. */
  public val dataAsFloatArray: FloatArray
    get() =
      when (val convert = toFloat()) {
        null -> read<FloatBuffer, FloatArray>("float") { FloatArray(it.remaining()).also(it::get) }
        else -> read<ShortBuffer, FloatArray>("float") { bits -> FloatArray(bits.remaining()) { convert(bits.get(it)) } }
      }

  /** The elements of a DOUBLE tensor. */
  public val dataAsDoubleArray: DoubleArray
    get() = read<DoubleBuffer, DoubleArray>("double") { DoubleArray(it.remaining()).also(it::get) }

  /** The elements of a BOOL tensor. */
  public val dataAsBooleanArray: BooleanArray
    get() = read<ByteBuffer, BooleanArray>("boolean", dtype == DType.BOOL) { b -> BooleanArray(b.remaining()) { b.get(it) != 0.toByte() } }

  /**
   * Writes the elements at the position of [dst], like all functions of this name. Throws
   * [java.nio.BufferOverflowException] if they do not fit.
   */
  public fun copyDataInto(dst: FloatBuffer) {
    val convert = toFloat() ?: return read<FloatBuffer, Unit>("float") { dst.put(it) }
    read<ShortBuffer, Unit>("float") { bits ->
      if (dst.remaining() < bits.remaining()) throw java.nio.BufferOverflowException()
      while (bits.hasRemaining()) dst.put(convert(bits.get()))
    }
  }

  public fun copyDataInto(dst: ByteBuffer): Unit = read<ByteBuffer, Unit>("byte", dtype.bytes == 1 && dtype != DType.UINT8) { dst.put(it) }

  public fun copyDataIntoUnsigned(dst: ByteBuffer): Unit = read<ByteBuffer, Unit>("unsigned byte", dtype == DType.UINT8) { dst.put(it) }

  public fun copyDataInto(dst: ShortBuffer): Unit = read<ShortBuffer, Unit>("short") { dst.put(it) }

  public fun copyDataInto(dst: IntBuffer): Unit = read<IntBuffer, Unit>("int") { dst.put(it) }

  public fun copyDataInto(dst: LongBuffer): Unit = read<LongBuffer, Unit>("long") { dst.put(it) }

  public fun copyDataInto(dst: DoubleBuffer): Unit = read<DoubleBuffer, Unit>("double") { dst.put(it) }

  /**
   * The tensor's memory, from its first to its last element, without a copy. The memory of an output stays valid as
   * long as the buffer is reachable, but the next run of the method overwrites it without a warning.
   */
  public fun getRawDataBuffer(): Buffer = guarded {
    pin()
    fromStart(storage)
  }

  /**
   * A tensor over the same memory that stays readable after later runs: for an output that is part of the module's
   * state, such as a parameter.
   */
  internal fun lasting(): Tensor = guarded {
    pin()
    Tensor(dtype, shape, order, storage, null, base)
  }

  /** Keeps the memory of an output for a buffer or tensor that outlives its run; called before that is handed out. */
  internal fun pin() {
    run?.read {
      if (!isPinned) run.pin(base)
      isPinned = true
    }
  }

  /** A copy in new memory: the same elements in the same order. */
  public fun copy(): Tensor {
    val bytes = allocateBytes(numel() * dtype.bytes)
    guarded { copyBytes(storage, bytes) }
    return Tensor(dtype, shape, order, viewAs(dtype, bytes))
  }

  /** The dtype, the rank, the sizes (int32) and the elements: big-endian, the initial order of a [ByteBuffer]. */
  public fun toByteArray(): ByteArray {
    check(order == null) { "only tensors whose dimensions are in order can be serialised, this one has ${dimOrder().contentToString()}" }
    val elements = numel() * dtype.bytes
    require(elements <= Int.MAX_VALUE - 2 - 4L * shape.size) { "a tensor of $elements bytes does not fit into an array" }
    val bytes = ByteBuffer.allocate(2 + 4 * shape.size + elements.toInt())
    bytes.put(dtype.jniCode.toByte()).put(shape.size.toByte())
    shape.forEach { bytes.putInt(it.toInt()) }
    guarded { copyBytes(storage, bytes.slice()) }
    return bytes.array()
  }

  override fun toString(): String = "Tensor(${shape.contentToString()}, dtype=$dtype)"

  private fun toFloat(): ((Short) -> Float)? =
    when (dtype) {
      DType.HALF -> ::halfToFloat
      DType.BFLOAT16 -> ::bfloat16ToFloat
      else -> null
    }

  private inline fun <T> guarded(block: () -> T): T = if (run == null) block() else run.read(block)

  private inline fun <reified B : Buffer, T> read(kind: String, fits: Boolean = true, block: (B) -> T): T {
    check(storage is B && fits) { "a tensor of dtype $dtype cannot be read as an array of ${kind}s" }
    return guarded { block(fromStart(storage) as B) }
  }

  public companion object {
    /** Direct buffers in native order, as `fromBlob` takes them. */
    @JvmStatic public fun allocateByteBuffer(numElements: Int): ByteBuffer = allocateBytes(numElements.toLong())

    @JvmStatic public fun allocateIntBuffer(numElements: Int): IntBuffer = allocateBytes(numElements * 4L).asIntBuffer()

    @JvmStatic
    public fun allocateFloatBuffer(numElements: Int): FloatBuffer = allocateBytes(numElements * 4L).asFloatBuffer()

    @JvmStatic public fun allocateLongBuffer(numElements: Int): LongBuffer = allocateBytes(numElements * 8L).asLongBuffer()

    @JvmStatic
    public fun allocateDoubleBuffer(numElements: Int): DoubleBuffer = allocateBytes(numElements * 8L).asDoubleBuffer()

    @JvmStatic
    public fun allocateHalfBuffer(numElements: Int): ShortBuffer = allocateBytes(numElements * 2L).asShortBuffer()

    /**
     * A copy of an array, as a tensor of the given sizes, outermost first. Throws [IllegalArgumentException] if the
     * number of elements differs.
     */
    @JvmStatic
    public fun fromBlob(data: FloatArray, shape: LongArray): Tensor =
      copied(DType.FLOAT, data.size, shape) { (it as FloatBuffer).put(data) }

    @JvmStatic
    public fun fromBlob(data: DoubleArray, shape: LongArray): Tensor =
      copied(DType.DOUBLE, data.size, shape) { (it as DoubleBuffer).put(data) }

    @JvmStatic
    public fun fromBlob(data: IntArray, shape: LongArray): Tensor =
      copied(DType.INT32, data.size, shape) { (it as IntBuffer).put(data) }

    @JvmStatic
    public fun fromBlob(data: LongArray, shape: LongArray): Tensor =
      copied(DType.INT64, data.size, shape) { (it as LongBuffer).put(data) }

    /** INT8. */
    @JvmStatic
    public fun fromBlob(data: ByteArray, shape: LongArray): Tensor =
      copied(DType.INT8, data.size, shape) { (it as ByteBuffer).put(data) }

    /** UINT8. */
    @JvmStatic
    public fun fromBlobUnsigned(data: ByteArray, shape: LongArray): Tensor =
      copied(DType.UINT8, data.size, shape) { (it as ByteBuffer).put(data) }

    /** HALF: the bits of binary16 numbers. */
    @JvmStatic
    public fun fromBlob(data: ShortArray, shape: LongArray): Tensor =
      copied(DType.HALF, data.size, shape) { (it as ShortBuffer).put(data) }

    /** BOOL. */
    @JvmStatic
    public fun fromBlob(data: BooleanArray, shape: LongArray): Tensor =
      copied(DType.BOOL, data.size, shape) { bytes -> data.forEach { (bytes as ByteBuffer).put(if (it) 1 else 0) } }

    /**
     * A tensor over a direct buffer in native order, without a copy. The shape must fill the buffer's capacity,
     * whatever its position and limit are; otherwise throws [IllegalArgumentException].
     */
    @JvmStatic public fun fromBlob(data: FloatBuffer, shape: LongArray): Tensor = over(DType.FLOAT, data, shape)

    @JvmStatic public fun fromBlob(data: DoubleBuffer, shape: LongArray): Tensor = over(DType.DOUBLE, data, shape)

    @JvmStatic public fun fromBlob(data: IntBuffer, shape: LongArray): Tensor = over(DType.INT32, data, shape)

    @JvmStatic public fun fromBlob(data: LongBuffer, shape: LongArray): Tensor = over(DType.INT64, data, shape)

    /** INT8. */
    @JvmStatic public fun fromBlob(data: ByteBuffer, shape: LongArray): Tensor = over(DType.INT8, data, shape)

    /** UINT8. */
    @JvmStatic public fun fromBlobUnsigned(data: ByteBuffer, shape: LongArray): Tensor = over(DType.UINT8, data, shape)

    /** HALF: the bits of binary16 numbers. */
    @JvmStatic public fun fromBlob(data: ShortBuffer, shape: LongArray): Tensor = over(DType.HALF, data, shape)

    /**
     * A tensor of any dtype over the bytes of a direct buffer in native order, without a copy.
     *
     * @param dimOrder the dimensions in the order in which they lie in memory, outermost first; null: in order.
     */
    @JvmStatic
    @JvmOverloads
    public fun fromBlob(data: ByteBuffer, shape: LongArray, dtype: DType, dimOrder: IntArray? = null): Tensor {
      checkDirect(data)
      val bytes = numel(shape) * dtype.bytes
      require(data.capacity().toLong() == bytes) {
        "a $dtype tensor of shape ${shape.contentToString()} has $bytes bytes, found a buffer of ${data.capacity()}"
      }
      require(dimOrder == null || dimOrder.sorted() == shape.indices.toList()) {
        "expected each dimension from 0 to ${shape.size - 1} once, found ${dimOrder.contentToString()}"
      }
      val order = dimOrder?.takeUnless { it.contentEquals(IntArray(shape.size) { dim -> dim }) }
      val whole = fromStart(data) as ByteBuffer
      return Tensor(dtype, shape.copyOf(), order?.let { ByteArray(it.size) { i -> it[i].toByte() } }, viewAs(dtype, whole))
    }

    /** All elements 1. */
    @JvmStatic
    public fun ones(shape: LongArray, dtype: DType): Tensor =
      zeros(shape, dtype).also {
        when (val elements = fromStart(it.storage)) {
          is FloatBuffer -> while (elements.hasRemaining()) elements.put(1f)
          is DoubleBuffer -> while (elements.hasRemaining()) elements.put(1.0)
          is IntBuffer -> while (elements.hasRemaining()) elements.put(1)
          is LongBuffer -> while (elements.hasRemaining()) elements.put(1L)
          is ShortBuffer -> {
            val one = if (dtype == DType.HALF || dtype == DType.BFLOAT16) oneOf16Bits(dtype) else 1
            while (elements.hasRemaining()) elements.put(one)
          }
          is ByteBuffer -> {
            require(dtype == DType.INT8 || dtype == DType.UINT8 || dtype == DType.BOOL) { "the dtype $dtype has no number 1" }
            while (elements.hasRemaining()) elements.put(1)
          }
        }
      }

    /** All elements 0. */
    @JvmStatic
    public fun zeros(shape: LongArray, dtype: DType): Tensor =
      Tensor(dtype, shape.copyOf(), null, viewAs(dtype, allocateBytes(numel(shape) * dtype.bytes)))

    /** The number of elements of that shape. [IllegalArgumentException] for a negative size or too many elements. */
    @JvmStatic
    public fun numel(shape: LongArray): Long {
      var product = 1L
      for (size in shape) {
        require(size in 0..Int.MAX_VALUE) { "expected sizes from 0 to ${Int.MAX_VALUE}, found ${shape.contentToString()}" }
        require(size == 0L || product <= (Long.MAX_VALUE shr 4) / size) { "${shape.contentToString()} is more than memory has" }
        product *= size
      }
      return product
    }

    /** The tensor that [toByteArray] wrote. Throws [IllegalArgumentException] for anything else. */
    @JvmStatic
    public fun fromByteArray(bytes: ByteArray): Tensor {
      val buffer = ByteBuffer.wrap(bytes)
      require(bytes.size >= 2) { "a serialised tensor has 2 bytes or more, found ${bytes.size}" }
      val dtype = DType.fromJniCode(buffer.get().toInt())
      val rank = buffer.get().toInt()
      require(rank >= 0 && buffer.remaining() >= 4 * rank) { "the serialised tensor is cut off within its $rank sizes" }
      val shape = LongArray(rank) { buffer.getInt().toLong() }
      val size = numel(shape) * dtype.bytes
      require(buffer.remaining().toLong() == size) {
        "a $dtype tensor of shape ${shape.contentToString()} has $size bytes, found ${buffer.remaining()}"
      }
      val storage = allocateBytes(size)
      copyBytes(viewAs(dtype, buffer.slice()), storage)
      return Tensor(dtype, shape, null, viewAs(dtype, storage))
    }

    // Makes the tensor of an output. The native library calls it.
    @JvmStatic
    @JvmName("ofRun")
    internal fun ofRun(dtypeCode: Int, shape: LongArray, order: ByteArray?, bytes: ByteBuffer, run: Run): Tensor {
      val dtype = DType.fromJniCode(dtypeCode)
      val storage = bytes.order(ByteOrder.nativeOrder())
      return Tensor(dtype, shape, order, viewAs(dtype, storage), run, storage)
    }

    private inline fun copied(dtype: DType, size: Int, shape: LongArray, fill: (Buffer) -> Unit): Tensor {
      checkCount(dtype, size, shape)
      return zeros(shape, dtype).also { fill(fromStart(it.storage)) }
    }

    private fun over(dtype: DType, data: Buffer, shape: LongArray): Tensor {
      checkDirect(data)
      checkCount(dtype, data.capacity(), shape)
      return Tensor(dtype, shape.copyOf(), null, data)
    }

    private fun checkCount(dtype: DType, found: Int, shape: LongArray) {
      val expected = numel(shape)
      require(found.toLong() == expected) {
        "a $dtype tensor of shape ${shape.contentToString()} has $expected elements, found $found"
      }
    }

    private fun checkDirect(data: Buffer) {
      require(data.isDirect) { "expected a direct buffer, such as Tensor.allocateFloatBuffer() makes; found one in the Java heap" }
      require(orderOf(data) == ByteOrder.nativeOrder()) {
        "expected a buffer in native byte order: call order(ByteOrder.nativeOrder()) on the ByteBuffer first"
      }
    }
  }
}
