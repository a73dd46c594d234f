// SPDX-License-Identifier: BSD-3-Clause
package org.pytorch.executorch

import java.io.File
import java.nio.ByteBuffer
import java.nio.ByteOrder
import kotlin.math.abs
import kotlin.math.max
import kotlin.math.min
import kotlin.test.assertEquals
import kotlin.test.assertTrue
import kotlin.test.fail

/** The programs of tests/data/corpus, with their inputs and the outputs of PyTorch eager. */
internal class Corpus(val name: String) {
  class Value(folder: File, fields: Map<*, *>) {
    val type = fields["type"] as String
    val value = fields["value"]
    val shape = (fields["shape"] as List<*>?)?.map { it as Long }?.toLongArray() ?: LongArray(0)
    val dtype = DTYPES[fields["dtype"]]
    val order =
      (fields["orig_dim_order"] as List<*>?)?.map { (it as Long).toInt() }?.toIntArray() ?: IntArray(shape.size) { it }

    /** Contiguous, little-endian. */
    val data = (fields["file"] as String?)?.let { File(folder, it).readBytes() } ?: ByteArray(0)

    /** The same elements in the tensor's memory order. */
    fun inMemory(): ByteArray = ByteArray(data.size).also { to -> eachElement { i, at -> data.copyInto(to, at, i, i + dtype!!.bytes) } }

    /** The inverse: converts elements in memory order to contiguous ones. */
    fun contiguous(memory: ByteArray): ByteArray =
      ByteArray(data.size).also { to -> eachElement { i, at -> memory.copyInto(to, i, at, at + dtype!!.bytes) } }

    /** Calls [use] with the offset of each element in the contiguous bytes, and in the bytes in memory order. */
    private fun eachElement(use: (Int, Int) -> Unit) {
      val item = dtype!!.bytes
      for (i in 0 until data.size / item) use(i * item, position(i, shape, order) * item)
    }
  }

  class Call(val method: String, val inputs: List<Value>, val outputs: List<Value>)

  private val folder = File(root, name)
  private val manifest = Json.parse(File(folder, "manifest.json").readText()) as Map<*, *>
  val program: String = File(folder, manifest["pte"] as String).path
  val data: List<String> = folder.listFiles { file -> file.extension == "ptd" }!!.map { it.path }.sorted()
  val calls: List<Call> =
    (manifest["calls"] as List<*>).map { call ->
      call as Map<*, *>
      fun values(key: String) = (call[key] as List<*>).map { Value(folder, it as Map<*, *>) }
      Call(call["method"] as String, values("inputs"), values("outputs"))
    }

  fun load(): Module = Module.load(program, data)

  companion object {
    val root = File(System.getProperty("executorch.corpus") ?: error("-Dexecutorch.corpus names tests/data/corpus"))

    /** All folders, so that one without a manifest fails its test. */
    val names: List<String> = root.listFiles { file -> file.isDirectory }!!.map { it.name }.sorted()

    fun path(name: String): String = File(root, "$name/model.pte").path

    val DTYPES =
      mapOf(
        "float32" to DType.FLOAT,
        "float64" to DType.DOUBLE,
        "float16" to DType.HALF,
        "int8" to DType.INT8,
        "uint8" to DType.UINT8,
        "int16" to DType.INT16,
        "int32" to DType.INT32,
        "int64" to DType.INT64,
        "bool" to DType.BOOL,
      )

    fun toEValue(from: Value): EValue =
      when (from.type) {
        "tensor" -> EValue.from(toTensor(from))
        "int" -> EValue.from(from.value as Long)
        "double" -> EValue.from((from.value as Number).toDouble())
        "bool" -> EValue.from(from.value as Boolean)
        "string" -> EValue.from(from.value as String)
        else -> EValue.optionalNone()
      }

    private fun toTensor(from: Value): Tensor {
      val bytes = Tensor.allocateByteBuffer(from.data.size)
      bytes.put(from.inMemory())
      return Tensor.fromBlob(bytes, from.shape, from.dtype!!, from.order)
    }

    /** The position in the memory of a tensor with that dim order of the element at [index] in contiguous order. */
    private fun position(index: Int, shape: LongArray, order: IntArray): Int {
      val coordinates = IntArray(shape.size)
      var rest = index
      for (dim in shape.indices.reversed()) {
        coordinates[dim] = rest % shape[dim].toInt()
        rest /= shape[dim].toInt()
      }
      return order.fold(0) { offset, dim -> offset * shape[dim].toInt() + coordinates[dim] }
    }

    fun check(found: EValue, expected: Value, program: String) {
      when (expected.type) {
        "tensor" -> checkTensor(found.toTensor(), expected, program)
        "int" -> assertEquals(expected.value, found.toInt())
        "double" -> assertEquals((expected.value as Number).toDouble(), found.toDouble())
        "bool" -> assertEquals(expected.value, found.toBool())
        "string" -> assertEquals(expected.value, found.toStr())
        else -> assertTrue(found.isNone)
      }
    }

    private fun checkTensor(found: Tensor, expected: Value, program: String) {
      val raw = allocateBytes(found.numel() * found.dtype().bytes)
      copyBytes(found.storage, raw)
      checkTensor(found, ByteArray(raw.capacity()).also(raw::get), expected, program)
    }

    /**
     * Compares with the bytes of [found] in memory order. The tolerances are those of tests/corpus/corpus_test.cpp: the
     * effect of one rounding in a sum of a few hundred terms.
     */
    fun checkTensor(found: Tensor, memory: ByteArray, expected: Value, program: String) {
      assertEquals(expected.dtype, found.dtype())
      assertEquals(expected.shape.toList(), found.shape().toList())
      assertEquals(expected.order.toList(), found.dimOrder().toList())
      assertEquals(expected.data.size, memory.size)
      val bytes = expected.contiguous(memory)
      // Eager quantises the activations of this program with one scale, the backend each row separately.
      val relative = if (program == "q8_dynamic_linear_xnn") 1e-2 else TOLERANCES[found.dtype()] ?: 0.0
      if (relative == 0.0) {
        assertTrue(bytes.contentEquals(expected.data), "the bytes differ")
        return
      }
      val values = numbers(bytes, found.dtype())
      val wanted = numbers(expected.data, found.dtype())
      val largest = wanted.filter { it.isFinite() }.maxOfOrNull(::abs) ?: 0.0
      for (i in wanted.indices) {
        val room = relative * (abs(wanted[i]) + min(largest, 1.0))
        val fits = if (wanted[i].isFinite()) abs(values[i] - wanted[i]) <= max(room, 0.0) else values[i].compareTo(wanted[i]) == 0
        if (!fits) fail("element $i is ${values[i]}, expected ${wanted[i]}")
      }
    }

    private val TOLERANCES = mapOf(DType.HALF to 2e-3, DType.FLOAT to 1e-5, DType.DOUBLE to 1e-12)

    private fun numbers(bytes: ByteArray, dtype: DType): List<Double> {
      val buffer = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN)
      return List(bytes.size / dtype.bytes) {
        when (dtype) {
          DType.HALF -> halfToFloat(buffer.getShort()).toDouble()
          DType.FLOAT -> buffer.getFloat().toDouble()
          else -> buffer.getDouble()
        }
      }
    }
  }
}
