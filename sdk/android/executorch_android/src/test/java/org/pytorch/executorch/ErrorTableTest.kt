// SPDX-License-Identifier: BSD-3-Clause
package org.pytorch.executorch

import java.lang.reflect.Modifier
import kotlin.test.assertEquals
import kotlin.test.assertFailsWith
import kotlin.test.assertTrue
import org.junit.jupiter.api.DynamicTest
import org.junit.jupiter.api.Test
import org.junit.jupiter.api.TestFactory

internal class ErrorTableTest {
  @TestFactory
  fun mistakesHaveTheirCodeAndTheirWords() =
    ErrorTable.mistakes.map { mistake ->
      DynamicTest.dynamicTest(mistake.name) {
        val error =
          assertFailsWith<ExecutorchRuntimeException> {
            Module.load(mistake.program).use { it.execute(mistake.method!!, *mistake.inputs) }
          }
        assertEquals(ErrorTable.codes[mistake.error], error.errorCode, error.message)
        assertTrue(error.message!!.startsWith("${mistake.error} ("), error.message)
        for (words in mistake.words) assertTrue(words in error.message!!, "no '$words' in: ${error.message}")
      }
    }

  @Test
  fun theConstantsAreThoseOfTheTable() {
    val constants =
      ExecutorchRuntimeException::class.java.fields.filter { Modifier.isStatic(it.modifiers) && it.type == Int::class.java }
    fun constantName(name: String) = name.replace(Regex("(?<=[a-z])[A-Z]"), "_$0").uppercase()
    assertEquals(ErrorTable.codes.mapKeys { constantName(it.key) }, constants.associate { it.name to it.getInt(null) })
  }
}
