// SPDX-License-Identifier: BSD-3-Clause
package org.pytorch.executorch

/** Reads the JSON of the corpus: objects become maps, arrays lists, numbers Long or Double. */
internal class Json private constructor(private val text: String) {
  private var at = 0

  private fun value(): Any? {
    space()
    return when (text[at]) {
      '{' -> members('}') { (value() as String).also { expect(':') } to value() }.toMap()
      '[' -> members(']') { value() }
      '"' -> string()
      else -> literal()
    }
  }

  private fun <T> members(end: Char, member: () -> T): List<T> {
    val all = ArrayList<T>()
    at++
    space()
    while (text[at] != end) {
      all += member()
      space()
      if (text[at] == ',') at++
      space()
    }
    at++
    return all
  }

  private fun string(): String {
    val result = StringBuilder()
    while (text[++at] != '"') {
      if (text[at] != '\\') {
        result.append(text[at])
        continue
      }
      when (val escaped = text[++at]) {
        'n' -> result.append('\n')
        'u' -> result.append(text.substring(at + 1, at + 5).toInt(16).toChar()).also { at += 4 }
        else -> result.append(escaped)
      }
    }
    at++
    return result.toString()
  }

  private fun literal(): Any? {
    val start = at
    while (text[at] !in ",]} \n") at++
    return when (val word = text.substring(start, at)) {
      "null" -> null
      "true" -> true
      "false" -> false
      else -> word.toLongOrNull() ?: word.toDouble()
    }
  }

  private fun space() {
    while (at < text.length && text[at].isWhitespace()) at++
  }

  private fun expect(char: Char) {
    space()
    check(text[at] == char) { "expected '$char' at $at" }
    at++
  }

  companion object {
    fun parse(text: String): Any? = Json(text).value()
  }
}
