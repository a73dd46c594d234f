// SPDX-License-Identifier: BSD-3-Clause
package org.pytorch.executorch

/**
 * The signature of a method, and the backends that it needs; it can be read before the method is loaded.
 *
 * @property name for example "forward".
 * @property backends the backends to which it delegates, by the names that programs use.
 * @property inputs its parameters, in order.
 * @property outputs its results, in order.
 */
public class MethodMetadata
internal constructor(
  public val name: String,
  public val backends: Array<String>,
  public val inputs: List<ValueMetadata>,
  public val outputs: List<ValueMetadata>,
) {
  override fun toString(): String = "$name(${inputs.joinToString()}) -> (${outputs.joinToString()})"
}

/**
 * An input or output of a method.
 *
 * @property dtype null, as is [shape], if the value is not a tensor.
 * @property shape the upper bounds of its sizes if the shape is dynamic. A copy.
 */
public class ValueMetadata internal constructor(private val tag: Int, public val dtype: DType?, shape: LongArray?) {
  private val sizes = shape

  public val shape: LongArray?
    get() = sizes?.copyOf()

  public val isTensor: Boolean
    get() = tag == EValue.TENSOR

  override fun toString(): String =
    if (isTensor) "$dtype${sizes!!.contentToString()}" else EValue.KINDS.getOrElse(tag) { "List" }

  internal companion object {
    /** Reads [Native.methodValues]: for each value its tag, for a tensor then its dtype, its rank and its sizes. */
    fun read(packed: LongArray): List<ValueMetadata> {
      val values = ArrayList<ValueMetadata>()
      var next = 0
      while (next < packed.size) {
        val tag = packed[next++].toInt()
        if (tag != EValue.TENSOR) {
          values += ValueMetadata(tag, null, null)
          continue
        }
        val dtype = DType.fromJniCode(packed[next++].toInt())
        val rank = packed[next++].toInt()
        values += ValueMetadata(tag, dtype, packed.copyOfRange(next, next + rank))
        next += rank
      }
      return values
    }
  }
}
