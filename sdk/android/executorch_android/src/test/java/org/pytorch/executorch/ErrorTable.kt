// SPDX-License-Identifier: BSD-3-Clause
package org.pytorch.executorch

import java.io.File
import java.nio.ByteBuffer

/** tests/data/errors.json: the same mistake gives the same code and the same message in every language. */
internal object ErrorTable {
  class Mistake(val name: String, val program: ByteBuffer, val method: String?, val inputs: Array<EValue>, val error: String, val words: List<String>) {
    override fun toString() = name
  }

  private val table = Json.parse(File(Corpus.root.parentFile, "errors.json").readText()) as Map<*, *>

  @JvmStatic val codes: Map<String, Int> = (table["codes"] as Map<*, *>).entries.associate { (name, code) -> name as String to (code as Long).toInt() }

  @JvmStatic val mistakes: List<Mistake> = (table["cases"] as List<*>).map { read(it as Map<*, *>) }

  private fun read(case: Map<*, *>): Mistake {
    val program = (case["text"] as String?)?.toByteArray() ?: File(Corpus.path(case["program"] as String)).readBytes()
    val kept = (case["keep"] as Long?)?.toInt() ?: program.size
    val bytes = ByteBuffer.allocateDirect(kept).put(program, 0, kept)
    bytes.flip()
    @Suppress("UNCHECKED_CAST")
    return Mistake(
      case["case"] as String,
      bytes,
      case["method"] as String?,
      (case["inputs"] as List<*>?).orEmpty().map { input(it as Map<*, *>) }.toTypedArray(),
      case["error"] as String,
      case["words"] as List<String>,
    )
  }

  private fun input(from: Map<*, *>): EValue =
    when (from["type"]) {
      "tensor" -> EValue.from(Tensor.zeros((from["shape"] as List<*>).map { it as Long }.toLongArray(), Corpus.DTYPES.getValue(from["dtype"] as String)))
      "int" -> EValue.from(0L)
      else -> EValue.from("")
    }
}
