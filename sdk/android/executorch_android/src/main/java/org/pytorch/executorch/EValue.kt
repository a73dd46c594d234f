// SPDX-License-Identifier: BSD-3-Clause
package org.pytorch.executorch

import java.nio.ByteBuffer

/** An input or output of a method: a tensor, a number, a text, a list (outputs only) or nothing. */
public class EValue
private constructor(
  // The native library calls this constructor and reads these fields. `bits` holds the bits of a number.
  @JvmField internal val tag: Int,
  @JvmField internal val bits: Long,
  @JvmField internal val content: Any?,
) {
  // The native library calls it, with UTF-8.
  internal constructor(text: ByteArray) : this(STRING, 0, String(text, Charsets.UTF_8))

  public val isNone: Boolean
    get() = tag == NONE

  public val isTensor: Boolean
    get() = tag == TENSOR

  public val isBool: Boolean
    get() = tag == BOOL

  public val isInt: Boolean
    get() = tag == INT

  public val isDouble: Boolean
    get() = tag == DOUBLE

  public val isString: Boolean
    get() = tag == STRING

  public val isBoolList: Boolean
    get() = tag == LIST_BOOL

  public val isDoubleList: Boolean
    get() = tag == LIST_DOUBLE

  public val isIntList: Boolean
    get() = tag == LIST_INT

  public val isTensorList: Boolean
    get() = tag == LIST_TENSOR

  public val isOptionalTensorList: Boolean
    get() = tag == LIST_OPTIONAL_TENSOR

  /** The tensor; throws [IllegalStateException] if the value is something else, as all functions of this kind do. */
  public fun toTensor(): Tensor {
    expect(TENSOR)
    return content as Tensor
  }

  public fun toBool(): Boolean {
    expect(BOOL)
    return bits != 0L
  }

  public fun toInt(): Long {
    expect(INT)
    return bits
  }

  public fun toDouble(): Double {
    expect(DOUBLE)
    return Double.fromBits(bits)
  }

  public fun toStr(): String {
    expect(STRING)
    return content as String
  }

  public fun toBoolList(): BooleanArray {
    expect(LIST_BOOL)
    return (content as BooleanArray).copyOf()
  }

  public fun toDoubleList(): DoubleArray {
    expect(LIST_DOUBLE)
    return (content as DoubleArray).copyOf()
  }

  public fun toIntList(): LongArray {
    expect(LIST_INT)
    return (content as LongArray).copyOf()
  }

  public fun toTensorList(): List<Tensor> {
    expect(LIST_TENSOR)
    return items().map { it!! }
  }

  /** A null item is an absent tensor. */
  public fun toOptionalTensorList(): List<Tensor?> {
    expect(LIST_OPTIONAL_TENSOR)
    return items()
  }

  @Suppress("UNCHECKED_CAST") private fun items() = (content as Array<Tensor?>).asList()

  /** A copy. Its tensors are copied too: see [Tensor.copy]. */
  public fun copy(): EValue =
    when (tag) {
      TENSOR -> from(toTensor().copy())
      LIST_TENSOR,
      LIST_OPTIONAL_TENSOR -> EValue(tag, 0, items().map { it?.copy() }.toTypedArray())
      else -> this
    }

  /**
   * The kind of value, then the value: for tensors as in [Tensor.toByteArray], texts in UTF-8, numbers big-endian.
   * Throws [IllegalStateException] for lists and for tensors that are not contiguous.
   */
  public fun toByteArray(): ByteArray {
    check(tag <= BOOL) { "expected a tensor, a number, a text or None to serialise, found a ${KINDS[tag]}: take its items" }
    val value =
      when (tag) {
        TENSOR -> toTensor().toByteArray()
        STRING -> toStr().toByteArray()
        BOOL -> byteArrayOf(bits.toByte())
        NONE -> ByteArray(0)
        else -> ByteBuffer.allocate(8).putLong(bits).array()
      }
    return byteArrayOf(tag.toByte()) + value
  }

  override fun toString(): String =
    when (tag) {
      TENSOR,
      STRING -> content.toString()
      DOUBLE -> toDouble().toString()
      BOOL -> toBool().toString()
      INT -> bits.toString()
      LIST_BOOL -> toBoolList().contentToString()
      LIST_DOUBLE -> toDoubleList().contentToString()
      LIST_INT -> toIntList().contentToString()
      LIST_TENSOR,
      LIST_OPTIONAL_TENSOR -> items().toString()
      else -> "None"
    }

  // The text in UTF-8, as the native library takes it.
  @JvmName("utf8")
  internal fun utf8(): ByteArray = toStr().toByteArray()

  private fun expect(wanted: Int) {
    check(tag == wanted) { "expected a value of type ${KINDS[wanted]}, found ${KINDS[tag]}" }
  }

  public companion object {
    internal const val NONE = 0
    internal const val TENSOR = 1
    internal const val STRING = 2
    internal const val DOUBLE = 3
    internal const val INT = 4
    internal const val BOOL = 5
    internal const val LIST_BOOL = 6
    internal const val LIST_DOUBLE = 7
    internal const val LIST_INT = 8
    internal const val LIST_TENSOR = 9
    internal const val LIST_OPTIONAL_TENSOR = 11
    internal val KINDS =
      arrayOf(
        "None", "Tensor", "String", "Double", "Int", "Bool",
        "ListBool", "ListDouble", "ListInt", "ListTensor", "ListScalar", "ListOptionalTensor",
      )
    private val none = EValue(NONE, 0, null)

    /** The absent value. */
    @JvmStatic public fun optionalNone(): EValue = none

    @JvmStatic public fun from(tensor: Tensor): EValue = EValue(TENSOR, 0, tensor)

    @JvmStatic public fun from(value: Boolean): EValue = EValue(BOOL, if (value) 1 else 0, null)

    @JvmStatic public fun from(value: Long): EValue = EValue(INT, value, null)

    @JvmStatic public fun from(value: Double): EValue = EValue(DOUBLE, value.toRawBits(), null)

    @JvmStatic public fun from(value: String): EValue = EValue(STRING, 0, value)

    /** The value that [toByteArray] wrote. Throws [IllegalArgumentException] for anything else. */
    @JvmStatic
    public fun fromByteArray(bytes: ByteArray): EValue {
      require(bytes.isNotEmpty()) { "a serialised value has 1 byte or more, found none" }
      val value = bytes.copyOfRange(1, bytes.size)
      fun sized(size: Int): ByteBuffer {
        require(value.size == size) { "a serialised ${KINDS[bytes[0].toInt()]} has ${1 + size} bytes, found ${bytes.size}" }
        return ByteBuffer.wrap(value)
      }
      return when (bytes[0].toInt()) {
        NONE -> none.also { sized(0) }
        TENSOR -> from(Tensor.fromByteArray(value))
        STRING -> from(String(value, Charsets.UTF_8))
        DOUBLE -> from(sized(8).getDouble())
        INT -> from(sized(8).getLong())
        BOOL -> from(sized(1).get().toInt() != 0)
        else -> throw IllegalArgumentException("a serialised value starts with its kind, from 0 to 5; found ${bytes[0]}")
      }
    }
  }
}
